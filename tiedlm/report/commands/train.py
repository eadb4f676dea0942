"""What `tiedlm train` prints: the figures of one finished run."""

from pathlib import Path

from rich.console import Console

from tiedlm.comparison.summarize import summarize_one_run
from tiedlm.report.figures.context import context
from tiedlm.report.figures.detail_tables import one_run_table
from tiedlm.report.figures.notes import missing_figures
from tiedlm.report.formats.terminal_writer import TerminalWriter
from tiedlm.run.result import RunResult


def render_run(result: RunResult, console: Console, directory: Path | None = None) -> None:
    """Print the figures of a run, and the folder where it is stored."""
    experiment = str(result.config.get("name", ""))
    alone = summarize_one_run(result)
    writer = TerminalWriter(console)
    conditions = f" on {alone.conditions.words()}" if alone.conditions else ""
    writer.paragraph(f"{experiment}: {result.variant}, seed {result.seed}, has finished{conditions}.", "bold")
    writer.blank_line()
    writer.table(one_run_table(alone))
    writer.blank_line()
    writer.paragraphs([*context(alone), *missing_figures(alone)])
    if directory is not None:
        writer.paragraph(f"Stored in {directory}")
