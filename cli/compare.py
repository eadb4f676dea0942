"""`tiedlm compare`: carry out what is lacking, and show it side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import completion, options
from .help import examples
from .show import show

if TYPE_CHECKING:
    from tiedlm.report.formats.document import Document

app = options.new_app()


What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CONFIG|FOLDER",
        help="A config to plan and run, or folders of runs or of an experiment, whose finished runs are compared. "
        "If none: the newest experiment under --runs-dir, else the quickstart.",
        show_default=False,
        autocompletion=completion.configs_or_experiments,
    ),
]
Details = Annotated[bool, typer.Option("--details", help="Show everything that is stored.")]
Baseline = Annotated[str | None, typer.Option("--baseline", help="The variant the others are held against.")]
Primary = Annotated[
    str | None,
    typer.Option(
        "--primary", help="The variant whose comparison is not corrected for the others. [default: the first]"
    ),
]
SmallestWorthwhile = Annotated[
    float | None,
    typer.Option(
        "--smallest-worthwhile",
        metavar="NATS",
        help="Differences below this many nats per token count as equal. [default: 0.01]",
    ),
]


@app.command(epilog=examples("compare quickstart", "compare mine.yaml --dry-run", "compare runs/mine --baseline tied"))
def compare(
    what: What = None,
    details: Details = False,
    baseline: Baseline = None,
    primary: Primary = None,
    smallest_worthwhile: SmallestWorthwhile = None,
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
    folders, config = _sort_out(what or [], runs_dir)
    if folders:
        _refuse_changes(settings, device, fresh, dry_run)
        from tiedlm.comparison.reported import compared_in

        found = compared_in(folders, baseline, primary, smallest_worthwhile)
        show(found, details, as_json, folders[0] if len(folders) == 1 else None)
        return
    judging = {"baseline": baseline, "primary": primary, "smallest_worthwhile": smallest_worthwhile}
    changes = options.all_settings(settings, training__device=device, **judging)
    cache = options.cache_folder(cache_dir)
    if dry_run:
        _print_forecast(config, changes, runs_dir, cache, as_json)
        return
    comparison = _carried_out(config, changes, runs_dir, cache, fresh)
    show(comparison, details, as_json, runs_dir / comparison.experiment)
    if comparison.failures:
        raise typer.Exit(1)


def _print_forecast(config: str, changes: list[str], runs_dir: Path, cache: Path, as_json: bool) -> None:
    """What the plan would take; nothing is carried out."""
    from tiedlm.experiment.equal_variants import equal_variants
    from tiedlm.experiment.parts import load_plan
    from tiedlm.experiment.what_to_do import what_to_do
    from tiedlm.talk import Talk

    from .dry_run import print_forecast

    planned = what_to_do(load_plan(config, changes), runs_dir, cache)
    for sentence in dict.fromkeys(line for experiment in planned.experiments for line in equal_variants(experiment)):
        Talk().say_wrapped(sentence)
    print_forecast(planned.runs, cache, as_json, planned.waiting, planned.search)


def _carried_out(config: str, changes: list[str], runs_dir: Path, cache: Path, fresh: bool) -> "Document":
    from tiedlm.experiment.parts import load_plan

    loaded = load_plan(config, changes)
    from tiedlm.comparison.carry_out import carry_out_and_compare  # once the config is known to be right
    from tiedlm.talk import Talk

    return carry_out_and_compare(loaded, runs_dir=runs_dir, cache_dir=cache, fresh=fresh, talk=Talk(), show=_say_so_far)


def _say_so_far(comparison: "Document") -> None:
    """Say on stderr how it stands: stdout gets the final comparison alone."""
    from tiedlm.report.figures.so_far import so_far
    from tiedlm.talk import Talk

    for sentence in so_far(comparison):
        Talk().say_wrapped(sentence)


def _refuse_changes(settings: list[str] | None, device: str | None, fresh: bool, dry_run: bool) -> None:
    """Refuse options of training where folders are compared, for then nothing is trained."""
    from tiedlm.errors import ConfigError, Problem

    given = {"--set": settings, "--device": device, "--fresh": fresh, "--dry-run": dry_run}
    for option, value in given.items():
        if value:
            raise ConfigError(Problem(option, "needs a config: finished runs are only compared"))


def _sort_out(what: Sequence[str], runs_dir: Path) -> tuple[list[Path], str]:
    """The folders to compare, or the one config to carry out."""
    from tiedlm.errors import ConfigError, Problem
    from tiedlm.run.find import newest_experiment
    from tiedlm.talk import Talk

    if not what:
        newest = newest_experiment(runs_dir)
        if newest is not None:
            Talk().say(f"the newest experiment: {newest}")
            return [newest], ""
        Talk().say(f"no experiment under {runs_dir} yet: this is the quickstart (`tiedlm configs` lists others)")
        return [], "quickstart"
    folders = [folder for name in what if (folder := _folder(name, runs_dir)) is not None]
    if len(folders) == len(what):
        return folders, ""
    if len(what) > 1:
        raise ConfigError(Problem("", f"{' '.join(what)}: give one config, or folders of runs alone"))
    return [], options.say_which(what[0])


def _folder(name: str, runs_dir: Path) -> Path | None:
    """A folder by path; by name under `runs_dir` where no config has the name.

    A packaged config is hidden by a folder of its name that holds runs alone, and it is said which it is.
    """
    from tiedlm.config.find import find_packaged, is_there
    from tiedlm.paths import user_path
    from tiedlm.run.find import holds_runs, under
    from tiedlm.talk import Talk

    path = user_path(name)
    is_packaged = find_packaged(name) is not None
    if not is_there(path) or not path.is_dir():
        return None if is_packaged or is_there(path) else under(runs_dir, name)
    if not is_packaged:
        return path
    if holds_runs(path):
        Talk().say(f"{name} is the folder of runs here; the packaged config is {name.removesuffix('.yaml')}.yaml")
        return path
    Talk().say(f"{name} is the packaged config; the folder {name} here holds no runs")
    return None
