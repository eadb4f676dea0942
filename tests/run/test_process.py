"""The process of a run: signals reach it, its end is told, and it ends with its parent."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.small_runs import (
    LONG,
    assert_same_outcome,
    carry_out,
    environment,
    has_trained,
    holder,
    meanwhile,
    metrics,
    newest_step,
    shared_cache,
    small_run,
    wait_for,
)
from tiedlm.config.base import ConfigError
from tiedlm.errors import Interrupted, RunError
from tiedlm.run.folder import RunFolder, raw_config
from tiedlm.run.layout import Run
from tiedlm.run.process import run_in_child
from tiedlm.talk import SILENT
from tiedlm.training.checkpoint import load_newest

LENGTH = 150
L03 = (f"training.steps={LENGTH}", "model.dropout=0.1", "training.micro_batch_size=2")
SLOW = "training.checkpoint_every=1"
"""Every step waits for the disk, so that a signal meets the run under way; how often it is saved changes nothing."""


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run without a stop."""
    run = small_run(tmp_path_factory.mktemp("straight"), *L03)
    carry_out(run)
    return run


def in_child(run: Run) -> None:
    run_in_child(run, cache_dir=shared_cache(), fresh=False, prefix="", siblings=[])


def ended(process: int) -> bool:
    """Gone, or waiting only for somebody to ask."""
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def signal_this_process_after(run: Run, num_steps: int, number: signal.Signals) -> None:
    wait_for(lambda: has_trained(run, num_steps))
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_l12_a_signal_is_handed_on_and_the_run_goes_on_later_as_if_nothing_had_been(
    straight: Run, tmp_path: Path, number: signal.Signals
) -> None:
    """Another process begins it, this one ends it."""
    run = small_run(tmp_path, *L03, SLOW)
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with (
        meanwhile(lambda: signal_this_process_after(run, 7, number)),
        pytest.raises(Interrupted, match="state saved") as stopped,
    ):
        in_child(run)
    assert stopped.value.exit_code == 128 + number
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers
    saved = newest_step(run)
    assert 7 <= saved == len(metrics(run)) < LENGTH
    found = load_newest(RunFolder(run.directory).checkpoints, SILENT)
    assert found is not None
    assert found.step == saved
    assert RunFolder(run.directory).failure() is None

    carry_out(small_run(tmp_path, *L03))
    assert_same_outcome(straight, run)


def imports_torch() -> bool:
    """Whether a child of this process has got as far as that."""
    tasks = Path("/proc/self/task").glob("*/children")
    children = [Path("/proc", child) for task in tasks for child in task.read_text().split()]
    workers = [child for child in children if b"tiedlm.run.worker" in (child / "cmdline").read_bytes()]
    return any("libtorch" in (worker / "maps").read_text() for worker in workers)


def test_a_fault_of_the_program_is_told_in_a_line_and_kept_with_its_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = small_run(tmp_path, "training.steps=1")
    folder = RunFolder(run.directory)
    run.directory.mkdir(parents=True)
    folder.result_file.symlink_to(folder.result_file.name)  # a loop, which nobody writes to on purpose
    with pytest.raises(RunError, match=r"unexpected error, .*--debug shows the traceback") as failed:
        in_child(run)
    assert (failed.value.kind, len(str(failed.value).splitlines())) == ("unexpected", 1)
    assert 'File "' in str(failed.value.__cause__)
    assert "Traceback" not in capfd.readouterr().err
    failure = folder.failure()
    assert failure is not None and failure.kind == "unexpected"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_training_begins_stops_everything_and_is_no_failure_of_the_run(
    tmp_path: Path, number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    """As Ctrl-C in the first second."""
    run, over = small_run(tmp_path, LONG), threading.Event()

    def act() -> None:
        wait_for(imports_torch)
        while not over.is_set():
            os.kill(os.getpid(), number)
            over.wait(5)

    with meanwhile(act), pytest.raises(Interrupted) as stopped:
        try:
            in_child(run)
        finally:
            over.set()
    assert stopped.value.exit_code == 128 + number
    assert RunFolder(run.directory).failure() is None
    assert "Traceback" not in capfd.readouterr().err


def test_m03_a_run_that_is_killed_is_told_and_kept_as_a_failure_and_can_go_on(tmp_path: Path) -> None:
    length = f"training.steps={LENGTH}"
    run = small_run(tmp_path, length, SLOW)

    def act() -> None:
        wait_for(lambda: has_trained(run, 5))
        os.kill(holder(run), signal.SIGKILL)

    with meanwhile(act), pytest.raises(RunError, match="SIGKILL") as failed:
        in_child(run)
    assert failed.value.kind == "killed"
    assert "memory" in str(failed.value), "the likely cause"
    stored = RunFolder(run.directory).failure()
    assert stored is not None
    assert (stored.kind, stored.message) == ("killed", str(failed.value))
    assert carry_out(small_run(tmp_path, length)).steps == LENGTH
    assert [line["step"] for line in metrics(run)] == list(range(1, LENGTH + 1))


_PARENT = """
import sys
from pathlib import Path
from tests.support.small_runs import shared_cache, small_run
from tiedlm.run.process import run_in_child
run = small_run(Path(sys.argv[1]), *sys.argv[2:])
run_in_child(run, cache_dir=shared_cache(), fresh=False, prefix="", siblings=[])
"""


def test_ctrl_c_in_a_terminal_reaches_the_run_once(tmp_path: Path) -> None:
    """It goes to every process of the group; a second one would break the run off before it is saved."""
    run = small_run(tmp_path, LONG)
    command = [sys.executable, "-c", _PARENT, str(tmp_path), LONG]
    with subprocess.Popen(
        command, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        wait_for(lambda: has_trained(run, 5))
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.stderr is not None
        assert "state saved" in parent.stderr.read()
    assert newest_step(run) == len(metrics(run)) >= 5


def test_a_run_whose_parent_is_killed_saves_its_state_and_ends(tmp_path: Path) -> None:
    run = small_run(tmp_path, LONG)
    command = [sys.executable, "-c", _PARENT, str(tmp_path), LONG]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE) as parent:
        wait_for(lambda: has_trained(run, 5))
        worker = holder(run)
        assert worker != parent.pid
        assert parent.stderr is not None
        parent.stderr.close()  # whoever read the talk is gone too
        parent.send_signal(signal.SIGKILL)
    wait_for(lambda: ended(worker), seconds=20)
    found = load_newest(RunFolder(run.directory).checkpoints, SILENT)
    assert found is not None
    assert found.step == len(metrics(run)) >= 5
    with RunFolder(run.directory).lock():
        pass


@pytest.mark.parametrize("said", ["", '{"run": {"con'])
def test_a_worker_whose_parent_was_killed_before_it_said_what_to_do_ends_without_a_word(said: str) -> None:
    command = [sys.executable, "-P", "-m", "tiedlm.run.worker"]
    done = subprocess.run(command, input=said, capture_output=True, text=True, cwd=Path(__file__).parent.parent.parent)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_worker_that_nobody_waits_for_any_more_ends_without_a_traceback(tmp_path: Path) -> None:
    run = small_run(tmp_path, "model.vocab_size=300")
    described = {"config": raw_config(run.config), "runs_dir": str(run.runs_dir)}
    options = {"cache_dir": str(shared_cache()), "fresh": False, "prefix": ""}
    request = {"task": "run", "run": described, "siblings": [], **options}
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-P", "-m", "tiedlm.run.worker"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment()
    ) as worker:
        os.close(writer)
        assert worker.stdin is not None and worker.stderr is not None
        worker.stdin.write(json.dumps(request) + "\n")
        worker.stdin.flush()
        said = worker.stderr.read()
    assert worker.returncode == 2
    assert "Error" not in said and "Exception" not in said, said


def test_what_the_run_raises_is_raised_here(tmp_path: Path) -> None:
    """A request that is wrong, as what it is and with all its words; of other errors test_worker.py holds the same."""
    with pytest.raises(ConfigError, match="300") as error:
        in_child(small_run(tmp_path, "model.vocab_size=300"))
    assert [problem.key for problem in error.value.problems] == ["model.vocab_size"]


def test_files_where_the_user_stands_are_no_modules_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run(tmp_path)
    for name in ("torch", "numpy", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the user')")
    monkeypatch.chdir(tmp_path)
    in_child(run)
    result = RunFolder(run.directory).result()
    assert result is not None
    other = small_run(tmp_path, runs="others")
    assert carry_out(other).splits == result.splits, "in a process of its own or in this one"
    assert_same_outcome(run, other)
