"""Frequency: the difference to the baseline by how often tokens were seen in training, and by their kind."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tiedlm.comparison.analyses.frequency import Bin, BinDifference, Breakdown, Frequency, MovedBin
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.verdict import UNIT, signed_together
from tiedlm.report.charts.chart import Estimate, IntervalChart
from tiedlm.report.charts.differences import chart_of_estimates
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import colour_places
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.figures.text import capitalized, key_in_words
from tiedlm.report.sections.section import Section


class _Axis(NamedTuple):
    """How a breakdown is called in titles of tables, its bins in sentences, and its chart."""

    name: str
    bins: str
    chart: str


_AXES = {
    "target": _Axis("frequency of the target", "targets seen {} times", "how often the target was seen in training"),
    "preceding": _Axis(
        "frequency of the token before the target",
        "targets that follow a token seen {} times",
        "how often the token before the target was seen",
    ),
    "kind": _Axis("kind of the target", "targets of the kind {}", "the kind of the target"),
}
_MAX_BINS_AT_A_GLANCE = 2
_DECIMALS = 4


def _tables(comparison: Comparison) -> list[Table]:
    """For each breakdown what stands in its bins and each variant against the baseline; then how far rows moved."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return []
    tables: list[Table] = []
    for breakdown in frequency.breakdowns:
        bins = [found for found in breakdown.bins if found.tokens or (found.types and breakdown.by == "target")]
        if bins:
            tables += [_contents(frequency, breakdown, bins), *_given(frequency, bins)]
            tables += [_against(comparison, breakdown, bins, place) for place in range(len(bins[0].differences))]
    return [*tables, *_movement(frequency.movement)]


def _contents(frequency: Frequency, breakdown: Breakdown, bins: Sequence[Bin]) -> Table:
    """How much is in each bin."""
    rows = [
        Row.of("tokens", (_number(found.tokens) for found in bins)),
        Row.of("documents", (numbers.count(found.documents) for found in bins)),
        Row.of("share", (numbers.share_percent(found.share) for found in bins)),
    ]
    if any(found.types is not None for found in bins):
        rows.insert(0, Row.of("types", (_number(found.types) for found in bins)))
    title = f"{capitalized(frequency.split)} tokens by {_AXES[breakdown.by].name}"
    return Table(_labels(bins), tuple(rows), names_as="lines", title=title)


def _given(frequency: Frequency, bins: Sequence[Bin]) -> Iterator[Table]:
    """What each variant expects, beside what came; where that was stored."""
    rows = [
        Row.of(score.variant, (numbers.share_percent(found.scores[place].mass) for found in bins))
        for place, score in enumerate(bins[0].scores)
        if any(found.scores[place].mass is not None for found in bins)
    ]
    if rows:
        rows.insert(0, Row.of("share of the tokens", (numbers.share_percent(found.share) for found in bins)))
        title = f"Probability given to targets by their frequency, mean over all {frequency.split} tokens"
        yield Table(_labels(bins), tuple(rows), title=title)


def _against(comparison: Comparison, breakdown: Breakdown, bins: Sequence[Bin], place: int) -> Table:
    """One variant and the baseline, bin by bin."""
    variant = bins[0].differences[place].variant
    differences = [found.differences[place] for found in bins]
    over_seeds = any(difference.ci95_seeds for difference in differences)
    over_documents = not over_seeds and any(difference.ci95_text for difference in differences)
    over = " (95 % interval over seeds)" if over_seeds else " (95 % interval over documents)" if over_documents else ""
    rows = [
        *(Row.of(name, (_nats(found, name) for found in bins)) for name in (variant, comparison.baseline)),
        Row.of("difference", (_difference(found.differences[place], over_seeds) for found in bins)),
        Row.of("verdict", (_verdict(found.differences[place]) for found in bins)),
    ]
    what = f"{variant} against {comparison.baseline} by {_AXES[breakdown.by].name}"
    title = f"{what}, {UNIT}{over}"
    return Table(_labels(bins), tuple(rows), names_as="lines", title=title)


def _movement(movement: Sequence[MovedBin]) -> Iterator[Table]:
    """One column where both sides are one matrix."""
    bins = [found for found in movement if any(moved.rows for moved in found.variants)]
    if not bins:
        return
    rows = [Row.of("rows", (_number(found.variants[0].rows) for found in bins))]
    for place, moved in enumerate(bins[0].variants):
        inputs = [found.variants[place].input for found in bins]
        outputs = [found.variants[place].output for found in bins]
        name = moved.variant
        sides = {name: inputs} if inputs == outputs else {f"{name}, input": inputs, f"{name}, output": outputs}
        rows += [Row.of(label, (numbers.decimal(value, 3) for value in values)) for label, values in sides.items()]
    title = "How far embedding rows moved, |end - start| / |start|, by frequency of token"
    yield Table(_labels(bins), tuple(rows), title=title)


def _labels(bins: Sequence[Bin] | Sequence[MovedBin]) -> tuple[str, ...]:
    return tuple(found.label for found in bins)


def _notes(comparison: Comparison) -> Iterator[str]:
    """How to read these tables, and why a breakdown or a verdict in one is missing."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return
    if frequency.reason:
        yield f"By frequency of tokens: nothing, {frequency.reason}."
    else:
        yield from _how_to_read(frequency)
    for breakdown in frequency.breakdowns:
        if breakdown.reason:
            yield f"By {_AXES[breakdown.by].name}: nothing, {breakdown.reason}."
        yield from _without_verdict(breakdown)


def _without_verdict(breakdown: Breakdown) -> Iterator[str]:
    """Each reason once, with the bins that have it."""
    bins_of: dict[str, dict[str, None]] = {}
    for found in breakdown.bins:
        for difference in found.differences:
            if difference.reason and found.tokens:
                bins_of.setdefault(difference.reason, {})[found.label] = None
    for reason, labels in bins_of.items():
        which = _AXES[breakdown.by].bins.format(", ".join(labels))
        yield f"{capitalized(which)}: no verdict, {reason}."


def _how_to_read(frequency: Frequency) -> Iterator[str]:
    yield (
        "frequency: how often a token was a target in the batches of training; the token before the target is where "
        "the input embedding acts. Probability given: to all targets of a bin together, whatever came."
    )
    differences = [found for part in frequency.breakdowns for place in part.bins for found in place.differences]
    if any(len(found.per_seed) > 1 for found in differences):
        yield (
            "difference: mean over seeds of each seed's. Other batches put other tokens into a bin, so that the nats "
            "of both variants, over all seeds, need not differ by as much."
        )
    if any(found.p_difference is not None for found in differences):
        yield "Verdicts on bins are exploratory, Holm-corrected within each breakdown; the intervals shown are not."
    yield "rows moved: mean over the rows of a bin and over seeds; 0 are those of tokens that training never showed."


def _remarks(comparison: Comparison) -> Iterator[str]:
    """Where the verdict on a bin is another one than that on the whole: one sentence, on the first such variant."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return
    found = sorted(comparison.differences, key=lambda difference: not difference.is_primary)
    for overall in (difference for difference in found if difference.split == frequency.split):
        others = [
            (breakdown, place, difference)
            for breakdown in frequency.breakdowns
            for place in breakdown.bins
            for difference in place.differences
            if difference.variant == overall.variant
            and difference.verdict not in (None, "cannot_tell", overall.verdict)
        ]
        others.sort(key=lambda other: _contrast(other[2]), reverse=True)
        if others:
            whole = _on_the_whole(overall.variant, comparison.baseline, overall.verdict, frequency.split)
            said = "; ".join(_bin_in_words(comparison.baseline, *other) for other in others[:_MAX_BINS_AT_A_GLANCE])
            more = f"; and {len(others) - _MAX_BINS_AT_A_GLANCE} more" if len(others) > _MAX_BINS_AT_A_GLANCE else ""
            yield f"{whole}, but {overall.variant} is {said}{more} (exploratory, Holm-corrected; see --details)."
            return


def _contrast(difference: BinDifference) -> tuple[bool, float]:
    """The larger, the more it is worth telling: a direction before none, then by size."""
    return difference.verdict in ("better", "worse"), abs(difference.mean or 0.0)


def _on_the_whole(variant: str, baseline: str, verdict: str, split: str) -> str:
    if verdict == "cannot_tell":
        return f"{variant} and {baseline} cannot be told apart on the whole of {split}"
    relation = {"equal": "equal to", "no_difference": "no different from"}.get(verdict, f"{verdict} than")
    return f"{variant} is {relation} {baseline} on the whole of {split}"


def _bin_in_words(baseline: str, breakdown: Breakdown, found: Bin, difference: BinDifference) -> str:
    """ "better by 0.310 on targets seen 1-9 times (given 2.1 % of the probability, by untied 1.6 %; 1.9 % of ..)"."""
    size = ""
    if difference.mean is not None and difference.verdict in ("better", "worse"):
        size = f" by {signed_together(difference.mean)[0].lstrip('+-')}"
    said = f"{_verdict(difference)}{size} on {_AXES[breakdown.by].bins.format(found.label)}"
    masses = {score.variant: score.mass for score in found.scores}
    mine, theirs = masses.get(difference.variant), masses.get(baseline)
    if mine is None or theirs is None:
        return said
    given = f"given {numbers.share_percent(mine)} of the probability, by {baseline} {numbers.share_percent(theirs)}"
    return f"{said} ({given}; {numbers.share_percent(found.share)} of the tokens)"


def _difference(difference: BinDifference, over_seeds: bool) -> str:
    """ "-0.3100 [-0.3500, -0.2700]", as many decimals as the nats beside it; maybe without an interval."""
    if difference.mean is None:
        return numbers.NOTHING
    interval = difference.ci95_seeds if over_seeds else difference.ci95_text
    return numbers.bracketed(*(f"{value:+.{_DECIMALS}f}" for value in (difference.mean, *(interval or ()))))


def _verdict(difference: BinDifference) -> str:
    return numbers.NOTHING if difference.verdict is None else key_in_words(difference.verdict)


def _nats(found: Bin, variant: str) -> str:
    nats = next((score.nats_per_token for score in found.scores if score.variant == variant), None)
    return numbers.decimal(nats, _DECIMALS)


def _number(value: float | None) -> str:
    """A count; with a decimal where it is a mean over seeds that is not whole."""
    return numbers.decimal(value, 0 if value is None or value == round(value) else 1)


def _charts(comparison: Comparison) -> Iterator[IntervalChart]:
    """The difference to the baseline in each bin, a chart for each breakdown."""
    frequency = comparison.analysis(Frequency)
    for breakdown in frequency.breakdowns if frequency else ():
        estimates = tuple(_estimates(breakdown, colour_places(comparison)))
        if estimates:
            key = f"frequency-{breakdown.by}"
            title = f"Difference to {comparison.baseline} by {_AXES[breakdown.by].chart}"
            yield chart_of_estimates(key, title, comparison.baseline, estimates)


def _estimates(breakdown: Breakdown, places: Mapping[str, int]) -> Iterator[Estimate]:
    """Named after the bin, and after the variant where there are several."""
    several = len({difference.variant for found in breakdown.bins for difference in found.differences}) > 1
    for found in breakdown.bins:
        for difference in found.differences:
            if difference.mean is not None and difference.variant in places:
                yield Estimate(
                    f"{found.label}, {difference.variant}" if several else found.label,
                    places[difference.variant],
                    numbers.with_interval(difference.mean, difference.ci95_seeds),
                    difference.mean,
                    difference.ci95_seeds,
                    tuple(difference.per_seed),
                )


SECTION = Section(
    "Frequency", remarks=_remarks, tables=_tables, charts=_charts, notes=_notes, tables_repeat_charts=True
)
