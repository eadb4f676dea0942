"""The main chart of a comparison: the difference of each variant to the baseline."""

from collections.abc import Iterable, Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.verdict import UNIT
from tiedlm.report.charts.chart import Band, Estimate, IntervalChart
from tiedlm.report.figures.cells import colour_places, difference_cell, difference_parts, document_interval


def difference_chart(comparison: Comparison, bands: Iterable[Band] = ()) -> IntervalChart | None:
    """Each variant minus the baseline: over seeds on both splits, and over the documents of test.

    `bands` are drawn beside the one of differences too small to matter.
    """
    places, size = colour_places(comparison), comparison.smallest_worthwhile
    estimates = tuple(
        estimate
        for difference in comparison.all_differences
        if difference.variant in places
        for estimate in _estimates(difference, places[difference.variant])
    )
    if not estimates:
        return None
    too_small = Band(f"within ±{size:g}: too small to matter", -size, size)
    title = f"Difference to {comparison.baseline}"
    return chart_of_estimates("differences", title, comparison.baseline, estimates, (too_small, *bands))


def chart_of_estimates(
    key: str, title: str, baseline: str, estimates: tuple[Estimate, ...], bands: tuple[Band, ...] = ()
) -> IntervalChart:
    """A chart of differences to the baseline, each variant minus it: below 0 favours the variant."""
    return IntervalChart(key, title, UNIT, "favours the variant", f"favours {baseline}", estimates, bands)


def seeds_in_words(name: str, seeds: Sequence[int], per_seed: Sequence[float]) -> tuple[str, ...]:
    """ "tied, test, seed 0: -0.0330", for each seed."""
    return tuple(f"{name}, seed {seed}: {value:+.4f}" for seed, value in zip(seeds, per_seed, strict=False))


def _estimates(difference: Difference, place: int) -> Iterator[Estimate]:
    if difference.mean is None:
        return
    name = f"{difference.variant}, {difference.split}"
    yield Estimate(
        name,
        place,
        difference_cell(difference),
        difference.mean,
        difference.interval,
        tuple(difference.per_seed),
        seeds_in_words(name, difference.seeds, difference.per_seed),
    )
    if difference.split == "test" and difference.ci95_text and difference.num_documents:
        documents = f"{name}, over {difference.num_documents:,} documents"
        words = f"{difference_parts(difference)[0]} {document_interval(difference)}"
        yield Estimate(documents, place, words, difference.mean, difference.ci95_text)
