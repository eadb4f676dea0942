"""One finished run on the terminal."""

from pathlib import Path

from rich.console import Console

from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.question import Question
from tiedlm.comparison.summarize import summarize
from tiedlm.report.figures import remarks
from tiedlm.report.figures.details import run_records
from tiedlm.report.formats.page import Page
from tiedlm.run.result import RunResult


def render_run(result: RunResult, console: Console, directory: Path | None = None) -> None:
    """Print what a run came to, and where it lies."""
    experiment = str(result.config.get("name", ""))
    alone = summarize(FinishedRuns.of([result], Question(experiment, baseline=result.variant, order=(result.variant,))))
    page = Page(console)
    conditions = f" on {alone.conditions.words()}" if alone.conditions else ""
    page.prose(f"{experiment}: {result.variant}, seed {result.seed}, has finished{conditions}.", "bold")
    page.blank()
    page.records(run_records(alone))
    page.blank()
    for line in (*remarks.context(alone), *remarks.reasons_for_null(alone)):
        page.prose(line)
    if directory is not None:
        page.prose(f"Stored in {directory}")
