"""What the terminal shows: the verdict first, then the figures, then what they rest on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.verdict import conditions_in_words
from tiedlm.report.charts.differences import frequency_charts
from tiedlm.report.figures import detail_tables as details
from tiedlm.report.figures import main_table as rows
from tiedlm.report.figures import numbers, remarks
from tiedlm.report.figures.cells import part_label
from tiedlm.report.figures.memory_forecast import render_memory
from tiedlm.report.figures.table import Records, Row
from tiedlm.report.figures.variant_sentences import sentences
from tiedlm.report.formats.terminal_writer import Page
from tiedlm.report.sections.budget import budget_records, budget_remarks
from tiedlm.report.sections.frequency import frequency_notes, frequency_records, frequency_remarks
from tiedlm.report.sections.noise_floor import noise_floor_records, noise_floor_remarks
from tiedlm.report.sections.section import Part
from tiedlm.report.sections.tokens_to_reach import reach_notes, reach_records, reach_remarks
from tiedlm.report.sections.tuning import tuning_records, tuning_remarks
from tiedlm.run.result import PARTS

PARTS_BESIDE: tuple[Part, ...] = (
    Part("Tuning", tuning_records, tuning_remarks),
    Part("Noise floor", noise_floor_records, noise_floor_remarks),
    Part("Budget", budget_records, budget_remarks),
    Part("Tokens to reach the same loss", reach_records, reach_remarks, notes=reach_notes),
    Part("Frequency", frequency_records, frequency_remarks, charts=frequency_charts, notes=frequency_notes),
)
"""What is shown beside the main figures, in this order."""


def render_comparison(comparison: Comparison, console: Console, details: bool = False) -> None:
    """Print one glance's worth of a comparison; `details` adds everything that is stored."""
    page = Page(console)
    _render_verdict(comparison, page)
    for line in remarks.warnings(comparison):
        page.prose(line, "bold")
    if comparison.variants:
        page.blank()
        page.records(rows.main_records(comparison))
        page.blank()
        for line in remarks.legend(comparison):
            page.prose(line, "dim")
    for lines in (_said_beside(comparison), remarks.context(comparison)):
        _paragraph(list(lines), page)
    if details and comparison.variants:
        _render_details(comparison, page)


def _said_beside(comparison: Comparison) -> Iterator[str]:
    for part in PARTS_BESIDE:
        yield from part.remarks(comparison)


def _paragraph(lines: Sequence[str], page: Page) -> None:
    if lines:
        page.blank()
    for line in lines:
        page.prose(line)


def _render_verdict(comparison: Comparison, page: Page) -> None:
    """One sentence where there is one thing to say, else the conditions and a line for each."""
    if comparison.conditions is None or len(comparison.statements) == 1:
        page.prose(comparison.verdict, "bold")
        return
    page.prose(f"{conditions_in_words(comparison.conditions, not comparison.pending)}:", "bold")
    for statement in comparison.statements:
        page.item(statement, "bold")


def _render_details(comparison: Comparison, page: Page) -> None:
    _paragraph(list(sentences(comparison).values()), page)
    for records in (
        details.more_records(comparison),
        details.seed_records(comparison),
        details.hash_records(comparison),
        *(records for part in PARTS_BESIDE for records in part.records(comparison)),
    ):
        page.blank()
        page.records(records)
    page.blank()
    for line in (
        *remarks.reasons_for_null(comparison),
        *remarks.reasons_for_no_interval(comparison),
        *remarks.configured_differences(comparison),
        *details.machine_remarks(comparison),
        *(note for part in PARTS_BESIDE for note in part.notes(comparison)),
    ):
        page.prose(line)
    render_memory(comparison, page)


def render_counts(models: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print parameter counts; `models` as in the JSON of `count-params`."""
    page = Page(console)
    page.records(count_records(models))
    remarks_below = [*count_savings(models), *_count_context(models)]
    if remarks_below:
        page.blank()
    for line in remarks_below:
        page.prose(line)


def _count_context(models: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    lengths = sorted({model["seq_len"] for model in models if "seq_len" in model})
    if lengths:
        yield f"FLOPs are those of training, with {' or '.join(map(numbers.count, lengths))} tokens of context."


def count_records(models: Sequence[Mapping[str, Any]]) -> Records:
    """Parts (those that any model has), their sum, and what they cost."""
    parts = [part for part in PARTS if any(model["parts"].get(part) for model in models)]
    figures = {part: [model["parts"].get(part, 0) for model in models] for part in parts}
    figures["total"] = [model["total"] for model in models]
    needed = [model.get("inference_total") or model["total"] for model in models]
    if needed != figures["total"]:
        figures["inference_total"] = needed
    figures |= {key: [model[key] for model in models] for key in ("non_embedding", "flops_per_token")}
    lines = [
        Row.of("tying", (model["tying"] for model in models)),
        *(Row.of(_count_label(key), map(numbers.count, cells)) for key, cells in figures.items()),
    ]
    return Records(tuple(model["name"] for model in models), tuple(lines))


def _count_label(key: str) -> str:
    own = {
        "flops_per_token": "FLOPs per token",
        "non_embedding": "non-embedding",
        "inference_total": "total at inference",
    }
    return own.get(key, part_label(key))


def count_savings(models: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What tying saves, for each model that is there both ways."""
    return remarks.savings(
        [remarks.Counted(model["name"], model["tying"], model["total"], model["non_embedding"]) for model in models]
    )
