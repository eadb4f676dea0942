"""A comparison or counts as GitHub Markdown, to paste."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tiedlm.experiment.comparison import Comparison
from tiedlm.report import remarks, rows
from tiedlm.report.plain import one_line
from tiedlm.report.records import Records
from tiedlm.report.tables import count_records, count_savings

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&])")


def comparison_markdown(comparison: Comparison) -> str:
    """The verdict with its conditions, the table, how to read it, and what it rests on."""
    parts = [f"**{escape(comparison.verdict)}**"]
    if comparison.variants:
        parts.append(_table(rows.main_records(comparison)))
        parts.append(_list(list(remarks.legend(comparison))))
    context = [*remarks.context(comparison), *remarks.reasons_for_null(comparison)]
    if context:
        parts.append(_list(context))
    return "\n\n".join(parts) + "\n"


def counts_markdown(models: Sequence[Mapping[str, Any]]) -> str:
    """Parameter counts by part and what tying saves; `models` as in the JSON of `count-params`."""
    savings = list(count_savings(models))
    return "\n\n".join([_table(count_records(models)), *([_list(savings)] if savings else [])]) + "\n"


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


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)
