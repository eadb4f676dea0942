"""The section on the losses while training."""

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, curve, example_comparison, runs, summarize
from tiedlm.comparison.analyses.training_loss import SeedLosses, TrainingLoss, VariantLosses
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.charts.chart import CurveChart
from tiedlm.report.sections.training_curves import SECTION


def charts_of(comparison: Comparison) -> list[CurveChart]:
    charts = list(SECTION.charts(comparison))
    assert all(isinstance(chart, CurveChart) for chart in charts)
    return [chart for chart in charts if isinstance(chart, CurveChart)]


def curved() -> list[CurveChart]:
    results = [
        run.model_copy(update={"validation_curve": curve(run)})
        for run in (*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS))
    ]
    return charts_of(summarize(results, [], "example", "untied", ["tied", "untied"]))


def test_a_curve_is_the_mean_over_seeds_in_a_band_from_the_least_to_the_most() -> None:
    by_tokens, by_seconds, difference = curved()
    tied = by_tokens.curves[0]
    last = [nats + 0.05 for nats in TIED_NATS]
    assert tied.samples[-1].mean == pytest.approx(sum(last) / 5)
    assert (tied.samples[-1].low, tied.samples[-1].high) == pytest.approx((min(last), max(last)))
    assert tied.samples[-1].x == 100_007_936
    assert by_seconds.curves[0].samples[-1].x == pytest.approx(1_002), "the mean of 1,000 to 1,004"
    assert [curve.name for curve in difference.curves] == ["tied"]
    gaps = [mine - theirs for mine, theirs in zip(TIED_NATS, UNTIED_NATS, strict=True)]
    assert difference.curves[0].samples[0].mean == pytest.approx(sum(gaps) / 5)
    assert difference.curves[0].samples[0].high == pytest.approx(max(gaps)), "paired by seed"


def test_only_steps_at_which_every_seed_was_validated_are_drawn() -> None:
    (first, *others) = runs("tied", TIED_NATS)
    results = [first.model_copy(update={"validation_curve": curve(first, 8)})]
    results += [run.model_copy(update={"validation_curve": curve(run, 4)}) for run in others]
    (by_tokens, _) = charts_of(summarize(results, [], "example", "untied", ["tied"]))
    assert len(by_tokens.curves[0].samples) == 4


def test_without_validations_on_the_way_there_is_no_chart() -> None:
    assert charts_of(example_comparison()) == []
    results = [run.model_copy(update={"validation_curve": curve(run, 1)}) for run in runs("tied", TIED_NATS)]
    assert charts_of(summarize(results, [], "example", "tied", ["tied"])) == [], "one point is no curve"


def with_losses(comparison: Comparison, *variants: VariantLosses) -> Comparison:
    return comparison.model_copy(update={"training_loss": TrainingLoss(variants=list(variants))})


def losses_of(variant: str, per_point: int, *per_seed: list[float]) -> VariantLosses:
    steps = [per_point * (place + 1) for place in range(len(per_seed[0]))]
    seeds = [SeedLosses(seed=seed, losses=losses) for seed, losses in enumerate(per_seed)]
    tokens = [512 * step for step in steps]
    return VariantLosses(variant=variant, steps_per_point=per_point, steps=steps, tokens=tokens, per_seed=seeds)


def test_the_training_loss_is_the_mean_over_seeds_and_says_over_how_many_steps_it_is_smoothed() -> None:
    tied, untied = losses_of("tied", 9, [6.0, 4.0], [6.5, 4.5]), losses_of("untied", 9, [5.0, 3.0])
    (chart,) = charts_of(with_losses(example_comparison(), tied, untied))
    assert chart.title == "Training loss by tokens; each point is the mean of 9 steps"
    assert [(curve.name, curve.place) for curve in chart.curves] == [("tied", 0), ("untied", 1)]
    first, last = chart.curves[0].samples
    assert (first.x, first.mean, first.low, first.high) == (4_608, 6.25, 6.0, 6.5)
    assert last.words == "step 18: 4.2500, 4.0000 to 4.5000 over 2 seeds"


def test_it_stands_before_the_curves_of_validation_and_without_them_the_reason_is_said() -> None:
    comparison = with_losses(example_comparison(), losses_of("tied", 1, [6.0, 4.0]))
    assert [chart.title for chart in charts_of(comparison)] == ["Training loss by tokens"]
    assert [*SECTION.notes(comparison)] == ["No run was validated on its way; training.evaluate_every asks for it."]
    results = [run.model_copy(update={"validation_curve": curve(run)}) for run in runs("tied", TIED_NATS)]
    validated = with_losses(summarize(results, [], "example", "untied", ["tied"]), losses_of("tied", 1, [6.0, 4.0]))
    assert [chart.key for chart in charts_of(validated)] == [
        "training-tokens",
        "validation-tokens",
        "validation-seconds",
    ]
    assert [*SECTION.notes(validated)] == []


def test_a_seed_whose_journal_is_lost_is_left_out_of_the_mean_and_named() -> None:
    lost = SeedLosses(seed=1, reason="its metrics.jsonl holds 0 of 2 steps")
    tied = losses_of("tied", 1, [6.0, 4.0])
    comparison = with_losses(example_comparison(), tied.model_copy(update={"per_seed": [*tied.per_seed, lost]}))
    (chart,) = charts_of(comparison)
    assert chart.curves[0].samples[0].mean == 6.0
    assert "Training loss of tied, seed 1: none, its metrics.jsonl holds 0 of 2 steps." in [*SECTION.notes(comparison)]
    nothing = with_losses(example_comparison(), tied.model_copy(update={"per_seed": [lost]}))
    assert charts_of(nothing) == []
