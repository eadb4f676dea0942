"""Faults of the machine and of the hour, each caused for real: what the command says, does and leaves behind."""

import ctypes
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import finish, start, write_tiny
from tests.support.small_runs import wait_for
from tiedlm.config.base import parse
from tiedlm.data.config import SPLITS, DataConfig
from tiedlm.data.prepare import prepare

ROOT = Path(__file__).parent.parent.parent
LONG = ("--set", "training.steps=100_000")

WATCH = """
import os, sys
log = os.open(os.environ["WATCH_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT

def note(event, arguments):
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & WRITES):
        return
    if event in ("open", "os.mkdir", "os.rename", "socket.connect", "socket.getaddrinfo"):
        os.write(log, f"{event} {arguments[1 if event.startswith(('os.rename', 'socket.c')) else 0]!r}\\n".encode())

sys.addaudithook(note)
"""
"""Imported by every Python process at its start: writes down what is opened to write, made, renamed or connected to."""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder in which a comparison of three steps ran, with a home and a TMPDIR of its own, and all it touched."""
    folder = tmp_path_factory.mktemp("watched")
    for name in ("watch", "home", "tmp", "work"):
        (folder / name).mkdir()
    (folder / "watch" / "sitecustomize.py").write_text(WATCH)
    config = write_tiny(folder / "work")
    config.write_text(config.read_text().replace("  untied: {model: {tying: {type: untied}}}\n", ""))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TIEDLM", "XDG", "HF_", "TORCH"))}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())", "compare", str(config)],
        capture_output=True,
        text=True,
        cwd=folder / "work",
        umask=0o022,
        env={
            **kept,
            "PYTHONPATH": os.pathsep.join([str(folder / "watch"), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "WATCH_LOG": str(folder / "log"),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        },
    )
    assert done.returncode == 0, done.stderr
    return folder, (folder / "log").read_text().splitlines()


def test_a_comparison_writes_below_its_runs_and_the_cache_and_nowhere_else(watched: tuple[Path, list[str]]) -> None:
    folder, touched = watched
    assert {path.name for path in (folder / "work").iterdir()} == {"runs", "text.txt", "tiny.yaml"}
    assert (folder / "work" / "runs" / "tiny" / "comparison.json").is_file()
    assert {path.name for path in (folder / "home").iterdir()} == {".cache"}
    assert {path.name for path in (folder / "home" / ".cache").iterdir()} == {"tiedlm"}
    assert [path for path in (folder / "tmp").rglob("*") if not path.is_dir()] == [], "torch makes an empty folder"
    allowed = (f"{folder}/work/runs", f"{folder}/home/.cache", f"{folder}/tmp/", "runs", "/dev/null", "/proc/self/")
    places = [re.sub(r"^\S+ b?'?([^']*)'?$", r"\1", line) for line in touched if not line.startswith("socket.")]
    assert len(places) > 20, "what is written is seen"
    assert [place for place in places if not place.startswith(allowed) and not place.isdigit()] == []


def test_a_comparison_of_text_that_is_here_needs_no_network(watched: tuple[Path, list[str]]) -> None:
    assert [line for line in watched[1] if line.startswith("socket.")] == []


def test_files_have_the_permissions_that_the_user_gives_to_files(watched: tuple[Path, list[str]]) -> None:
    folder, _ = watched
    written = [path for place in ("work/runs", "home/.cache") for path in (folder / place).rglob("*")]
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in written if path.name != "lock"}
    assert {mode for is_dir, mode in modes if is_dir} == {0o755}
    assert {mode for is_dir, mode in modes if not is_dir} == {0o644}


def without_privileges() -> None:
    """Let permissions count for root too: from the next program on it may not override them."""
    if os.geteuid() == 0:
        drop_from_bounding_set, override_permissions = 24, 1
        assert ctypes.CDLL(None, use_errno=True).prctl(drop_from_bounding_set, override_permissions, 0, 0, 0) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="how root loses its privileges is a matter of the system")
@pytest.mark.parametrize("name", ["runs", "cache"])
def test_a_folder_that_is_read_only_is_named_and_nothing_is_trained(tmp_path: Path, name: str) -> None:
    config = write_tiny(tmp_path)
    (tmp_path / "locked").mkdir(mode=0o555)
    places = {"runs": tmp_path / "runs", "cache": tmp_path / "cache", name: tmp_path / "locked" / name}
    words = ["compare", str(config), "--json", "--runs-dir", str(places["runs"]), "--cache-dir", str(places["cache"])]
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=without_privileges,
    )
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["kind"]) == (1, "disk"), done.stderr
    assert str(tmp_path / "locked") in error["message"]
    assert "Permission denied" in error["message"]
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("metrics.jsonl"))


@dataclass
class Beside:
    """A long comparison, interrupted at last, and a second one of the same while it trained."""

    run: Path
    holder: int
    first: tuple[int, str, str]
    second: tuple[int, str, str]


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Beside:
    """Started one after the other; the first goes on while the second is refused."""
    folder = tmp_path_factory.mktemp("beside")
    config, run = write_tiny(folder), folder / "runs" / "tiny" / "tied" / "seed-0"
    first = start("compare", config, *LONG, cwd=folder)
    try:
        wait_for(lambda: (run / "metrics.jsonl").is_file())
        holder = json.loads((run / "lock.json").read_text())["process"]
        second = finish(start("compare", config, *LONG, "--json", cwd=folder))
        lines = (run / "metrics.jsonl").read_bytes().count(b"\n")
        wait_for(lambda: (run / "metrics.jsonl").read_bytes().count(b"\n") > lines + 5)
    finally:
        first.send_signal(signal.SIGINT)
        outcome = finish(first)
    return Beside(run, holder, outcome, second)


def test_a_second_comparison_of_the_same_is_told_who_is_at_it_and_leaves_it_alone(beside: Beside) -> None:
    code, out, err = beside.second
    error = json.loads(out)["error"]
    assert (code, error["kind"]) == (1, "busy"), err
    assert error["message"] == f"runs/tiny/tied/seed-0 is in use by process {beside.holder}"
    assert not (beside.run / "failure.json").exists()
    steps = [json.loads(line)["step"] for line in (beside.run / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(1, len(steps) + 1)), "one process wrote it"


def test_an_interrupt_ends_with_130_and_a_word_on_the_state(beside: Beside) -> None:
    code, out, err = beside.first
    assert (code, out) == (130, "")
    assert "state saved" in err
    assert "Traceback" not in err


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the script looks up processes in /proc")
def test_killed_again_and_again_a_comparison_comes_out_as_if_nothing_had_been() -> None:
    """Few kills of one short run; scripts/kill_test has fifty, of two."""
    asked = ["--kills", "2", "--steps", "20", "--variants", "tied", "--seed", "2"]
    command = [sys.executable, str(ROOT / "scripts" / "kill_test.py"), *asked]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 kills" in done.stdout
    assert "are those of the undisturbed comparison" in done.stdout


def texts(folder: Path, content: bytes) -> dict[str, Any]:
    """The same text for each split, but for blank lines: the test split has it as it is."""
    paths = {split: folder / f"{split}.txt" for split in SPLITS}
    for num_blank, path in enumerate(reversed(paths.values())):
        path.write_bytes(content + b"\n" * num_blank)
    return {"type": "text", **{split: str(path) for split, path in paths.items()}}


TOKENIZERS: list[dict[str, Any]] = [{"type": "byte"}, {"type": "word"}, {"type": "bpe", "vocab_size": 300}]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda config: str(config["type"]))
def test_nul_bytes_are_characters_like_others(tmp_path: Path, tokenizer: dict[str, Any]) -> None:
    text = "one\0two \0 three\0\nfour \0\0 five\n"
    config = parse(DataConfig, {"corpus": texts(tmp_path, text.encode()), "tokenizer": tokenizer, "seq_len": 2})
    data = prepare(config, tmp_path / "cache")
    split = data.split("test")
    assert (split.bytes, split.rows) == (len(text), 2)
    decoded = data.decode(split.ids[1:].tolist())
    assert decoded.split() == text.split()


PEAK_OF_PREPARING = """
import json, sys
from pathlib import Path
import tokenizers
from tiedlm.config.base import parse
from tiedlm.data.config import DataConfig
from tiedlm.data.prepare import prepare
peak = lambda: int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10
before = peak()
data = prepare(parse(DataConfig, json.loads(sys.argv[1])), Path(sys.argv[2]))
print(peak() - before, data.split("train").num_tokens)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak resident size is read from /proc")
def test_a_single_long_line_is_read_in_memory_that_does_not_grow_with_it(tmp_path: Path) -> None:
    """The ratio of two lengths: a line of 50 MB would need what a line of 5 MB does, the line itself aside."""
    num_words = 30_000
    words = " ".join(f"word{number * number % 997}" for number in range(num_words))
    growth = {}
    for times in (1, 4):
        folder = tmp_path / str(times)
        folder.mkdir()
        corpus = texts(folder, b"a small line\n")
        Path(corpus["train"]).write_text(" ".join([words] * times))
        config = {"corpus": corpus, "tokenizer": {"type": "bpe", "vocab_size": 400}, "seq_len": 8}
        command = [sys.executable, "-c", PEAK_OF_PREPARING, json.dumps(config), str(folder / "cache")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        growth[times], num_tokens = map(int, done.stdout.split())
        assert num_tokens > num_words * times
    added = 3 * len(words)
    assert growth[4] - growth[1] < 50 * added, "bytes a character; encoded as a whole it took 170"


@pytest.fixture
def limited() -> Iterator[None]:
    """Nothing here needs more: a test that wrote without end would be stopped, not the machine."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("limited")
def test_a_config_of_a_hundred_megabytes_is_refused_at_once(tmp_path: Path) -> None:
    """As large as it looks; the file is nearly all hole, which takes no room."""
    path = tmp_path / "huge.yaml"
    path.write_text("name: huge\n")
    os.truncate(path, 49_000_000)
    code, out, err = finish(start("compare", path, "--json", cwd=tmp_path))
    assert code == 2
    assert "larger than" in json.loads(out)["error"]["message"]
    assert len(err.splitlines()) == 1
