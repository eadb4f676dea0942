"""Every reported figure is recomputed, and one that was tampered with is found."""

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.main import main
from tests.support.finished_runs import store_run
from tests.support.small_runs import carry_out, small_experiment, small_run
from tiedlm.comparison.answer import answer
from tiedlm.comparison.checks import Checks
from tiedlm.comparison.comparison import load_comparison
from tiedlm.comparison.gather import gather
from tiedlm.comparison.question import Question
from tiedlm.comparison.verify import Verified, verify
from tiedlm.comparison.verify_tuning import check_tuning
from tiedlm.config.base import ConfigError
from tiedlm.experiment.choose import choose, tuned
from tiedlm.experiment.plan import plan
from tiedlm.experiment.plan_tuning import plan_tuning
from tiedlm.experiment.tune import outcomes_of
from tiedlm.experiment.tuning import Tuning
from tiedlm.run.folder import RunFolder, run_folders
from tiedlm.run.result import RunFailure


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of three seeds of two variants, compared."""
    place = tmp_path_factory.mktemp("compared")
    draw = np.random.default_rng(0)
    for run in plan(small_experiment(place, "seeds=[0, 1, 2]"), place / "runs"):
        store_run(run, draw)
    folder = place / "runs" / "small"
    assert gather([folder]).differences[0].ci95_text is not None
    return folder


def question_with(tuning: Tuning, planned: dict[str, tuple[int, ...]]) -> Question:
    return Question(
        name="small",
        baseline="untied",
        order=("tied", "untied"),
        planned=planned,
        primary="tied",
        smallest_worthwhile=0.01,
        tuning=tuning,
    )


@pytest.fixture
def home(compared: Path, tmp_path: Path) -> Path:
    """A copy of it, to be tampered with."""
    return Path(shutil.copytree(compared, tmp_path / "runs" / "small"))


def edit(path: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def faults(folder: Path) -> list[tuple[str, str]]:
    return [(fault.file, fault.key) for fault in verify(folder).failed]


def test_what_was_stored_holds(home: Path) -> None:
    whole, one = verify(home), verify(home / "tied" / "seed-1")
    assert (whole.failed, whole.num_runs, one.failed, one.num_runs) == ([], 6, [], 1)
    assert whole.num_numbers > 6 * one.num_numbers > 100
    assert any("words and bytes" in line for line in whole.not_checked)


def test_a_run_that_failed_is_read_again_too(compared: Path, home: Path) -> None:
    (failed,) = (run for run in plan(small_experiment(compared.parents[1], "seeds=[3]"), home.parent)[:1])
    failure = RunFailure(variant="tied", seed=3, kind="diverged", message="the loss of step 7 is nan", step=7)
    RunFolder(failed.directory).fail(failed.config, failure)
    assert gather([home]).failures == [failure]
    assert (faults(home), verify(home).num_runs) == ([], 6)
    edit(home / "comparison.json", lambda c: c["failures"][0].update(step=8))
    assert faults(home) == [("comparison.json", "failures[tied, 3].step")]


def leaves(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all numbers."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, key)
        else:
            yield from leaves(value, (*path, key))


def test_a_change_of_any_reported_number_is_found(home: Path) -> None:
    """All at once: as many are found as were changed, in the comparison and in what it was made of."""
    changed: list[tuple[Any, ...]] = []

    def spoil(comparison: Any) -> None:
        for part in ("variants", "differences", "conditions"):
            for path in leaves(comparison[part], (part,)):
                where = comparison
                for key in path[:-1]:
                    where = where[key]
                where[path[-1]] += 1 if isinstance(where[path[-1]], int) else 1e-6 * max(1.0, abs(where[path[-1]]))
                changed.append(path)

    edit(home / "comparison.json", spoil)
    found = [fault for fault in verify(home).failed if fault.file == "comparison.json"]
    assert len(found) == len(changed) > 200


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda c: c["differences"][0].update(mean=c["differences"][0]["mean"] + 1e-6), "differences[tied, test].mean"),
        (lambda c: c["differences"][0]["ci95_text"].reverse(), "differences[tied, test].ci95_text[0]"),
        (lambda c: c["differences"][0].update(verdict="better"), "differences[tied, test].verdict"),
        (lambda c: c.update(verdict="tied is better."), "verdict"),
        (lambda c: c["variants"].pop(), "variants, length"),
        (lambda c: c["variants"][0]["splits"]["test"].update(token_perplexity=None), "token_perplexity"),
        (lambda c: c["sources"].update({"tied/seed-0/result.json": "0"}), "sources.tied/seed-0/result.json"),
    ],
)
def test_a_fault_is_told_by_its_place(home: Path, change: Callable[[Any], None], key: str) -> None:
    edit(home / "comparison.json", change)
    found = faults(home)
    assert any(file == "comparison.json" and key in place for file, place in found), found


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda r: r["splits"]["test"].update(nll=r["splits"]["test"]["nll"] + 0.01), "splits.test.nll"),
        (lambda r: r["splits"]["validation"].update(tokens=399), "splits.validation.tokens"),
        (lambda r: r["splits"]["test"].update(documents=11), "splits.test.documents"),
        (lambda r: r.update(first_loss=1.0), "first_loss"),
        (lambda r: r.update(steps=5), "steps"),
        (lambda r: r.update(tokens_seen=1), "tokens_seen"),
        (lambda r: r["validation_curve"][0].update(nats_per_token=3.0), "validation_curve[2].nats_per_token"),
        (lambda r: r["validation_curve"][1].update(nats_per_token=3.0), "validation_curve[4].nats_per_token"),
        (lambda r: r["parameters"].update(total=1), "parameters.total"),
        (lambda r: r["config"]["training"].update(learning_rate=9e-3), "config.training.learning_rate"),
        (lambda r: r.update(tying="untied"), "tying"),
    ],
)
def test_a_result_that_does_not_follow_from_its_run_is_found(
    home: Path, change: Callable[[Any], None], key: str
) -> None:
    run = home / "tied" / "seed-1"
    edit(run / "result.json", change)
    assert faults(run) == [("result.json", key)]
    assert ("tied/seed-1/result.json", key) in faults(home)
    assert ("comparison.json", "sources.tied/seed-1/result.json") in faults(home)


def test_a_token_scored_otherwise_is_found_in_the_sum_and_in_the_interval(home: Path) -> None:
    path = home / "untied" / "seed-2" / "evaluation" / "test.npz"
    with np.load(path) as stored:
        arrays = {name: stored[name].copy() for name in stored}
    arrays["nll"][7] += 0.001
    np.savez_compressed(path, **arrays)
    found = faults(home)
    assert ("untied/seed-2/result.json", "splits.test.nll") in found
    assert any(file == "comparison.json" and "ci95_text" in key for file, key in found)


def test_scores_and_metrics_that_cannot_be_read_do_not_hold(home: Path) -> None:
    run = home / "tied" / "seed-0"
    os.truncate(run / "evaluation" / "test.npz", 100)
    lines = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text("\n".join([*lines[:3], *lines[4:]]))
    assert faults(run) == [("result.json", "splits.test.nll"), ("result.json", "steps")]


@pytest.mark.parametrize(
    "file",
    ["comparison.json", "tied/seed-0/result.json", "untied/seed-1/metrics.jsonl", "tied/seed-2/evaluation/test.npz"],
)
def test_a_file_that_is_missing_is_the_request_s_fault(
    home: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / file).unlink()
    with pytest.raises(ConfigError, match=file.rpartition("/")[2]):
        verify(home)
    assert main(["verify", str(home)]) == 2
    assert capsys.readouterr().out == ""


def test_what_an_earlier_edition_said_in_words_is_not_held_against_it_but_its_numbers_are(home: Path) -> None:
    edit(home / "comparison.json", lambda c: c.update(edition=1, verdict="In other words."))
    verified = verify(home)
    assert verified.failed == []
    assert any("earlier edition" in line for line in verified.not_checked)
    edit(home / "comparison.json", lambda c: c["differences"][0].update(num_seeds=4))
    assert faults(home) == [("comparison.json", "differences[tied, test].num_seeds")]


def test_the_command_says_what_it_checked_and_what_does_not_hold(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(home)]) == 0
    assert "of 6 runs; all hold." in " ".join(capsys.readouterr().out.split())
    edit(home / "comparison.json", lambda c: c["differences"][0].update(mean=0.5))
    assert main(["verify", str(home)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "one does not hold" in said
    assert "comparison.json, differences[tied, test].mean: stored 0.5, recomputed" in said
    assert "Where comparison.json is removed, `tiedlm compare CONFIG` makes it anew" in said
    assert main(["verify", str(home), "--json"]) == 1
    document = Verified.model_validate_json(capsys.readouterr().out)
    assert [fault.key for fault in document.failed] == ["differences[tied, test].mean"]


def test_what_was_tried_before_the_runs_is_recomputed_too(tmp_path: Path) -> None:
    runs_dir, draw = tmp_path / "runs", np.random.default_rng(0)
    grid = "tune={grid: {training.learning_rate: [1e-3, 2e-3]}, seeds: [100, 101]}"
    experiment = small_experiment(tmp_path, grid, "seeds=[0, 1]")
    trials = plan_tuning(experiment, runs_dir)
    for trial in trials:
        store_run(trial, draw)
    chosen = choose(experiment, outcomes_of(trials), runs_dir)
    for run in plan(tuned(experiment, chosen), runs_dir):
        store_run(run, draw)
    home = runs_dir / "small"
    planned = {"tied": (0, 1, 7), "untied": (0, 1)}
    answer(run_folders(home), question_with(chosen, planned), home)
    verified = verify(home)
    assert (verified.failed, verified.num_runs) == ([], 4 + 8)
    with configs_read_once():
        assert_each_change_of_the_tuning_is_found(home)
    best = chosen.variants[0].best().name
    edit(
        home / "tuning" / "tied" / best / "seed-100" / "result.json", lambda r: r["splits"]["validation"].update(nll=9)
    )
    found = faults(home)
    assert (f"tuning/tied/{best}/seed-100/result.json", "splits.validation.nll") in found
    assert ("comparison.json", f"tuning.variants[tied].trials[{best}].per_seed[100].nll") in found
    assert ("comparison.json", f"tuning.variants[tied].trials[{best}].nats_per_token") in found
    edit(home / "comparison.json", lambda c: c["tuning"]["variants"][1].update(chosen="another"))
    assert ("comparison.json", "tuning.variants[untied].chosen") in faults(home)


@contextmanager
def configs_read_once() -> Iterator[None]:
    """Inside the block no config changes on disk, and reading each of them fifty times would take seconds."""
    config = RunFolder.config
    known = cache(lambda path: config(RunFolder(path)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "config", lambda folder: known(folder.path))
        yield


def assert_each_change_of_the_tuning_is_found(home: Path) -> None:
    """One number at a time, settings and edges too; one that names a folder leads to none."""
    stored = load_comparison(home)
    assert stored.tuning is not None
    whole = stored.tuning.model_dump(mode="json")
    places = list(leaves(whole))
    for place in places:
        spoiled = copy.deepcopy(whole)
        where = spoiled
        for key in place[:-1]:
            where = where[key]
        where[place[-1]] += 1 if isinstance(where[place[-1]], int) else 1e-3 * where[place[-1]]
        checks = Checks()
        try:
            check_tuning(home, stored, Tuning.model_validate(spoiled), checks)
            assert checks.failed, place
        except ConfigError:
            assert place[-1] == "seed"
    assert len(places) > 20


def test_runs_with_other_settings_than_the_chosen_ones_are_found(tmp_path: Path) -> None:
    """Tuned for 2e-3, say, and trained with 3e-3."""
    runs_dir, draw = tmp_path / "runs", np.random.default_rng(0)
    grid = "tune={grid: {training.learning_rate: [1e-3, 2e-3]}, seeds: [100]}"
    experiment = small_experiment(tmp_path, grid, "seeds=[0, 1]")
    trials = plan_tuning(experiment, runs_dir)
    for trial in trials:
        store_run(trial, draw)
    chosen = choose(experiment, outcomes_of(trials), runs_dir)
    for run in plan(small_experiment(tmp_path, "seeds=[0, 1]", "training.learning_rate=3e-3"), runs_dir):
        store_run(run, draw)
    home = runs_dir / "small"
    planned: dict[str, tuple[int, ...]] = {"tied": (0, 1), "untied": (0, 1)}
    answer(run_folders(home), question_with(chosen, planned), home)
    key = "config.training.learning_rate"
    assert faults(home) == [("comparison.json", f"variants[{name}].{key}") for name in ("tied", "untied")]


def test_a_real_run_that_was_validated_on_the_way_holds(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.evaluate_every=2")
    carry_out(run)
    gather([run.directory.parent.parent])
    whole = verify(run.directory.parent.parent)
    assert (whole.failed, whole.num_runs) == ([], 1)
    assert verify(run.directory).num_numbers > 20
    path = RunFolder(run.directory).vocabulary_file
    with np.load(path) as stored:
        arrays = {name: stored[name].copy() for name in stored}
    arrays["inputs"][7] += 1
    np.savez_compressed(path, **arrays)
    assert faults(run.directory) == [("evaluation/vocabulary.npz", "inputs")]
    os.truncate(path, 100)
    assert faults(run.directory) == [("evaluation/vocabulary.npz", "targets")]
