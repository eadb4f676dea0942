"""Frequency: the difference to the baseline by how often tokens were seen in training, and by their kind."""

from collections.abc import Iterator, Mapping

from tiedlm.comparison.analyses.frequency import Bin, BinDifference, Breakdown, Frequency
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.verdict import signed_together
from tiedlm.report.charts.chart import Estimate, IntervalChart
from tiedlm.report.charts.differences import chart_of_estimates, seeds_in_words
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import colour_places
from tiedlm.report.figures.frequency_tables import AXES, frequency_tables, verdict_in_words
from tiedlm.report.sections.section import Section

_MAX_BINS_AT_A_GLANCE = 2


def _notes(comparison: Comparison) -> Iterator[str]:
    """How to read these tables, and why a breakdown is missing."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return
    if frequency.reason:
        yield f"By frequency of tokens: nothing, {frequency.reason}."
    else:
        yield from _how_to_read(frequency)
    for breakdown in frequency.breakdowns:
        if breakdown.reason:
            yield f"By {AXES[breakdown.by].name}: nothing, {breakdown.reason}."


def _how_to_read(frequency: Frequency) -> Iterator[str]:
    yield (
        "frequency: how often a token was a target in the batches of training; the token before the target is where "
        "the input embedding acts. Probability given: to all targets of a bin together, whatever came."
    )
    differences = [found for breakdown in frequency.breakdowns for each in breakdown.bins for found in each.differences]
    if any(len(found.per_seed) > 1 for found in differences):
        yield (
            "difference: mean over seeds of each seed's. Other batches put other tokens into a bin, so that the nats "
            "of both variants, over all seeds, need not differ by as much."
        )
    if any(found.p_difference is not None for found in differences):
        yield "Verdicts on bins and their intervals over seeds are exploratory, Holm-corrected within each breakdown."
    yield "rows moved: mean over the rows of a bin and over seeds; 0 are those of tokens that training never showed."


def _at_a_glance(comparison: Comparison) -> Iterator[str]:
    """That a bin has another verdict than the whole: the first such variant, and the most telling bin."""
    frequency = comparison.analysis(Frequency)
    primary_first = sorted(comparison.differences, key=lambda difference: not difference.is_primary)
    for overall in (each for each in primary_first if frequency and each.split == frequency.split):
        others = _disagreeing_bins(frequency, overall) if frequency else []
        if others:
            breakdown, found, difference = others[0]
            where = AXES[breakdown.by].bins.format(found.label)
            more = f", and another verdict on {len(others) - 1} more bins" if len(others) > 1 else ""
            verdict = verdict_in_words(difference)
            yield f"But {overall.variant} is {verdict} on {where}{more} (exploratory; see --details)."
            return


def _remarks(comparison: Comparison) -> Iterator[str]:
    """Where the verdict on a bin is another one than that on the whole: one sentence, on the first such variant."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return
    primary_first = sorted(comparison.differences, key=lambda difference: not difference.is_primary)
    for overall in (difference for difference in primary_first if difference.split == frequency.split):
        others = _disagreeing_bins(frequency, overall)
        if others:
            whole = _on_the_whole(overall.variant, comparison.baseline, overall.verdict, frequency.split)
            said = "; ".join(_bin_in_words(comparison.baseline, *other) for other in others[:_MAX_BINS_AT_A_GLANCE])
            more = f"; and {len(others) - _MAX_BINS_AT_A_GLANCE} more" if len(others) > _MAX_BINS_AT_A_GLANCE else ""
            yield f"{whole}, but {overall.variant} is {said}{more} (exploratory, Holm-corrected; see --details)."
            return


def _disagreeing_bins(frequency: Frequency, overall: Difference) -> list[tuple[Breakdown, Bin, BinDifference]]:
    """The bins with another verdict on the variant than the whole split has, the most telling first."""
    found = [
        (breakdown, each, difference)
        for breakdown in frequency.breakdowns
        for each in breakdown.bins
        for difference in each.differences
        if difference.variant == overall.variant and difference.verdict not in (None, "cannot_tell", overall.verdict)
    ]
    return sorted(found, key=lambda other: _contrast(other[2]), reverse=True)


def _contrast(difference: BinDifference) -> tuple[bool, float]:
    """A key to sort by: the larger, the more telling. A direction before none, then by size."""
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
    said = f"{verdict_in_words(difference)}{size} on {AXES[breakdown.by].bins.format(found.label)}"
    masses = {score.variant: score.mass for score in found.scores}
    mine, theirs = masses.get(difference.variant), masses.get(baseline)
    if mine is None or theirs is None:
        return said
    given = f"given {numbers.share_percent(mine)} of the probability, by {baseline} {numbers.share_percent(theirs)}"
    return f"{said} ({given}; {numbers.share_percent(found.share)} of the tokens)"


def _charts(comparison: Comparison) -> Iterator[IntervalChart]:
    """The difference to the baseline in each bin, a chart for each breakdown."""
    frequency = comparison.analysis(Frequency)
    for breakdown in frequency.breakdowns if frequency else ():
        estimates = tuple(_estimates(breakdown, colour_places(comparison)))
        if estimates:
            key = f"frequency-{breakdown.by}"
            title = f"Difference to {comparison.baseline} by {AXES[breakdown.by].chart}"
            yield chart_of_estimates(key, title, comparison.baseline, estimates)


def _estimates(breakdown: Breakdown, places: Mapping[str, int]) -> Iterator[Estimate]:
    """Named after the bin, and after the variant where there are several."""
    several = len({difference.variant for found in breakdown.bins for difference in found.differences}) > 1
    for found in breakdown.bins:
        for difference in found.differences:
            if difference.mean is not None and difference.variant in places:
                name = f"{found.label}, {difference.variant}" if several else found.label
                yield Estimate(
                    name,
                    places[difference.variant],
                    numbers.with_interval(difference.mean, difference.interval),
                    difference.mean,
                    difference.interval,
                    tuple(difference.per_seed),
                    seeds_in_words(name, difference.seeds, difference.per_seed),
                )


SECTION = Section(
    "Frequency",
    at_a_glance=_at_a_glance,
    remarks=_remarks,
    tables=frequency_tables,
    charts=_charts,
    notes=_notes,
    tables_repeat_charts=True,
)
