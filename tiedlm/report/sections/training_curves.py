"""The losses while training: of the batches, and on validation against tokens, time and the baseline."""

from collections.abc import Callable, Iterator, Sequence

from tiedlm.comparison.analyses.training_loss import TrainingLoss, VariantLosses
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.variant_summary import VariantSummary
from tiedlm.report.charts.chart import Curve, CurveChart, Sample
from tiedlm.report.figures.cells import colour_places, shown_variants
from tiedlm.report.sections.section import Section
from tiedlm.run.result import CurvePoint

_LOSS = "validation loss, nats per token"
_NOT_VALIDATED = "No run was validated on its way; training.evaluate_every asks for it."


def _charts(comparison: Comparison) -> Iterator[CurveChart]:
    """The training loss where journals were read, then what was validated on the way."""
    yield from _training_loss(comparison)
    yield from _validation(comparison)


def _training_loss(comparison: Comparison) -> Iterator[CurveChart]:
    """One chart of all variants; none where no run's journal holds more than one point."""
    analysis, places = comparison.analysis(TrainingLoss), colour_places(comparison)
    found = [each for each in (analysis.variants if analysis else ()) if each.variant in places and _curves_of(each)]
    if not any(len(each.steps) > 1 for each in found):
        return
    sizes = sorted({each.steps_per_point for each in found})
    smoothed = f"; each point is the mean of {' or '.join(map(str, sizes))} steps" if sizes != [1] else ""
    yield CurveChart(
        "training-tokens",
        f"Training loss by tokens{smoothed}",
        "training tokens",
        "training loss, nats per token",
        tuple(Curve(each.variant, places[each.variant], tuple(_training_samples(each))) for each in found),
    )


def _curves_of(variant: VariantLosses) -> list[list[float]]:
    return [seed.losses for seed in variant.per_seed if seed.losses]


def _training_samples(variant: VariantLosses) -> Iterator[Sample]:
    for index, (step, tokens) in enumerate(zip(variant.steps, variant.tokens, strict=True)):
        yield _sample(tokens, [losses[index] for losses in _curves_of(variant)], step)


def _notes(comparison: Comparison) -> Iterator[str]:
    """Which curves are missing, and why."""
    analysis = comparison.analysis(TrainingLoss)
    for variant in analysis.variants if analysis else ():
        for seed in variant.per_seed:
            if seed.reason:
                yield f"Training loss of {variant.variant}, seed {seed.seed}: none, {seed.reason}."
    if analysis is not None and not any(_validation(comparison)):
        yield _NOT_VALIDATED


def _validation(comparison: Comparison) -> Iterator[CurveChart]:
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
    notes=_notes,
    num_charts_side_by_side=4,
    caption=(
        "Lines: means over seeds; bands: from the smallest to the largest of them. Seconds are of training alone. "
        "Training loss: of the batch of each step, before its update, dropout and penalties included."
    ),
    placeholder=_NOT_VALIDATED,
)
