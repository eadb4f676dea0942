"""What lies in a run's folder: one run, one holder, whole files."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.finished_runs import run_result
from tests.support.small_runs import Heard, small_config, small_run
from tiedlm.config.base import ConfigError
from tiedlm.errors import RunError
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.find import newest_experiment
from tiedlm.run.folder import RunFolder, raw_config, run_folders
from tiedlm.run.result import RunFailure

FAILURE = RunFailure(variant="tied", seed=0, kind="diverged", message="the loss of step 3 is nan", step=3)


def claimed(folder: Path) -> RunFolder:
    run = small_run(folder)
    store = RunFolder(run.directory)
    store.claim(run.config)
    return store


def test_a_folder_that_is_no_run_is_told_with_one_that_is(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    experiment = store.path.parent.parent
    with pytest.raises(ConfigError, match=r"holds no run .*; it holds those of an experiment, as ") as caught:
        RunFolder(experiment).config()
    assert str(store.path) in str(caught.value)
    with pytest.raises(ConfigError, match="no such folder; give a run's, as in"):
        RunFolder(tmp_path / "nothing").config()


def test_a_run_that_failed_before_anything_was_saved_gives_way_to_another(tmp_path: Path) -> None:
    store, other = claimed(tmp_path), small_run(tmp_path, "training.learning_rate=1").config
    store.fail(store.config(), FAILURE)
    store.claim(other)
    assert store.config() == other and store.failure() is None
    store.fail(other, FAILURE)
    (store.checkpoints / "step-2").mkdir(parents=True)
    with pytest.raises(ConfigError, match="--fresh"):
        store.claim(small_run(tmp_path).config)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (["training.learning_rate=1"], "training.learning_rate"),
        (["training.steps=7"], "training.steps"),
        (["model.dropout=0.1"], "model.dropout"),
        (["model.tying.init_std=0.1"], "model.tying.init_std"),
        (["training.micro_batch_size=2"], "training.micro_batch_size"),
        (["evaluation.stride=4"], "evaluation.stride"),
        (["training.steps=7", "data.seq_len=8"], "data.seq_len"),
    ],
)
def test_another_run_is_refused_by_the_first_key_that_differs(tmp_path: Path, settings: list[str], key: str) -> None:
    store = claimed(tmp_path)
    kept = store.config_file.read_bytes()
    for check in (store.check_identity, store.claim):
        with pytest.raises(ConfigError, match="--fresh") as error:
            check(small_run(tmp_path, *settings).config)
        assert [problem.key for problem in error.value.problems] == [key]
    assert store.config_file.read_bytes() == kept


def test_a_complete_run_is_held_against_what_its_figures_were_made_with(tmp_path: Path) -> None:
    store, own = claimed(tmp_path), small_run(tmp_path).config
    assert store.made_with() == own
    store.finish(run_result(config=raw_config(own)))
    store.config_file.write_text("changed: by hand\n")
    assert store.made_with() == own
    store.check_identity(own)
    with pytest.raises(ConfigError, match=r"training\.learning_rate"):
        store.check_identity(small_run(tmp_path, "training.learning_rate=1").config)


@pytest.mark.parametrize(
    "setting",
    [
        "training.evaluate_every=2",
        "training.checkpoint_every=3",
        "training.keep_last=5",
        "training.device=auto",
        "training.num_threads=2",
        "training.num_threads=null",
        "evaluation.batch_size=3",
    ],
)
def test_how_a_run_is_carried_out_strands_nothing(tmp_path: Path, setting: str) -> None:
    claimed(tmp_path).claim(small_run(tmp_path, setting).config)


def test_the_stored_config_is_the_config(tmp_path: Path) -> None:
    settings = ("training.learning_rate=1e-5", "training.warmup=0.1", "model.dropout=0.1", "training.optimizer=sgd")
    path = small_config(tmp_path, "name: small", "name: small  # ē")
    config = pick(load_experiment(path, list(settings)), "untied")
    store = RunFolder(tmp_path / "run")
    store.claim(config)
    assert store.config() == config


def test_a_folder_without_a_run_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no run"):
        RunFolder(tmp_path).config()


@pytest.mark.parametrize("damage", [b"", b'{"schema_version": 1, "vari', b"\xff\xfe", b"[]", b'{"schema_version": 99}'])
def test_a_damaged_result_is_named_with_the_way_out(tmp_path: Path, damage: bytes) -> None:
    store = claimed(tmp_path)
    store.result_file.write_bytes(damage)
    with pytest.raises(RunError, match=r"cannot be read .* once this file is removed") as error:
        store.result()
    assert error.value.kind == "corrupt"
    assert str(store.result_file) in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_result_ends_what_was_a_failure(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    assert (store.result(), store.failure()) == (None, None)
    store.fail(store.config(), FAILURE)
    assert (store.result(), store.failure()) == (None, FAILURE)
    store.finish(run_result())
    assert (store.result(), store.failure()) == (run_result(), None)


def test_a_run_that_is_complete_has_not_failed(tmp_path: Path) -> None:
    """Killed when the result was written already."""
    store = claimed(tmp_path)
    store.finish(run_result())
    store.fail(store.config(), FAILURE)
    assert not store.failure_file.exists()
    assert store.result() == run_result()


def test_a_failure_before_the_run_began_is_kept_with_what_was_tried(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    RunFolder(run.directory).fail(run.config, FAILURE)
    (found,) = run_folders(tmp_path / "runs" / "small")
    assert (found.config(), found.failure()) == (run.config, FAILURE)


def test_clearing_removes_everything_but_the_lock(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    store.finish(run_result())
    (store.checkpoints / "step-3").mkdir(parents=True)
    store.evaluation_file("test").parent.mkdir()
    store.evaluation_file("test").touch()
    for name in ("metrics.jsonl", "data.json", "tokenizer.json", "words.txt"):
        (store.path / name).touch()
    with store.lock():
        store.clear()
        assert {path.name for path in store.path.iterdir()} == {"lock", "lock.json"}


_HOLD = """
import sys, time
from pathlib import Path
from tiedlm.errors import RunError
from tiedlm.run.folder import RunFolder
try:
    with RunFolder(Path(sys.argv[1])).lock():
        print("held", flush=True)
        time.sleep(float(sys.argv[2]))
except RunError as error:
    print(error.kind, error)
"""


def hold(folder: Path, seconds: float) -> "subprocess.Popen[str]":
    """A second process that takes the lock and keeps it for some time."""
    command = [sys.executable, "-c", _HOLD, str(folder), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_second_process_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run").lock(), hold(tmp_path / "run", 0) as other:
        assert other.stdout is not None
        assert other.stdout.read().strip() == f"busy {tmp_path / 'run'} is in use by process {os.getpid()}"
    with hold(tmp_path / "run", 0) as other:
        assert other.stdout is not None
        assert other.stdout.read().strip() == "held", "afterwards it is free"


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    with hold(tmp_path, 60) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=f"process {other.pid}") as error, RunFolder(tmp_path).lock():
            pass
        assert error.value.kind == "busy"
        other.send_signal(signal.SIGKILL)
    with RunFolder(tmp_path).lock():
        assert str(os.getpid()) in (tmp_path / "lock.json").read_text()


_ORPHAN = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
print(child.stdout.readline(), flush=True)
sys.stdin.read()
"""


def test_a_holder_whose_parent_was_killed_is_waited_for_and_one_whose_parent_lives_is_not(tmp_path: Path) -> None:
    """The first is about to save and end."""
    command = [sys.executable, "-c", _ORPHAN, _HOLD, str(tmp_path), "3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "held\n"
        with pytest.raises(RunError, match="is in use by process"), RunFolder(tmp_path).lock():
            pass
        parent.kill()
        parent.wait()
        heard = Heard()
        with RunFolder(tmp_path).lock(heard):
            assert str(os.getpid()) in (tmp_path / "lock.json").read_text()
    assert [line for line in heard.lines if line.startswith("waiting for process") and "parent is gone" in line]


def test_who_takes_the_folder_clears_away_what_a_killed_process_had_begun_to_write(tmp_path: Path) -> None:
    store = claimed(tmp_path)
    store.evaluation_file("test").parent.mkdir()
    for path in (store.result_file, store.evaluation_file("test")):
        (path.parent / f".{path.name}.x1y2.part").write_bytes(b"half")
    with store.lock():
        assert not list(store.path.rglob("*.part"))


def test_a_folder_that_cannot_be_made_is_a_matter_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(RunError) as error, RunFolder(tmp_path / "runs" / "small").lock():
        pass
    assert error.value.kind == "disk"
    assert str(tmp_path / "runs" / "small") in str(error.value)


def test_runs_are_found_by_variant_and_seed_number(tmp_path: Path) -> None:
    for variant, seed in (("untied", 0), ("tied", 10), ("tied", 9)):
        run = small_run(tmp_path, variant=variant, seed=seed)
        RunFolder(run.directory).claim(run.config)
    (tmp_path / "runs" / "small" / "tied" / "seed-11").mkdir()  # no run
    found = ["/".join(folder.path.parts[-2:]) for folder in run_folders(tmp_path / "runs" / "small")]
    assert found == ["tied/seed-9", "tied/seed-10", "untied/seed-0"]


def test_the_newest_experiment_is_the_one_whose_runs_were_touched_last(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert newest_experiment(runs) is None
    for name, age in (("b-old", 300), ("a-new", 100), ("c-oldest", 900)):
        run = small_run(tmp_path)
        store = RunFolder(runs / name / "tied" / "seed-0")
        store.claim(run.config)
        os.utime(store.config_file, (1e9 - age, 1e9 - age))
    (runs / "notes.txt").write_text("newer than all of them")
    (runs / "empty").mkdir()
    assert newest_experiment(runs) == runs / "a-new"
    RunFolder(runs / "c-oldest" / "tied" / "seed-0").finish(run_result())
    assert newest_experiment(runs) == runs / "c-oldest", "a result counts as a touch"
