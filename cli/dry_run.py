"""`--dry-run`: what a plan will take."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .output import print_json

if TYPE_CHECKING:
    from tiedlm.experiment.search import Search
    from tiedlm.run.layout import Run


def print_forecast(
    runs: "Sequence[Run]",
    cache_dir: Path,
    as_json: bool,
    waiting: Collection[Path] = (),
    search: "Search | None" = None,
) -> None:
    """Print the plan; `waiting` are the folders of runs whose settings a `search` or the other runs still choose."""
    from tiedlm.experiment.dry_run import forecast, totals, tuning_size

    documents = forecast(runs, cache_dir, waiting, search)
    tuning = tuning_size(search, documents) if search else None
    if as_json:
        print_json({"dry_run": True, "runs": documents, "totals": totals(documents, search), "tuning": tuning})
        return
    from tiedlm.report.commands.dry_run import render_dry_run

    from .console import console

    render_dry_run(documents, totals(documents, search), console(), tuning)
