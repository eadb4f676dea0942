"""The terminal writer: nothing cut, nothing taken for markup, ASCII where the output is not UTF-8."""

import io

import pytest
from rich.console import Console

from tiedlm.report.figures.table import Row, Table
from tiedlm.report.formats.terminal_writer import TerminalWriter

NUMBERS = ("1,498,482,688", "-262,668,288 (-17.5 %)", "55.08 ± 0.56")


def table(num_names: int) -> Table:
    names = tuple(f"variant-{index}" for index in range(num_names))
    return Table(names, tuple(Row.of(f"figure {number}", [number] * num_names) for number in NUMBERS))


def printed(write: str | Table, width: int, encoding: str = "utf-8") -> str:
    """What is printed to a stream of that encoding."""
    data = io.BytesIO()
    with io.TextIOWrapper(data, encoding=encoding, newline="\n") as stream:
        writer = TerminalWriter(Console(file=stream, width=width))
        writer.paragraph(write) if isinstance(write, str) else writer.table(write)
        stream.flush()
        return data.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [20, 40, 80, 120])
@pytest.mark.parametrize("num_names", [1, 2, 9])
def test_every_number_stands_whole_on_one_line(width: int, num_names: int) -> None:
    text = printed(table(num_names), width)
    for number in NUMBERS:
        assert sum(line.count(number) for line in text.splitlines()) >= num_names or len(number) > width - 6
        assert all(part in text for part in number.split(" ("))
    assert "…" not in text
    assert "\x1b" not in text


def test_a_table_that_fits_is_a_table_and_one_that_does_not_is_blocks() -> None:
    wide = printed(table(2), 80)
    assert any("variant-0" in line and "variant-1" in line for line in wide.splitlines())
    needed = max(map(len, wide.splitlines()))
    exact, narrow = printed(table(2), needed), printed(table(2), needed - 1)
    assert exact == wide
    assert not any("variant-0" in line and "variant-1" in line for line in narrow.splitlines())
    assert max(map(len, narrow.splitlines())) < needed


def test_names_may_stand_as_lines_of_a_table() -> None:
    lines = printed(Table(("one", "two"), (Row.of("size", ["1", "2"]),), names_as="lines"), 80).splitlines()
    assert lines[-2].split() == ["one", "1"]
    assert lines[-1].split() == ["two", "2"]


def test_lines_too_long_are_parted_and_each_part_has_its_names() -> None:
    rows = tuple(Row.of(f"figure {index}", [f"{index},000,000", f"{index}"]) for index in range(6))
    text = printed(Table(("one", "two"), rows, names_as="lines"), 40)
    assert [line.split()[1:] for line in text.splitlines() if line.startswith("one")] == [
        ["0,000,000", "1,000,000", "2,000,000"],
        ["3,000,000", "4,000,000", "5,000,000"],
    ]
    assert max(map(len, text.splitlines())) <= 40


def test_prose_is_wrapped_between_words_and_keeps_numbers_with_their_unit() -> None:
    for width in range(12, 60):
        text = printed("the interval is -0.0349 to -0.0275 nats, 95 % of them, and 1,177.4 MiB ± 0.2", width)
        for whole in ("-0.0349", "-0.0275", "95 %", "1,177.4 MiB ± 0.2"):
            assert any(whole in line for line in text.splitlines())


def test_a_word_longer_than_the_line_is_not_broken() -> None:
    assert "123,456,789,012,345" in printed("of 123,456,789,012,345 tokens", 12).splitlines()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_output_that_is_not_utf8_gets_ascii(encoding: str) -> None:
    for write in (table(2), table(9), "5 ± 1 – 3 × 2 − 1 … naïve ē"):
        assert printed(write, 80, encoding).isascii()
    assert "5 +/- 1 - 3 x 2 - 1 ... na\\xefve \\u0113" in printed("5 ± 1 – 3 × 2 − 1 … naïve ē", 80, encoding)


def test_names_are_never_markup_and_cannot_steer_the_terminal() -> None:
    name = "[bold]x[/bold] :smile: \x1b[31mred\x07"
    shown = "[bold]x[/bold] :smile: ?[31mred?"
    hostile = Table((name, name), (Row.of(name, [name, name]),))
    for write in (name, hostile):
        for width in (40, 200):
            text = printed(write, width)
            assert "\x1b" not in text
            assert "\x07" not in text
            assert shown in text


def test_without_colour_no_colour_code_is_written() -> None:
    stream = io.StringIO()
    writer = TerminalWriter(Console(file=stream, width=80, force_terminal=True, no_color=True))
    writer.paragraph("a verdict", "bold red")
    writer.table(table(2))
    codes = [code for part in stream.getvalue().split("\x1b[")[1:] for code in part.partition("m")[0].split(";")]
    assert set(codes) <= {"0", "1", "2"}
