"""A comparison or counts as GitHub Markdown, to paste."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures import main_table as rows
from tiedlm.report.figures import remarks
from tiedlm.report.figures.table import Records
from tiedlm.report.figures.text import one_line
from tiedlm.report.figures.variant_sentences import sentences
from tiedlm.report.formats.terminal import PARTS_BESIDE, count_records, count_savings

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&])")


def comparison_markdown(comparison: Comparison) -> str:
    """The verdict with its conditions, a sentence of each variant, the tables, and what they rest on."""
    parts = [f"**{escape(comparison.verdict)}**"]
    if comparison.variants:
        parts += _lists(sentences(comparison).values())
        parts.append(_table(rows.main_records(comparison)))
        parts += _lists(remarks.legend(comparison))
    for beside in PARTS_BESIDE:
        parts += _lists(beside.remarks(comparison))
        parts += map(_titled, beside.records(comparison))
        parts += _lists(beside.notes(comparison))
    parts += _lists([*remarks.context(comparison), *remarks.reasons_for_null(comparison)])
    return "\n\n".join(parts) + "\n"


def counts_markdown(models: Sequence[Mapping[str, Any]]) -> str:
    """Parameter counts by part and what tying saves; `models` as in the JSON of `count-params`."""
    return "\n\n".join([_table(count_records(models)), *_lists(count_savings(models))]) + "\n"


def escape(text: str) -> str:
    """`text` on one line, none of it Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", one_line(text, " "))


def _table(records: Records) -> str:
    header, lines = records.table()
    alignment = ["---", *(["---:"] * (len(header) - 1))]
    written = [list(map(escape, header)), alignment, *([_label(line[0]), *map(escape, line[1:])] for line in lines)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in written)


def _label(label: str) -> str:
    name = label.lstrip(" ")
    return "&emsp;" * ((len(label) - len(name)) // 2) + escape(name)


def _titled(records: Records) -> str:
    return f"**{escape(records.title)}**\n\n{_table(records)}" if records.title else _table(records)


def _lists(lines: Iterable[str]) -> list[str]:
    """A list where there is something to list."""
    items = [f"- {escape(line)}" for line in lines]
    return ["\n".join(items)] if items else []
