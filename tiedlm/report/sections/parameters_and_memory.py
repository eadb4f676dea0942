"""Where the parameters are, and the memory forecast of a training step beside the peak that was measured."""

from collections.abc import Iterator

from tiedlm.comparison.comparison import Comparison
from tiedlm.forecast.footprint import CATEGORIES
from tiedlm.report.charts.chart import Stack, StackChart
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import shown_variants
from tiedlm.report.figures.memory_forecast import forecast_notes, forecast_tables, forecasts_of_variants
from tiedlm.report.figures.text import key_in_words
from tiedlm.report.sections.section import Section
from tiedlm.run.result import PARTS


def _charts(comparison: Comparison) -> Iterator[StackChart]:
    for chart in (_parameter_chart(comparison), _memory_chart(comparison)):
        if chart is not None:
            yield chart


def _parameter_chart(comparison: Comparison) -> StackChart | None:
    """Where the parameters are."""
    variants = shown_variants(comparison)
    parts = [part for part in PARTS if any(variant.parameters.parts.get(part) for variant in variants)]
    if not parts:
        return None
    stacks = (
        Stack(
            variant.name,
            numbers.count(variant.parameters.total),
            tuple(variant.parameters.parts.get(part, 0) for part in parts),
        )
        for variant in variants
    )
    return StackChart(
        "parameters",
        "Parameters",
        tuple(map(key_in_words, parts)),
        tuple(stacks),
        written=lambda value: numbers.count(round(value)),
    )


def _memory_chart(comparison: Comparison) -> StackChart | None:
    """The predicted peak of a training step by category, and the peak that was measured on a GPU."""
    predicted = [
        (variant, variant.memory.predicted)
        for variant in shown_variants(comparison)
        if variant.memory.predicted and variant.memory.predicted.peak_bytes
    ]
    if not predicted:
        return None
    parts = [name for name in CATEGORIES if any(footprint.categories.get(name) for _, footprint in predicted)]
    stacks = (
        Stack(
            variant.name,
            numbers.memory(footprint.peak_bytes),
            tuple(footprint.categories.get(part, 0) for part in parts),
            variant.memory.gpu_peak_allocated_bytes,
        )
        for variant, footprint in predicted
    )
    return StackChart(
        "memory",
        "Peak memory of a training step, predicted",
        tuple(key_in_words(part) for part in parts),
        tuple(stacks),
        written=lambda value: numbers.memory(round(value)),
        mark="measured on the GPU, allocated",
        unit=2.0**20,
    )


SECTION = Section(
    "Parameters and memory",
    tables=lambda comparison: forecast_tables(forecasts_of_variants(comparison)),
    charts=_charts,
    notes=lambda comparison: forecast_notes(forecasts_of_variants(comparison)),
    num_charts_side_by_side=2,
    is_appendix=True,
)
