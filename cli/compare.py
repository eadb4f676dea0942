"""`tiedlm compare`: carry out what is lacking, and show it side by side."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .output import console, print_json

if TYPE_CHECKING:
    from tiedlm.experiment.comparison import Comparison


def compare(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG | FOLDER",
            help="A config to plan and run, or folders of runs or of an experiment, whose finished runs are compared. "
            "If none: the newest experiment under --runs-dir, else the quickstart.",
            show_default=False,
        ),
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Show everything that is stored.")] = False,
    baseline: Annotated[str | None, typer.Option("--baseline", help="The variant the others are held against.")] = None,
    settings: options.Settings = None,
    runs_dir: options.RunsDir = options.RUNS_DIR,
    cache_dir: options.CacheDir = None,
    device: options.Device = None,
    fresh: options.Fresh = False,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Train what is lacking, then compare. Finished runs are not trained again; failed ones are listed."""
    from tiedlm.experiment.compare import gather

    def show(comparison: "Comparison") -> None:
        from tiedlm.report.tables import render_comparison

        render_comparison(comparison, console(), details)

    folders, config = _sort_out(what or [], runs_dir)
    if folders:
        comparison = gather(folders, baseline)
    else:
        from tiedlm.experiment import compare as experiments
        from tiedlm.experiment.config import load_experiment
        from tiedlm.talk import Talk

        changes = options.all_settings(settings, training__device=device, baseline=baseline)
        experiment = load_experiment(config, changes)
        cache = options.cache_folder(cache_dir)
        if dry_run:
            from tiedlm.experiment.plan import plan

            from .dry_run import print_forecast

            print_forecast(plan(experiment, runs_dir), cache, as_json)
            return
        meanwhile = (lambda comparison: None) if as_json else show
        comparison = experiments.compare(
            experiment, runs_dir=runs_dir, cache_dir=cache, fresh=fresh, talk=Talk(), show=meanwhile
        )
    if as_json:
        print_json(comparison.model_dump(mode="json"))
    else:
        show(comparison)
    if comparison.failures:
        sys.stdout.flush()
        raise typer.Exit(1)


def _sort_out(what: Sequence[str], runs_dir: Path) -> tuple[list[Path], str]:
    """The folders to compare, or the one config to carry out."""
    from tiedlm.config import ConfigError, Problem
    from tiedlm.experiment.store import newest_experiment
    from tiedlm.talk import Talk

    if not what:
        newest = newest_experiment(runs_dir)
        if newest is not None:
            Talk().say(f"the newest experiment: {newest}")
            return [newest], ""
        Talk().say(f"no experiment under {runs_dir} yet: this is the quickstart (`tiedlm configs` lists others)")
        return [], "quickstart"
    folders = [Path(name) for name in what if Path(name).is_dir()]
    if len(folders) == len(what):
        return folders, ""
    if len(what) > 1:
        raise ConfigError(Problem("", f"{' '.join(what)}: give one config, or folders of runs alone"))
    return [], what[0]
