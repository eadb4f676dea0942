"""A comparison or parameter counts as GitHub Markdown, to paste."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.context import context, warnings
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import how_to_read
from tiedlm.report.figures.parameter_counts import counts_table, savings_of_models
from tiedlm.report.figures.table import Table
from tiedlm.report.figures.text import one_line
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&])")


def comparison_markdown(comparison: Comparison, sections: Sequence[Section] = SECTIONS) -> str:
    """Verdict with its conditions, warnings, a sentence for each variant, the tables, and what they rest on."""
    blocks = [f"**{escape(comparison.verdict)}**", *list_markdown(warnings(comparison))]
    if comparison.variants:
        blocks += list_markdown(variant_sentences(comparison).values())
        blocks.append(table_markdown(main_table(comparison)))
        blocks += list_markdown(how_to_read(comparison))
    for section in (section for section in sections if not section.is_appendix):
        blocks += list_markdown(section.remarks(comparison))
        blocks += map(titled_table, section.tables(comparison))
        blocks += list_markdown(section.notes(comparison))
    blocks += list_markdown(context(comparison))
    return "\n\n".join(blocks) + "\n"


def counts_markdown(models: Sequence[Mapping[str, Any]]) -> str:
    """Parameter counts by part and what tying saves; `models` as in the JSON of `count-params`."""
    return "\n\n".join([table_markdown(counts_table(models)), *list_markdown(savings_of_models(models))]) + "\n"


def escape(text: str) -> str:
    """`text` on one line, none of it Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", one_line(text, " "))


def table_markdown(table: Table) -> str:
    """The table, and below it why a figure of it is absent."""
    header, lines = table.header_and_lines()
    alignment = ["---", *(["---:"] * (len(header) - 1))]
    written = [list(map(escape, header)), alignment, *([_label(line[0]), *map(escape, line[1:])] for line in lines)]
    return "\n\n".join(["\n".join(f"| {' | '.join(cells)} |" for cells in written), *list_markdown(table.reasons())])


def _label(label: str) -> str:
    name = label.lstrip(" ")
    return "&emsp;" * ((len(label) - len(name)) // 2) + escape(name)


def titled_table(table: Table) -> str:
    """The table below its title, if it has one."""
    return f"**{escape(table.title)}**\n\n{table_markdown(table)}" if table.title else table_markdown(table)


def list_markdown(lines: Iterable[str]) -> list[str]:
    """One list with an item for each line; nothing where there is no line."""
    items = [f"- {escape(line)}" for line in lines]
    return ["\n".join(items)] if items else []
