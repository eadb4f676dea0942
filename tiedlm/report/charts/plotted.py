"""What of a comparison is plotted."""

from collections.abc import Callable, Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.summary import VariantSummary
from tiedlm.forecast.footprint import CATEGORIES
from tiedlm.report.charts.chart import Chart, Curve, CurveChart, Sample, Stack, StackChart
from tiedlm.report.charts.difference_charts import difference_chart, frequency_charts
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import part_label, shown_variants
from tiedlm.run.result import PARTS, CurvePoint


def charts(comparison: Comparison) -> list[Chart]:
    """Every chart that there is something to draw on."""
    found = (
        difference_chart(comparison),
        *curve_charts(comparison),
        *frequency_charts(comparison),
        parameter_chart(comparison),
        memory_chart(comparison),
    )
    return [chart for chart in found if chart is not None]


def curve_charts(comparison: Comparison) -> Iterator[CurveChart]:
    """The validation loss against tokens and against seconds, and the difference to the baseline on the way."""
    drawn = [(variant, place) for place, variant in enumerate(shown_variants(comparison)) if _steps(variant)]
    if not any(len(_steps(variant)) > 1 for variant, _ in drawn):
        return
    losses = tuple(_loss_curve(variant, place, _tokens) for variant, place in drawn)
    label = "validation loss, nats per token"
    yield CurveChart("validation-tokens", "Validation loss by tokens", "training tokens", label, losses)
    against_time = tuple(_loss_curve(variant, place, _seconds) for variant, place in drawn)
    yield CurveChart(
        "validation-seconds",
        "Validation loss by time",
        "seconds of training",
        label,
        against_time,
        x_words=lambda value: f"{value:,.4g}",
    )
    baseline = next((variant for variant, _ in drawn if variant.name == comparison.baseline), None)
    if baseline is None:
        return
    differences = [_difference_curve(variant, baseline, place) for variant, place in drawn if variant is not baseline]
    known = tuple(curve for curve in differences if curve.samples)
    if known:
        yield CurveChart(
            "difference-tokens",
            f"Difference to {baseline.name} on validation, while training",
            "training tokens",
            "nats per token",
            known,
            zero=f"above 0 favours {baseline.name}",
        )


def _steps(variant: VariantSummary) -> list[int]:
    """The steps at which every seed was validated."""
    counted = [{point.step for point in run.validation_curve} for run in variant.runs]
    return sorted(set.intersection(*counted)) if counted else []


def _points(variant: VariantSummary, step: int) -> dict[int, CurvePoint]:
    return {run.seed: point for run in variant.runs for point in run.validation_curve if point.step == step}


def _tokens(point: CurvePoint) -> float:
    return point.tokens


def _seconds(point: CurvePoint) -> float:
    return point.seconds


def _loss_curve(variant: VariantSummary, place: int, x: Callable[[CurvePoint], float]) -> Curve:
    found = [list(_points(variant, step).values()) for step in _steps(variant)]
    samples = (
        _sample(mean([x(point) for point in points]), [point.nats_per_token for point in points], points[0].step)
        for points in found
    )
    return Curve(variant.name, place, tuple(samples))


def _difference_curve(variant: VariantSummary, baseline: VariantSummary, place: int) -> Curve:
    samples = []
    for step in _steps(variant):
        mine, theirs = _points(variant, step), _points(baseline, step)
        common = [seed for seed in mine if seed in theirs]
        if common:
            values = [mine[seed].nats_per_token - theirs[seed].nats_per_token for seed in common]
            samples.append(_sample(mine[common[0]].tokens, values, step))
    return Curve(variant.name, place, tuple(samples))


def _sample(x: float, values: Sequence[float], step: int) -> Sample:
    low, high = min(values), max(values)
    over = f", {low:.4f} to {high:.4f} over {len(values)} seeds" if len(values) > 1 else ""
    return Sample(x, mean(values), low, high, f"step {step:,}: {mean(values):.4f}{over}")


def parameter_chart(comparison: Comparison) -> StackChart | None:
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
        tuple(map(part_label, parts)),
        tuple(stacks),
        written=lambda value: numbers.count(round(value)),
    )


def memory_chart(comparison: Comparison) -> StackChart | None:
    """The predicted peak of a training step by category, and the peak that was measured on a GPU."""
    known = [(variant, variant.memory.predicted) for variant in shown_variants(comparison) if variant.memory.predicted]
    predicted = [(variant, footprint) for variant, footprint in known if footprint.peak_bytes]
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
        tuple(part.replace("_", " ") for part in parts),
        tuple(stacks),
        written=lambda value: numbers.memory(round(value)),
        mark="measured on the GPU, allocated",
        unit=2.0**20,
    )
