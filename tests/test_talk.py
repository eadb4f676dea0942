"""Talk goes to stderr: a bar where somebody watches, a bounded number of plain lines where nobody does."""

import io

import pytest
from rich.console import Console

from tiedlm.progress_bar import Bar
from tiedlm.talk import SILENT, Talk


class Terminal(io.StringIO):
    """A stderr that somebody watches."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def follow(talk: Talk, total: int = 1000) -> None:
    with talk.progress("tied seed 0", total) as update:
        for done in range(1, total + 1):
            update(done, f"loss {done / 1000:.3f}")


def test_what_is_said_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    Talk("[1/4] ").say("reading")
    assert capsys.readouterr() == ("", "[1/4] reading\n")


@pytest.mark.parametrize("total", [1, 7, 200, 10_000])
def test_progress_in_a_pipe_is_few_plain_lines(total: int, capsys: pytest.CaptureFixture[str]) -> None:
    follow(Talk(patience=0), total)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert 1 <= len(lines) <= 11
    assert "100%" in lines[-1]
    assert "\x1b" not in err
    assert "\r" not in err


def test_a_short_task_in_a_pipe_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    follow(Talk(patience=60))
    assert capsys.readouterr() == ("", "")


def test_progress_over_nothing_does_not_divide_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    with Talk().progress("nothing", 0) as update:
        update(0, "")
    assert capsys.readouterr().out == ""


def test_progress_on_a_terminal_is_a_bar_that_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    follow(Talk(), 50)
    assert "loss 0.050" in terminal.getvalue()
    assert "[" not in terminal.getvalue().replace("\x1b[", ""), "the label is no markup"


def test_a_label_is_never_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Talk().progress("[red]tied[/red]", 2) as update:
        update(1, "[bold]x")
    assert "[red]tied[/red]" in terminal.getvalue()
    assert "[bold]x" in terminal.getvalue()


def test_silence_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    SILENT.say("reading")
    follow(SILENT)
    assert capsys.readouterr() == ("", "")


def test_the_time_left_of_a_task_that_goes_on_counts_what_was_done_since(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps 171 to 200 of 300 in 30 s: the 100 that are left take 103 s, not the 15 s of a start from 0."""
    clock = iter([0.0, *(float(second) for second in range(1, 31))])
    monkeypatch.setattr("tiedlm.talk.time.monotonic", lambda: next(clock))
    with Talk(patience=20).progress("resumed", 300) as update:
        for step in range(171, 201):
            update(step, "")
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "left" in line]
    share, first, elapsed = int(line.split()[1].rstrip("%")) / 100, 171 / 300, float(line.split()[-5])
    assert float(line.split()[-3]) == pytest.approx(elapsed * (1 - share) / (share - first), rel=0.1)


def shown(bar: Bar, width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(bar)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 100, 120])
def test_no_word_of_a_bar_is_cut_at_any_width(width: int) -> None:
    bar = Bar("[12/15] untied+redrawn seed 0", 200)
    bar.reach(0, "")
    bar.reach(50, "loss 5.1234  lr 2.0e-03  13,247 tokens/s")
    lines = shown(bar, width)
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split())
    for words in ("[12/15] untied+redrawn seed 0", "25%", "loss 5.1234", "lr 2.0e-03", "13,247 tokens/s", "left"):
        assert words in told
    assert ("━" in told) == (width >= 100), "the bar itself is what is left out first"
    assert len(lines) == 1 or width < 100


def test_the_time_left_on_a_bar_counts_what_was_done_since_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 30.0])
    monkeypatch.setattr("tiedlm.progress_bar.time.monotonic", lambda: next(clock))
    bar = Bar("resumed", 300)
    bar.reach(170, "")
    assert bar.time_left() == "--:--"
    bar.reach(200, "")
    assert bar.time_left() == "01:40", "30 steps in 30 s, and 100 to come"


def test_a_bar_over_nothing_is_full() -> None:
    (line,) = shown(Bar("nothing", 0), 80)
    assert "100%" in line
