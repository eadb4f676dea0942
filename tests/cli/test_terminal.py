"""A comparison in a terminal, in a process of its own: what is said from its start to its end, and what stays."""

import os
import pty
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.command_line import ROOT, forecast_memory, write_tiny

CLEAR = "\r\x1b[K"


@contextmanager
def terminal(columns: int) -> Iterator[tuple[int, int]]:
    """Our end of a terminal of 24 lines, and the program's."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def read_all(terminal_end: int) -> str:
    """What was written until the other end was closed."""
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(terminal_end, 65_536)
        except OSError:  # how Linux says that nobody holds the other end any more
            part = b""
        if not part:
            return b"".join(parts).decode()
        parts.append(part)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The stderr of a comparison of one run each, 50 columns wide."""
    folder = tmp_path_factory.mktemp("terminal")
    config = write_tiny(folder)
    config.write_text(config.read_text().replace("steps: 3", "steps: 60, evaluate_every: 20"))
    forecast_memory("compare", config)
    command = [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())", "compare", str(config)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with (
        terminal(50) as (ours, theirs),
        subprocess.Popen(
            command, cwd=folder, env=environment, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs
        ) as process,
    ):
        os.close(theirs)
        said = read_all(ours)
    assert process.returncode == 0, said
    return said


def test_from_the_start_of_a_run_to_its_end_there_is_a_word_for_what_it_does(seen: str) -> None:
    places = [
        seen.find(words)
        for words in (
            "[1/2] tied seed 0: starting ...",
            "[1/2] tied seed 0: loading torch ...",
            "[1/2] tied seed 0: building the model ...",
            "[1/2] tied seed 0: scoring ...",
            "[1/2] tied seed 0: test perplexity ",
            "[2/2] untied seed 0: starting ...",
        )
    ]
    assert -1 not in places and places == sorted(places)


def test_while_it_trains_a_bar_tells_loss_validation_and_the_time_left(seen: str) -> None:
    assert "left in all" in seen and "loss " in seen
    assert "validation " in seen and "(tied " in seen


def test_what_stays_is_whole_lines_that_no_passing_words_stand_in(seen: str) -> None:
    """Each line that ends was begun by clearing what stood there."""
    staying = [line.rpartition(CLEAR)[2] for line in seen.replace("\r\n", "\n").split("\n")]
    ended = [line for line in staying if "test perplexity" in line]
    assert [line.split(":")[0] for line in ended] == ["[1/2] tied seed 0", "[2/2] untied seed 0"]
    assert not any("..." in line for line in staying)
    assert staying[-1] == "" and staying[-2] == ended[-1], "stderr ends with the last run; the answer is on stdout"
