"""How many tokens each variant needs to get as far as the baseline."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.analyses.tokens_to_reach import SeedReach, TokensToReach, VariantReach
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import known
from tiedlm.report.figures.table import Row, Shown, Table
from tiedlm.report.sections.section import Section


def _remarks(comparison: Comparison) -> Iterator[str]:
    """One sentence, where at least one variant reaches the baseline's loss."""
    reach = comparison.analysis(TokensToReach)
    if reach is None:
        return
    others = [one for one in reach.variants if one.variant != reach.baseline]
    there = [f"{one.variant} after {_tokens(one.tokens)} tokens" + _of(one, reach) for one in others if one.tokens]
    if there:
        not_there = [f"; {one.variant}: {one.reason}" for one in others if one.tokens is None]
        yield f"Validation: {_what(reach)} is reached by {', '.join(there)}{''.join(not_there)}; {_over(others)}."


def _over(others: Sequence[VariantReach]) -> str:
    """Over how many seeds: there is no interval to say more."""
    counts = sorted({len(one.per_seed) for one in others if one.tokens})
    if counts == [1]:
        return "of one seed, which has no spread"
    return f"means over {' or '.join(map(str, counts))} seeds, without an interval"


def _of(one: VariantReach, reach: TokensToReach) -> str:
    return "" if one.share is None else f" ({100 * one.share:.0f} % of what {reach.baseline} itself takes)"


def _tables(comparison: Comparison) -> list[Table]:
    """Mean tokens over the seeds and those of each seed."""
    reach = comparison.analysis(TokensToReach)
    if reach is None or reach.reason is not None:
        return []
    title = f"Training tokens to reach {_what(reach)} on validation, linear between validations"
    seeds = sorted({one.seed for variant in reach.variants for one in variant.per_seed})
    rows = [
        Row.of("mean over seeds", (_known(variant.tokens, variant.reason) for variant in reach.variants)),
        Row.of(f"share of {reach.baseline}'s", (_share(variant) for variant in reach.variants)),
        *(Row.of(f"seed {seed}", (_of_seed(variant, seed) for variant in reach.variants), 1) for seed in seeds),
    ]
    return [Table(tuple(variant.variant for variant in reach.variants), tuple(rows), title=title)]


def _notes(comparison: Comparison) -> Iterator[str]:
    """Why there is no table."""
    reach = comparison.analysis(TokensToReach)
    if reach is not None and reach.reason is not None:
        yield f"Tokens to reach {_what(reach)}: none, {reach.reason}."


def _what(reach: TokensToReach) -> str:
    return f"{reach.baseline}'s {'last loss before the decay' if reach.is_final is False else 'final loss'}"


def _known(count: float | None, reason: str | None) -> Shown:
    return known(count, _tokens, reason or "not reached")


def _tokens(count: float) -> str:
    return numbers.count(round(count))


def _share(variant: VariantReach) -> Shown:
    return known(variant.share, lambda share: f"{100 * share:.1f} %", variant.reason or "not reached")


def _of_seed(variant: VariantReach, seed: int) -> Shown:
    found: SeedReach | None = next((one for one in variant.per_seed if one.seed == seed), None)
    return _known(found.tokens if found else None, variant.reason if found else "no run with this seed")


SECTION = Section("Tokens to reach the same loss", remarks=_remarks, tables=_tables, notes=_notes)
