"""The losses on validation while training, against tokens and against time, and their difference to the baseline."""

from collections.abc import Callable, Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.variant_summary import VariantSummary
from tiedlm.report.charts.chart import Curve, CurveChart, Sample
from tiedlm.report.figures.cells import shown_variants
from tiedlm.report.sections.section import Section
from tiedlm.run.result import CurvePoint

_LOSS = "validation loss, nats per token"


def _charts(comparison: Comparison) -> Iterator[CurveChart]:
    """Three charts; none where no run was validated more than once, the last only where the baseline was."""
    drawn = [(variant, place) for place, variant in enumerate(shown_variants(comparison)) if _steps(variant)]
    if not any(len(_steps(variant)) > 1 for variant, _ in drawn):
        return
    yield _loss_by_tokens(drawn)
    yield _loss_by_time(drawn)
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


def _loss_by_tokens(drawn: Sequence[tuple[VariantSummary, int]]) -> CurveChart:
    curves = tuple(_loss_curve(variant, place, _tokens) for variant, place in drawn)
    return CurveChart("validation-tokens", "Validation loss by tokens", "training tokens", _LOSS, curves)


def _loss_by_time(drawn: Sequence[tuple[VariantSummary, int]]) -> CurveChart:
    return CurveChart(
        "validation-seconds",
        "Validation loss by time",
        "seconds of training",
        _LOSS,
        tuple(_loss_curve(variant, place, _seconds) for variant, place in drawn),
        x_words=lambda value: f"{value:,.4g}",
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


SECTION = Section(
    "While training",
    charts=_charts,
    num_charts_side_by_side=2,
    caption=(
        "Lines: means over seeds; bands: from the smallest to the largest of them. Seconds are of training alone."
    ),
    placeholder="No run was validated on its way; training.evaluate_every asks for it.",
)
