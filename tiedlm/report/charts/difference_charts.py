"""Differences to the baseline as charts: of each variant, and within it by frequency of the tokens."""

from collections.abc import Iterator

from tiedlm.comparison.analyses.frequency import Frequency
from tiedlm.comparison.analyses.noise_floor import NoiseFloor
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.verdict import signed_together
from tiedlm.report.charts.chart import Band, Estimate, IntervalChart
from tiedlm.report.figures.cells import difference_cell, difference_parts, document_interval, places_of


def difference_chart(comparison: Comparison) -> IntervalChart | None:
    """Each variant minus the baseline: over seeds on both splits, and over the documents of test."""
    places = places_of(comparison)
    estimates = tuple(
        estimate
        for difference in comparison.all_differences
        if difference.variant in places
        for estimate in _estimates(difference, places[difference.variant])
    )
    if not estimates:
        return None
    baseline = comparison.baseline
    return IntervalChart(
        key="differences",
        title=f"Difference to {baseline}",
        x_label="nats per token",
        below="favours the variant",
        above=f"favours {baseline}",
        estimates=estimates,
        bands=tuple(_bands(comparison)),
    )


def _bands(comparison: Comparison) -> Iterator[Band]:
    """What a difference is held against."""
    size, floor = comparison.smallest_worthwhile, comparison.analysis(NoiseFloor)
    yield Band(f"within ±{size:g}: too small to matter", -size, size)
    if floor is not None and floor.noise:
        noise = signed_together(floor.noise)[0].lstrip("+")
        yield Band(f"±{noise}: how far a fresh draw of its embeddings moves a single run", -floor.noise, floor.noise)


def _estimates(difference: Difference, place: int) -> Iterator[Estimate]:
    if difference.mean is None:
        return
    name = f"{difference.variant}, {difference.split}"
    yield Estimate(
        name,
        place,
        difference_cell(difference),
        difference.mean,
        difference.ci95_seeds,
        tuple(difference.per_seed),
    )
    if difference.split == "test" and difference.ci95_text and difference.num_documents:
        documents = f"{name}, over {difference.num_documents:,} documents"
        words = f"{difference_parts(difference)[0]} {document_interval(difference)}"
        yield Estimate(documents, place, words, difference.mean, difference.ci95_text)


_BREAKDOWNS = {
    "target": "by how often the target was seen in training",
    "preceding": "by how often the token before the target was seen",
    "kind": "by the kind of the target",
}


def frequency_charts(comparison: Comparison) -> Iterator[IntervalChart]:
    """The difference to the baseline in each bin of each breakdown."""
    places, baseline, frequency = places_of(comparison), comparison.baseline, comparison.analysis(Frequency)
    for breakdown in frequency.breakdowns if frequency else ():
        variants = {difference.variant for found in breakdown.bins for difference in found.differences}
        found = tuple(
            Estimate(
                found.label if len(variants) == 1 else f"{found.label}, {difference.variant}",
                places[difference.variant],
                _with_interval(difference.mean, difference.ci95_seeds),
                difference.mean,
                difference.ci95_seeds,
                tuple(difference.per_seed),
            )
            for found in breakdown.bins
            for difference in found.differences
            if difference.mean is not None and difference.variant in places
        )
        if found:
            yield IntervalChart(
                key=f"frequency-{breakdown.by}",
                title=f"Difference to {baseline} {_BREAKDOWNS[breakdown.by]}",
                x_label="nats per token",
                below="favours the variant",
                above=f"favours {baseline}",
                estimates=found,
            )


def _with_interval(mean: float, interval: tuple[float, float] | None) -> str:
    middle, *ends = signed_together(mean, interval)
    return f"{middle} [{', '.join(ends)}]" if ends else middle
