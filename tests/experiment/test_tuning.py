"""Tuning: the same trials for every variant, the best of each by validation alone, and what is said of a choice."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.finished_runs import run_result, split_result
from tests.support.small_runs import small_config
from tiedlm.config.base import ConfigError
from tiedlm.errors import RunError
from tiedlm.experiment.choose import Outcomes, choose, tuned
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.expand import expand
from tiedlm.experiment.plan import pick, plan
from tiedlm.experiment.plan_tuning import plan_tuning
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.tuning import Tuning, cautions_in_words
from tiedlm.run.folder import run_folders
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure, RunResult

RUNS = Path("runs")
RATES = (1e-3, 2e-3, 4e-3)


def experiment_of(folder: Path, rates: Any = RATES, seeds: Any = (100,), *settings: str) -> Experiment:
    tune = f"tune={{grid: {{training.learning_rate: {list(rates)}}}, seeds: {list(seeds)}}}"
    return load_experiment(small_config(folder), ["seeds=[0, 1]", tune, *settings])


def outcome(run: Run, nats: float | str) -> RunResult | RunFailure:
    """A trial that cost so many nats a token of validation, or failed so."""
    if isinstance(nats, str):
        return RunFailure(
            variant=run.config.variant, seed=run.config.seed, kind=nats, message="the loss is nan", step=3
        )
    splits = {"validation": split_result(nats)}
    return run_result(run.config.variant, run.config.seed, splits=splits, config=run.config.model_dump(mode="json"))


def outcomes(trials: list[Run], tied: list[Any], untied: list[Any]) -> Outcomes:
    """By variant, in the order of the plan."""
    left = {"tied": iter(tied), "untied": iter(untied)}
    return {run.directory: outcome(run, next(left[run.config.tuning_of])) for run in trials if run.config.tuning_of}


def chosen(folder: Path, tied: list[Any], untied: list[Any], **experiment: Any) -> Tuning:
    asked = experiment_of(folder, **experiment)
    return choose(asked, outcomes(plan_tuning(asked, RUNS), tied, untied), RUNS)


def test_trials_are_the_same_for_all_variants_and_stand_apart_from_runs(tmp_path: Path) -> None:
    trials = plan_tuning(experiment_of(tmp_path, (1e-3, 2e-3), (100, 7)), RUNS)
    assert [str(run.directory.relative_to("runs/small/tuning")) for run in trials] == [
        f"{variant}/learning_rate={rate}/seed-{seed}"
        for seed in (100, 7)
        for rate in (0.001, 0.002)
        for variant in ("tied", "untied")
    ]
    for run in trials:
        assert run.config.is_tuning_run and run.layout.experiment_dir == Path("runs/small")
        assert run.label == f"{run.directory.parts[-3]} {run.config.variant} seed {run.config.seed}"
    assert {run.config.training.learning_rate for run in trials} == {1e-3, 2e-3}


def test_trials_are_not_found_as_runs(tmp_path: Path) -> None:
    asked = experiment_of(tmp_path)
    for run in [*plan_tuning(asked, tmp_path), *plan(asked, tmp_path)]:
        run.directory.mkdir(parents=True)
        (run.directory / "config.yaml").touch()
    found = [folder.path for folder in run_folders(tmp_path / "small")]
    assert sorted(found) == sorted(run.directory for run in plan(asked, tmp_path))


def test_an_experiment_that_tunes_nothing_has_no_trials(tmp_path: Path) -> None:
    plain = load_experiment(small_config(tmp_path))
    assert plan_tuning(plain, RUNS) == []
    assert expand(plain, tmp_path / "runs", tmp_path / "cache") == plain


def test_each_variant_gets_its_own_best_by_the_mean_over_the_seeds(tmp_path: Path) -> None:
    """tied: 4.0, 3.5, 4.0 in the mean; untied: 3.9, 4.0, 3.2, though the first seed alone prefers another."""
    tied, untied = [4.1, 3.4, 3.9, 3.9, 3.6, 4.1], [3.8, 4.0, 3.9, 4.0, 4.0, 2.5]
    found = chosen(tmp_path, tied, untied, seeds=(100, 101))
    assert [variant.settings["training.learning_rate"] for variant in found.variants] == [2e-3, 4e-3]
    of_tied, of_untied = found.variants
    assert [trial.nats_per_token for trial in of_tied.trials] == pytest.approx([4.0, 3.5, 4.0])
    assert [trial.nats_per_token for trial in of_untied.trials] == pytest.approx([3.9, 4.0, 3.2])
    assert [[score.seed for score in trial.per_seed] for trial in of_tied.trials] == [[100, 101]] * 3
    assert len(of_tied.trials) == len(of_untied.trials)
    assert Tuning.model_validate_json(found.model_dump_json()) == found


def test_of_equals_the_first_in_the_grid_is_taken(tmp_path: Path) -> None:
    found = chosen(tmp_path, [4.0, 3.5, 3.5], [3.5, 3.5, 3.5], rates=(4e-3, 1e-3, 2e-3))
    assert [variant.settings["training.learning_rate"] for variant in found.variants] == [1e-3, 4e-3]


def test_the_runs_take_what_was_chosen_and_nothing_else_changes(tmp_path: Path) -> None:
    asked = experiment_of(tmp_path)
    assert asked.waits_for_tuning
    tuning = choose(asked, outcomes(plan_tuning(asked, RUNS), [4.0, 3.5, 4.0], [3.9, 4.0, 3.8]), RUNS)
    it = tuned(asked, tuning)
    assert not it.waits_for_tuning
    for variant, rate in (("tied", 2e-3), ("untied", 4e-3)):
        plain = load_experiment(small_config(tmp_path), ["seeds=[0, 1]", f"training.learning_rate={rate}"])
        assert it.run_config(variant, 1) == plain.run_config(variant, 1)
    assert (it.seeds, it.baseline, it.variants_of_file.keys()) == (asked.seeds, asked.baseline, asked.variants.keys())


def test_a_trial_that_diverged_is_worse_than_any_and_is_said(tmp_path: Path) -> None:
    found = chosen(tmp_path, [9.0, "diverged", "diverged"], [1.0, 2.0, "diverged"])
    tied = found.of("tied")
    assert tied is not None
    assert tied.settings == {"training.learning_rate": 1e-3}
    assert [trial.nats_per_token for trial in tied.trials] == [pytest.approx(9.0), None, None]
    assert tied.trials[1].reason == "seed 100: the loss is nan"
    said = cautions_in_words(found)
    assert "tied: 2 of 3 settings diverged" in said
    assert "untied: 1 of 3 settings diverged" in said


def test_one_seed_that_diverged_is_enough(tmp_path: Path) -> None:
    found = chosen(tmp_path, [3.0, 4.0, 5.0, "diverged", 4.0, 5.0], [3.0, 4.0, 5.0] * 2, seeds=(100, 101))
    assert [variant.settings["training.learning_rate"] for variant in found.variants] == [2e-3, 1e-3]


def test_where_nothing_fair_can_be_chosen_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="untied: every one of its 3 trials diverged") as all_diverged:
        chosen(tmp_path, [1.0, 2.0, 3.0], ["diverged"] * 3)
    assert all_diverged.value.kind == "diverged"
    with pytest.raises(RunError, match="not tried alike") as other:
        chosen(tmp_path, [1.0, 2.0, 3.0], [1.0, "out_of_memory", 3.0])
    assert other.value.kind == "out_of_memory"


@pytest.mark.parametrize(
    ("grid", "nats", "said"),
    [
        ("training.learning_rate: [1e-3, 2e-3, 4e-3]", [3, 1, 2], []),
        ("training.learning_rate: [1e-3, 2e-3, 4e-3]", [3, 2, 1], ["learning_rate 0.004 is the largest tried"]),
        ("training.learning_rate: [4e-3, 1e-3, 2e-3]", [3, 1, 2], ["learning_rate 0.001 is the smallest tried"]),
        ("training.learning_rate: [4e-3, 1e-3]", [1, 2], ["learning_rate 0.004 is the largest tried"]),
        ("training.learning_rate: [4e-3]", [1], []),
        ("model.dropout: [0, 0.1, 0.2]", [1, 2, 3], []),
        ("training.warmup: [1, 2, 3]", [3, 2, 1], ["warmup 3 is the largest tried"]),
        ("training.warmup: [1, 2, 0.1]", [1, 2, 3], []),
        ("training.max_grad_norm: [null, 1.0]", [1, 2], []),
        ("model.bias: [true, false]", [1, 2], []),
        ("training.schedule: [cosine, constant]", [1, 2], []),
        ("training.learning_rate: [1, 2], model.dropout: [0.1, 0.2]", [4, 3, 2, 1], ["learning_rate 2", "dropout 0.2"]),
    ],
)
def test_a_number_beyond_which_nothing_was_tried_is_said(
    tmp_path: Path, grid: str, nats: list[int], said: list[str]
) -> None:
    """At 0 the axis ends, a mixture of steps and fractions is no axis, and neither are switches and words."""
    asked = load_experiment(small_config(tmp_path), [f"tune={{grid: {{{grid}}}, seeds: [100]}}"])
    found = choose(asked, outcomes(plan_tuning(asked, RUNS), nats, nats), RUNS)
    cautions = cautions_in_words(found)
    assert len(cautions) == len(said)
    for caution, words in zip(cautions, said, strict=True):
        assert caution.startswith(f"tied and untied: {words}")


def test_a_run_may_not_have_a_seed_of_the_trials(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="100 is a seed of the trials"):
        pick(experiment_of(tmp_path), "tied", 100)


def test_what_a_plan_adds_is_made_of_the_tuned_variants(tmp_path: Path) -> None:
    asked = experiment_of(tmp_path, RATES, (100,), "noise_floor=true")
    early = expand(asked, tmp_path / "runs", tmp_path / "cache")
    assert early.variants["untied+redrawn"].training.learning_rate == RATES[0]
    tuning = choose(asked, outcomes(plan_tuning(asked, RUNS), [4.0, 3.5, 4.0], [3.9, 4.0, 3.8]), RUNS)
    it = expand(tuned(early, tuning), tmp_path / "runs", tmp_path / "cache")
    assert it.variants["untied+redrawn"].training.learning_rate == 4e-3
    assert list(it.variants) == ["tied", "untied", "untied+redrawn"]
