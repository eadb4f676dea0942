"""Searches carried out: what is trained and when it stops, nothing twice, the test split unread, divergence, faults."""

import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.in_process import in_this_process
from tests.support.searches import searched, searching, steps_on_disk
from tests.support.small_runs import Heard, carry_out, carry_out_to, checkpoints, shared_cache
from tiedlm.comparison.compare import compare
from tiedlm.comparison.gather import gather
from tiedlm.comparison.verify import verify
from tiedlm.config.base import ConfigError
from tiedlm.data.prepare import prepare
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment import carry_out as carrying
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.expand import expand
from tiedlm.experiment.halving import best
from tiedlm.experiment.plan import pick
from tiedlm.experiment.plan_tuning import plan_tuning, with_stored
from tiedlm.experiment.tuning import Tuning
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure
from tiedlm.run.rungs import read_rungs

DIVERGES = "training.max_grad_norm=null"
METHODS = ["random", "halving", "tpe"]
STEPS = 6


@pytest.fixture(autouse=True)
def in_a_moment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All runs in this process, and the third candidate of a variant is proposed."""
    monkeypatch.setattr("tiedlm.experiment.candidates.NUM_DRAWN", 2)
    with in_this_process():
        yield


def tuning_of(experiment: Experiment) -> Tuning:
    assert experiment.tuning is not None
    return experiment.tuning


def stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("*") if path.is_file()}


def test_drawn_settings_are_the_same_for_all_variants_and_each_gets_its_own_best(tmp_path: Path) -> None:
    found = tuning_of(searched(searching(tmp_path, "random", trials=4), tmp_path))
    tied, untied = found.variants
    shared = ("training.learning_rate", "model.tying.input_scale")
    assert [[trial.settings[key] for key in shared] for trial in tied.trials] == [
        [trial.settings[key] for key in shared] for trial in untied.trials
    ]
    assert "training.output_learning_rate_factor" in untied.settings
    assert "training.output_learning_rate_factor" not in tied.settings
    for variant in (tied, untied):
        costs = {trial.name: trial.loss for trial in variant.trials}
        assert variant.chosen == min(costs, key=lambda name: costs[name])
        for trial in variant.trials:
            (score,) = trial.per_seed
            folder = RunFolder(tmp_path / "runs" / "small" / "tuning" / variant.variant / trial.name / "seed-100")
            result = folder.result()
            assert result is not None and list(result.splits) == ["validation"]
            assert score.nll == result.splits["validation"].nll


def test_at_each_rung_the_best_of_each_variant_go_on_and_the_others_stop(tmp_path: Path) -> None:
    experiment, steps = searching(tmp_path, "halving"), list[int]()
    assert experiment.search is not None and experiment.search.halving is not None
    with in_this_process(Heard(steps.append)):
        found = tuning_of(searched(experiment, tmp_path))
    assert experiment.search.halving.entrants(6) == [6, 3, 2]
    planned = 2 * experiment.search.num_steps(STEPS)
    assert planned == 2 * (6 * 2 + 3 * 2 + 2 * 2)
    assert len(steps) == planned, "exactly what was told beforehand: nothing is trained twice"
    for variant in found.variants:
        reached = {trial.name: len(trial.rungs) for trial in variant.trials}
        assert sorted(reached.values()) == [1, 1, 1, 2, 2, 2]
        first = [trial.rungs[0].nats_per_token for trial in variant.trials]
        assert [place for place, trial in enumerate(variant.trials) if len(trial.rungs) > 1] == best(first, 3)
        on_the_way = variant.at_rung(1)
        second = [trial.rungs[1].nats_per_token for trial in on_the_way]
        ended = [trial for trial in variant.trials if trial.nats_per_token is not None]
        assert ended == [on_the_way[place] for place in best(second, 2)]
        assert variant.best().loss == min(trial.loss for trial in ended)
        for trial in variant.trials:
            folder = RunFolder(tmp_path / "runs" / "small" / "tuning" / variant.variant / trial.name / "seed-100")
            record = read_rungs(folder)
            assert record is not None and not folder.checkpoints.exists()
            assert record.pruned_at_step == (None if trial in ended else trial.rungs[-1].step)
            assert not folder.evaluation_file("test").exists()
            assert len([line for line in (folder.metrics_file.read_text().splitlines()) if "loss" in line]) == (
                STEPS if trial in ended else trial.rungs[-1].step
            )
    assert [mean.step for mean in found.variants[0].best().rungs] == [2, 4]


def test_a_candidate_that_is_certainly_beaten_is_dropped_before_its_rung_ends(tmp_path: Path) -> None:
    """So no more states lie on disk than may go on, and the one under way."""
    experiment, most = searching(tmp_path, "halving", trials=4), 0

    def count(step: int) -> None:
        nonlocal most
        for variant in ("tied", "untied"):
            held = [run for run in plan_tuning(experiment, tmp_path / "runs") if run.config.tuning_of == variant]
            most = max(most, sum(bool(checkpoints(run)) for run in held))

    with in_this_process(Heard(count)):
        searched(experiment, tmp_path)
    assert most == 2
    assert experiment.search is not None and experiment.search.num_waiting == 2 * 2, "of both variants"


@pytest.mark.parametrize("method", METHODS)
def test_interrupted_at_any_step_a_search_comes_to_the_same_and_takes_no_step_twice(
    tmp_path: Path, method: str
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    expected = tuning_of(searched(searching(whole, method, trials=3), whole))
    experiment, taken = searching(parts, method, trials=3), list[int]()

    def stop(step: int) -> None:
        taken.append(step)
        if len(taken) in (3, 9, 16):
            os.kill(os.getpid(), signal.SIGTERM)

    for _ in range(3):
        with in_this_process(Heard(stop)), pytest.raises(Interrupted):
            searched(experiment, parts)
    with in_this_process(Heard(stop)):
        found = searched(experiment, parts)
    assert found.tuning == expected
    assert len(taken) == sum(steps_on_disk(experiment, parts).values())
    assert steps_on_disk(experiment, parts) == steps_on_disk(experiment, whole)


@pytest.mark.parametrize("method", METHODS)
def test_a_search_that_is_done_does_nothing_and_a_fresh_one_starts_again(tmp_path: Path, method: str) -> None:
    experiment, steps = searching(tmp_path, method, "training.steps=3", trials=3), list[int]()
    first = searched(experiment, tmp_path)
    before, heard = stamps(tmp_path), Heard()
    assert searched(experiment, tmp_path, heard) == first
    assert (stamps(tmp_path), heard.lines) == (before, [])
    assert expand(experiment, tmp_path / "runs", shared_cache()).tuning == first.tuning
    with in_this_process(Heard(steps.append)):
        assert tuning_of(searched(experiment, tmp_path, fresh=True)) == first.tuning
    assert len(steps) == sum(steps_on_disk(experiment, tmp_path).values())


def test_more_trials_go_on_from_those_there_are(tmp_path: Path) -> None:
    searched(searching(tmp_path, "random", trials=3), tmp_path)
    before, more = stamps(tmp_path), searching(tmp_path, "random", trials=4)
    found = tuning_of(searched(more, tmp_path))
    assert len(found.variants[0].trials) == 4
    assert before.items() <= stamps(tmp_path).items(), "nothing of the first three was touched"


def test_the_first_proposals_are_drawn_and_the_others_hang_on_the_variant(tmp_path: Path) -> None:
    experiment = searching(tmp_path, "tpe", "training.steps=2", trials=4)
    found = tuning_of(searched(experiment, tmp_path))
    rates = [[trial.settings["training.learning_rate"] for trial in each.trials] for each in found.variants]
    drawn = searching(tmp_path, "random", trials=4)
    assert drawn.search is not None
    first = [one.settings["training.learning_rate"] for one in drawn.search.candidates["tied"]]
    assert rates[0][:2] == rates[1][:2] == first[:2]
    assert rates[0][2:] != first[2:] and rates[0][2:] != rates[1][2:]


def test_stored_proposals_are_kept_whatever_would_be_proposed_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another version of Optuna, or where it is gone: the trials on disk are the search."""
    experiment = searching(tmp_path, "tpe", "training.steps=2", trials=3)
    found = searched(experiment, tmp_path)
    monkeypatch.setattr("tiedlm.experiment.tpe.util.find_spec", lambda name: None)
    assert searched(experiment, tmp_path) == found
    with pytest.raises(ConfigError, match="tpe needs Optuna"):
        searched(searching(tmp_path, "tpe", "training.steps=2", trials=4), tmp_path)
    narrower = "tune.space={training.learning_rate: {low: 1e-9, high: 1e-8, log: true}}"
    with pytest.raises(ConfigError, match="not in the space any more"):
        with_stored(searching(tmp_path, "tpe", narrower, "training.steps=2", trials=3), tmp_path / "runs")


@pytest.mark.parametrize("method", METHODS)
def test_a_trial_that_diverged_is_infinitely_bad_in_every_method(tmp_path: Path, method: str) -> None:
    """Rates of 1e20 do. They are told to TPE, and take no place among those that go on."""
    wide = "tune.space={training.learning_rate: [1e-3, 1e20, 2e-3, 2e20]}"
    found = tuning_of(searched(searching(tmp_path, method, wide, DIVERGES, trials=4), tmp_path))
    for variant in found.variants:
        diverged = [trial for trial in variant.trials if trial.diverged]
        assert diverged and variant.chosen not in [trial.name for trial in diverged]
        assert all(trial.loss == math.inf and trial.reason for trial in diverged)
        assert variant.best().nats_per_token is not None


@pytest.mark.parametrize("method", METHODS)
def test_where_every_trial_diverged_nothing_is_chosen(tmp_path: Path, method: str) -> None:
    bad = "tune.space={training.learning_rate: {low: 1e20, high: 1e21, log: true}}"
    experiment = searching(tmp_path, method, bad, DIVERGES, trials=2)
    with pytest.raises(RunError, match=r"tied: every one of its 2 trials diverged; change tune\.space") as all_bad:
        searched(experiment, tmp_path)
    assert all_bad.value.kind == "diverged"


@pytest.mark.parametrize("method", METHODS)
def test_a_trial_that_failed_otherwise_ends_the_search_and_is_tried_again(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = searching(tmp_path, method, "training.steps=3", trials=3, seeds="[100, 101]")
    fails, place = [True], "tiedlm.experiment.carry_out.run_in_child"
    carried_out = getattr(carrying, "run_in_child")  # noqa: B009 (as the tests of this process replaced it)

    def fail_once(run: Run, **options: Any) -> None:
        if fails[0] and run.config.seed == 101 and run.config.variant.endswith("-02"):
            failure = RunFailure(variant=run.config.variant, seed=101, kind="out_of_memory", message="it is too large")
            RunFolder(run.directory).fail(run.config, failure)
            raise RunError("out_of_memory", "it is too large")
        carried_out(run, **options)

    monkeypatch.setattr(place, fail_once)
    with pytest.raises(RunError, match="without this trial the variants were not tried alike"):
        searched(experiment, tmp_path)
    fails[0] = False
    found = tuning_of(searched(experiment, tmp_path))
    assert [score.seed for score in found.variants[0].trials[1].per_seed] == [100, 101]
    assert not any(trial.diverged for variant in found.variants for trial in variant.trials)


def test_the_mean_over_the_seeds_decides_at_a_rung_too(tmp_path: Path) -> None:
    found = tuning_of(searched(searching(tmp_path, "halving", trials=3, seeds="[100, 101]"), tmp_path))
    for trial in found.variants[0].trials:
        at_first = [score.rungs[0].nll / score.rungs[0].tokens for score in trial.per_seed]
        assert trial.rungs[0].nats_per_token == pytest.approx(sum(at_first) / 2, rel=1e-12)


def test_no_method_reads_the_test_split(tmp_path: Path) -> None:
    """With tokens there that no model has, a run fails, and a search with pauses does not."""
    experiment, cache = searching(tmp_path, "halving", trials=3), tmp_path / "cache"
    data = prepare(plan_tuning(experiment, tmp_path)[0].config.data, cache)
    (file,) = cache.rglob("test.ids")
    kept, stamp = data.split("test").ids, file.stat().st_mtime_ns
    np.full(len(kept), np.iinfo(kept.dtype).max, kept.dtype).tofile(file)
    os.utime(file, ns=(stamp, stamp))  # else it would be noticed, and made anew
    for trial in plan_tuning(experiment, tmp_path / "runs")[:2]:
        carry_out_to(trial, 1 / 3, cache=cache)
        assert list(carry_out(trial, cache=cache).splits) == ["validation"]
    with pytest.raises(IndexError):
        carry_out(Run(pick(experiment, "tied"), tmp_path / "runs"), cache=cache)


def test_rungs_of_another_search_are_refused_before_anything_trains(tmp_path: Path) -> None:
    searched(searching(tmp_path, "halving", trials=2), tmp_path)
    before = stamps(tmp_path)
    with pytest.raises(ConfigError, match="which is no rung now; --fresh"):
        searched(searching(tmp_path, "halving", "tune.min_fraction=0.5", trials=2), tmp_path)
    assert stamps(tmp_path) == before


def test_what_a_search_came_to_is_compared_and_holds(tmp_path: Path) -> None:
    experiment = searching(tmp_path, "halving", "seeds=[0]")
    compared = compare(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache(), talk=Heard())
    home = tmp_path / "runs" / "small"
    assert compared.tuning is not None and compared.tuning.halving is not None
    assert gather([home]).tuning == compared.tuning
    compare(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache(), talk=Heard())
    verified = verify(home)
    assert verified.failed == []
    pruned = next(trial for trial in compared.tuning.variants[0].trials if trial.pruned)
    file = home / "tuning" / "tied" / pruned.name / "seed-100" / "metrics.jsonl"
    file.write_text(file.read_text().replace('"validation_nll": ', '"validation_nll": 1'))
    found = [fault.key for fault in verify(home).failed]
    assert f"tuning.variants[tied].trials[{pruned.name}].per_seed[100].rungs[2].nll" in found, "after step 2"
