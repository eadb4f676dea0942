"""What `tiedlm train` prints: the figures of one finished run, on one screen."""

from pathlib import Path

from rich.console import Console

from tiedlm.comparison.summarize import summarize_one_run
from tiedlm.report.figures.context import warnings
from tiedlm.report.figures.detail_tables import one_run_table
from tiedlm.report.formats.terminal_writer import TerminalWriter
from tiedlm.run.result import RunResult


def render_run(result: RunResult, console: Console, directory: Path | None = None) -> None:
    """Print the figures of a run and the folder where it is stored; last what it was, with its conditions."""
    experiment = str(result.config.get("name", ""))
    alone = summarize_one_run(result)
    writer = TerminalWriter(console)
    writer.table(one_run_table(alone))
    writer.blank_line()
    writer.paragraphs(alone.notes)
    if directory is not None:
        writer.paragraph(f"Stored in {directory}")
    writer.paragraphs(warnings(alone), "bold")
    conditions = f" on {alone.conditions.words()}; {alone.conditions.recipe}" if alone.conditions else ""
    writer.blank_line()
    writer.paragraph(f"{experiment}: {result.variant}, seed {result.seed}, has finished{conditions}.", "bold")
