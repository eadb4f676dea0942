"""Talk goes to stderr: a bar where somebody watches, a bounded number of plain lines where nobody does."""

import io
from itertools import pairwise

import pytest
from rich.console import Console

from tests.support.clock import Clock
from tiedlm.progress_bar import Bar
from tiedlm.talk import SILENT, Talk
from tiedlm.time_left import Pace, RunsAhead


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


def times_of_lines(seconds: float, steps: int, capsys: pytest.CaptureFixture[str]) -> list[float]:
    """When the lines of a piped task of so many seconds and steps come, its beginning and its end among them."""
    clock, times = Clock(), [0.0]
    with Talk(clock=clock).progress("tied seed 0", steps) as update:
        for step in range(1, steps + 1):
            clock.now = seconds * step / steps
            update(step, f"loss {step / 1000:.3f}")
            out, err = capsys.readouterr()
            assert (out, err.count("\x1b"), err.count("\r")) == ("", 0, 0)
            times += [clock.now] * err.count("\n")
    return [*times, seconds]


@pytest.mark.parametrize("steps", [1, 7, 200, 10_000])
@pytest.mark.parametrize("seconds", [0.1, 20, 300])
def test_progress_in_a_pipe_is_few_plain_lines(seconds: float, steps: int, capsys: pytest.CaptureFixture[str]) -> None:
    """C07: bounded, however fast the steps come."""
    times = times_of_lines(seconds, steps, capsys)
    assert len(times) - 2 <= min(10, seconds / 5) + seconds / 60
    assert (len(times) > 2) == (seconds >= 5)


@pytest.mark.parametrize("seconds", [900, 6 * 3600, 5 * 86_400])
def test_a_long_run_in_a_pipe_is_never_silent_for_much_more_than_a_minute(
    seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = int(seconds / 7)
    times = times_of_lines(seconds, steps, capsys)
    silences = [after - before for before, after in pairwise(times)]
    assert max(silences) <= 60 + 2 * 7, "a line is due with the first step after a minute"
    assert len(times) <= seconds / 60 + 12


def test_what_becomes_known_is_a_line_in_a_pipe_unless_another_one_was_just_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As the scores of validations, each second of a run, or each minute of it."""
    for every, expected in ((1.0, 20), (60.0, 100)):
        clock = Clock()
        talk = Talk("[1/4] ", clock=clock)
        for number in range(100):
            clock.now += every
            talk.now(f"validation {number}")
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == expected
        assert lines[-1] == "[1/4] validation 99"


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
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Steps 171 to 200 of 300 in 29 s: the 100 that are left take 100 s, not the 15 s of a start from 0."""
    clock = Clock()
    with Talk(patience=29, clock=clock).progress("resumed", 300) as update:
        for step in range(171, 201):
            update(step, "")
            clock.now += 1
    assert capsys.readouterr().err == "resumed   67%  00:29 gone, 01:40 left\n"


def shown(bar: Bar, width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(bar)
    return stream.getvalue().splitlines()


WORDS = ("loss 5.123", "validation 5.421", "13,247 tokens/s")


def bar_at(done: float, label: str, ahead: int = 0) -> Bar:
    """50 s after its start at 0 of 200."""
    clock = Clock()
    bar = Bar(label, Pace(200, clock), RunsAhead(ahead, clock=clock))
    bar.reach(0, "")
    clock.now = 50
    bar.reach(done, "  ".join(WORDS))
    return bar


@pytest.mark.parametrize("width", [20, 30, 40, 50, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("label", ["[3/10] untied seed 1", "[12/15] untied+redrawn seed 0"])
def test_no_word_of_a_bar_is_cut_at_any_width(label: str, width: int) -> None:
    lines = shown(bar_at(50, label, ahead=7), width)
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split())
    for words in (label, "25%", *WORDS, "left in all"):
        assert words in told


def test_a_bar_takes_two_lines_of_a_usual_terminal_and_of_a_narrow_one() -> None:
    for width, ahead in ((80, 7), (50, 0)):
        first, second = shown(bar_at(50, "[3/10] untied seed 1", ahead), width)
        assert "━" in first and "left" in first
        assert second == "  ".join(WORDS)
    assert len(shown(bar_at(50, "[3/10] untied seed 1", 7), 120)) == 1


def test_the_time_left_on_a_bar_counts_what_was_done_since_it_began() -> None:
    clock = Clock()
    bar = Bar("resumed", Pace(300, clock))
    bar.reach(170, "")
    assert "--:-- left" in shown(bar, 80)[0]
    clock.now = 30
    bar.reach(200, "")
    assert "01:40 left" in shown(bar, 80)[0], "30 steps in 30 s, and 100 to come"


def test_a_bar_over_nothing_is_full() -> None:
    (line,) = shown(Bar("nothing", Pace(0)), 80)
    assert "100%" in line


def test_what_is_being_done_stands_in_a_terminal_until_the_next_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    talk = Talk("[1/4] ")
    talk.now("tied seed 0: loading torch")
    talk.now("tied seed 0: building the model, which is large")
    with talk.progress("tied seed 0", 2) as update:
        talk.now("not beside a bar")
        update(1, "")
    talk.now("scoring")
    Talk().say("done, says another")
    parts = terminal.getvalue().split("\r\x1b[K")
    assert parts[1] == "[1/4] tied seed 0: loading to", "one column is left free: a full line would wrap"
    assert parts[2] == "[1/4] tied seed 0: building t"
    assert parts[-2:] == ["[1/4] scoring ...", "done, says another\n"]
    assert "not beside a bar" not in terminal.getvalue()


def test_a_terminal_that_takes_nothing_back_gets_no_words_that_would_have_to_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    Talk().now("loading torch")
    Talk().clear()
    assert terminal.getvalue() == ""


def test_a_sentence_is_broken_between_words_in_a_terminal_and_one_line_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = "2 of 5 seeds: tied - untied = +0.126 [+0.098, +0.153] nats per token on test: tied is worse, so far."
    Talk().say_wrapped(sentence)
    assert capsys.readouterr().err == f"{sentence}\n"
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    Talk().say_wrapped(sentence)
    lines = terminal.getvalue().splitlines()
    assert (" ".join(lines), len(lines), max(map(len, lines)) < 80) == (sentence, 2, True)
