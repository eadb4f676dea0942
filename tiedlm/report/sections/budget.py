"""The budget: what more parameters cost, what they buy, and who is ahead with equally many."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.analyses.budget import BreakEven, Budget, Purchase
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.equal_parameters import MatchedBody
from tiedlm.comparison.verdict import UNIT, over_seeds_in_common, signed_together
from tiedlm.evaluation.absence import NOT_STORED, ONE_SEED
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import known, shown_difference
from tiedlm.report.figures.long_table import Figure, figures_of_difference
from tiedlm.report.figures.table import Absence, Row, Shown, Table
from tiedlm.report.figures.text import capitalized, key_in_words
from tiedlm.report.sections.section import MAX_VARIANTS_AT_A_GLANCE, Section

_PAIRING = {"start+batches": "start, batches", "batches": "batches", "none": "no pairs"}
_NO_FORECAST = "the memory of one was not forecast"
_NO_SUCH_KEY = "its kind of model has no such size"


def _remarks(comparison: Comparison) -> Iterator[str]:
    """Two sentences: what holds at equal parameters, and the break-even of the primary comparison."""
    budget = comparison.analysis(Budget)
    if budget is None:
        return
    yield from _at_equal_parameters(comparison)
    chosen = min(budget.break_even, key=lambda each: each.variant != comparison.primary, default=None)
    if chosen is not None:
        num_seeds = comparison.conditions.num_seeds if comparison.conditions else 0
        yield f"Break-even: {_cost(chosen.outright)}{_gain(chosen.outright, num_seeds)}{_in_body(chosen, num_seeds)}."


def _at_equal_parameters(comparison: Comparison) -> Iterator[str]:
    """What holds at equal parameters; nothing where the config does not ask for that."""
    budget = comparison.analysis(Budget)
    said = [each.statement for each in budget.equal_parameters] if budget else []
    if said:
        left_out = len(said) - MAX_VARIANTS_AT_A_GLANCE
        more = f"; {left_out} more variants in the details" if left_out > 0 else ""
        yield f"{capitalized('; '.join(said[:MAX_VARIANTS_AT_A_GLANCE]))}{more}."


def _tables(comparison: Comparison) -> list[Table]:
    """Every purchase with its price, then with what it buys, then the bodies of equal size."""
    budget = comparison.analysis(Budget)
    if budget is None:
        return []
    purchases = [bought for each in budget.break_even for bought in (each.outright, *each.in_body)]
    bodies = [body for each in budget.equal_parameters for body in each.bodies]
    return [
        *([_price_table(purchases), _gain_table(purchases, budget)] if purchases else []),
        *([_body_table(bodies, comparison.baseline)] if bodies else []),
    ]


def _cost(bought: Purchase) -> str:
    """ "untied has 524,288 parameters more than tied (+56.9 %), 8.0 MiB more for good with adamw, no more FLOPs"."""
    more = f"{bought.larger} has {bought.parameters:,} parameters more than {bought.smaller}"
    kept = ""
    if bought.persistent_bytes is not None:
        optimizer = f" with {bought.optimizer}" if bought.optimizer else ""
        kept = f", {numbers.memory(bought.persistent_bytes)} more for good{optimizer}"
    return f"{more} ({bought.parameters_percent:+.1f} %){kept} and {_flops(bought)}"


def _flops(bought: Purchase) -> str:
    if bought.flops_per_token == 0:
        return "as many FLOPs per token"
    return f"{bought.flops_per_token:+,} FLOPs per token ({bought.flops_percent:+.1f} %)"


def _gain(bought: Purchase, num_seeds: int) -> str:
    """ ", which buys +0.117 nats per token on test (95 % interval +0.087 to +0.147; above 0 is a lower loss)"."""
    if bought.bought is None:
        return f"; what that buys cannot be told: {bought.bought_reason}"
    size = signed_together(bought.bought, bought.bought_ci95)[0]
    told = "; ".join([*_how_sure(bought, num_seeds), "above 0 is a lower loss"])
    return f", which buys {size} {UNIT} on {bought.split} ({told})"


def _how_sure(bought: Purchase, num_seeds: int) -> list[str]:
    """ "95 % interval +0.087 to +0.147", or why there is none; with how many seeds where these are not all."""
    if bought.bought is None or bought.bought_ci95 is None:
        return [bought.bought_reason] if bought.bought_reason else []
    _, low, high = signed_together(bought.bought, bought.bought_ci95)
    return [f"95 % interval {low} to {high}{over_seeds_in_common(bought.num_seeds, num_seeds)}"]


def _in_body(chosen: BreakEven, num_seeds: int) -> str:
    """ "; as many in the body of tied buy +0.151 by width (.., +53.1 % FLOPs) and +0.203 by depth (..)"."""
    told = [(bought, bought.bought) for bought in chosen.in_body if bought.bought is not None]
    if not told:
        return ""
    pair = (chosen.variant, chosen.baseline)
    owners = sorted({name for bought, _ in told for name in (bought.larger, bought.smaller) if name in pair})
    said = [
        f"{signed_together(nats, bought.bought_ci95)[0]} by {bought.spent_on} "
        f"({', '.join([*_how_sure(bought, num_seeds), f'{bought.flops_percent:+.1f} % FLOPs'])})"
        for bought, nats in told
    ]
    return f"; as many in the body of {' or '.join(owners)} buy {' and '.join(said)}"


def _names(purchases: Sequence[Purchase]) -> tuple[str, ...]:
    return tuple(f"{bought.larger} over {bought.smaller}" for bought in purchases)


def _price_table(purchases: Sequence[Purchase]) -> Table:
    rows = (
        Row.of("parameters", (f"{bought.parameters:+,}" for bought in purchases)),
        Row.of("for good", (known(bought.persistent_bytes, numbers.memory, _NO_FORECAST) for bought in purchases)),
        Row.of("FLOPs", (f"{bought.flops_percent:+.1f} %" for bought in purchases)),
        Row.of("tokens/s", (_percent(bought.tokens_per_second_percent) for bought in purchases)),
    )
    return Table(
        _names(purchases),
        rows,
        names_as="lines",
        title="What more parameters cost (speed of runs one after the other: no benchmark)",
    )


def _percent(value: float | None) -> Shown:
    return known(value, lambda percent: f"{percent:+.1f} %", "the speed of one was not measured")


def _gain_table(purchases: Sequence[Purchase], budget: Budget) -> Table:
    rows = (
        Row.of("spent on", (bought.spent_on for bought in purchases)),
        Row.of("nats per token", (_gain_cell(bought) for bought in purchases)),
        Row.of("seeds", (numbers.count(bought.num_seeds) for bought in purchases)),
    )
    title = f"What they buy on {budget.split} (above 0: a lower loss)"
    return Table(_names(purchases), rows, names_as="lines", title=title)


def _gain_cell(bought: Purchase) -> Shown:
    if bought.bought is None:
        return Absence(bought.bought_reason or NOT_STORED)
    shown = numbers.with_interval(bought.bought, bought.bought_ci95)
    return shown if bought.bought_ci95 else Absence(bought.bought_reason or ONE_SEED, shown, "no interval")


def _body_table(bodies: Sequence[MatchedBody], baseline: str) -> Table:
    rows = (
        Row.of("parameters", (numbers.count(body.parameters) for body in bodies)),
        Row.of(f"against {baseline}", (f"{body.percent_off:+.2f} %" for body in bodies), 1),
        Row.of("FLOPs per token", (numbers.count(body.flops_per_token) for body in bodies)),
        Row.of("layers", (known(body.num_layers, numbers.count, _NO_SUCH_KEY) for body in bodies)),
        Row.of("inner width", (known(body.inner_width, numbers.count, _NO_SUCH_KEY) for body in bodies)),
        Row.of("difference", (shown_difference(body.difference) for body in bodies)),
        Row.of("verdict by itself", (key_in_words(body.difference.verdict) for body in bodies)),
        Row.of("equal to the last bit", (_PAIRING[body.difference.pairing.level] for body in bodies)),
    )
    return Table(tuple(body.variant for body in bodies), rows, title=f"Bodies of the size of {baseline}")


def _figures(comparison: Comparison, variant: str) -> Iterator[Figure]:
    """What is concluded of a variant; of a body of the baseline's size its difference, which alone is no verdict."""
    budget = comparison.analysis(Budget)
    for each in budget.equal_parameters if budget else ():
        if each.variant == variant:
            yield Figure(variant, None, each.split, "verdict_at_equal_parameters", each.verdict)
            why = None if each.p_difference is not None else "one of the two bodies could not be tested"
            metric = "p_difference_at_equal_parameters"
            yield Figure(variant, None, each.split, metric, each.p_difference, reason=why)
        for difference in (found for body in each.bodies if body.variant == variant for found in body.differences):
            yield from figures_of_difference(difference, "verdict_by_itself")


SECTION = Section("Budget", at_a_glance=_at_equal_parameters, remarks=_remarks, tables=_tables, figures=_figures)
