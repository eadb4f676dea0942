"""`tiedlm.compare`, `tiedlm.train` and `tiedlm.load_comparison`. Free of torch."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tiedlm.api.arguments import check_seed
from tiedlm.api.comparison import Comparison
from tiedlm.api.messages import python_names
from tiedlm.api.parts_comparison import PartsComparison
from tiedlm.api.settings import ConfigSource, Overrides, as_config, as_path, as_settings, cache_folder
from tiedlm.api.trained_run import TrainedRun
from tiedlm.comparison.comparison import COMPARISON_FILE
from tiedlm.comparison.comparison import Comparison as Document
from tiedlm.comparison.comparison import load_comparison as load_stored
from tiedlm.comparison.gather import gather
from tiedlm.comparison.parts.document import PartsComparison as PartsDocument
from tiedlm.comparison.parts.reopen import comparison_in
from tiedlm.comparison.parts.stored import holds_parts
from tiedlm.comparison.reported import compared_in
from tiedlm.config.find import find_packaged
from tiedlm.errors import ConfigError, Problem
from tiedlm.run.folder import run_folders
from tiedlm.run.layout import Layout, Run
from tiedlm.talk import SILENT, Talk


@python_names()
def compare(
    what: ConfigSource | Sequence[str | Path],
    overrides: Overrides = None,
    *,
    train: bool = True,
    fresh: bool = False,
    baseline: str | None = None,
    primary: str | None = None,
    smallest_worthwhile: float | None = None,
    device: str | None = None,
    runs_dir: str | Path = "runs",
    cache_dir: str | Path | None = None,
    progress: bool = False,
) -> Comparison | PartsComparison:
    """Train the runs of a config that are missing and compare all of them; of folders, compare the finished runs.

    `what` is a config (a file, the name of a packaged one, or a mapping), or the folder of an experiment or of a run,
    or a list of such folders. Without `train` missing runs stay pending. `progress` goes to stderr. Raises ConfigError
    where the request is wrong, RunError where no run could go on, Interrupted with the state saved.
    """
    folders = _folders(what)
    if folders:
        _refuse_changes(overrides=overrides, device=device, fresh=fresh)
        return _shown(compared_in(folders, baseline, primary, smallest_worthwhile), folders)
    from tiedlm.comparison.carry_out import carry_out_and_compare, compare_what_is_finished
    from tiedlm.experiment.parts import load_plan

    judging = {"baseline": baseline, "primary": primary, "smallest_worthwhile": smallest_worthwhile}
    settings = _all_settings(overrides, {"training.device": device, **judging})
    assert isinstance(what, str | Path | Mapping)  # else there are folders
    loaded = load_plan(as_config(what), settings)
    places = {"runs_dir": as_path(runs_dir), "cache_dir": cache_folder(cache_dir)}
    talk = Talk() if progress else SILENT
    if train:
        found = carry_out_and_compare(loaded, **places, fresh=fresh, talk=talk, show=_saying(talk))
    elif fresh:
        raise ConfigError(Problem("fresh=True", "starts the runs again, and train=False trains none"))
    else:
        found = compare_what_is_finished(loaded, **places)
    return _shown(found, [Layout.of(places["runs_dir"], loaded.name).experiment_dir])


@python_names()
def load_comparison(folder: str | Path) -> Comparison | PartsComparison:
    """The comparison of the finished runs in an experiment's folder; nothing is trained.

    Where only comparison.json is there, without the runs, it is that one; of an experiment with recipes or budgets it
    is what they say together. Raises ConfigError.
    """
    place = as_path(folder)
    if not place.is_dir():
        message = "no such folder; give an experiment's, as in runs/quickstart"
        raise ConfigError(Problem("", message), source=str(folder))
    if holds_parts(place):
        return PartsComparison(comparison_in(place), place)
    if (place / COMPARISON_FILE).is_file() and not run_folders(place):
        return Comparison(load_stored(place), [place])
    return Comparison(gather([place]), [place])


@python_names()
def train(
    config: ConfigSource,
    overrides: Overrides = None,
    *,
    variant: str | None = None,
    seed: int | None = None,
    part: str | None = None,
    fresh: bool = False,
    device: str | None = None,
    runs_dir: str | Path = "runs",
    cache_dir: str | Path | None = None,
    progress: bool = False,
) -> TrainedRun:
    """Train and score one run, at once where it is complete; one that was stopped goes on.

    `variant` may be left out where there is one, `seed` is then the config's first; `part` names a recipe, or a budget
    as "budget-3", where the config has some. Raises as `compare` does, and RunError where the run fails.
    """
    from tiedlm.experiment.carry_out import train as train_run
    from tiedlm.experiment.expand import expand
    from tiedlm.experiment.parts import load_part
    from tiedlm.experiment.plan import pick

    check_seed(seed)
    runs, cache, talk = as_path(runs_dir), cache_folder(cache_dir), Talk() if progress else SILENT
    asked = load_part(as_config(config), _all_settings(overrides, {"training.device": device}), part)
    experiment = expand(asked, runs, cache, talk)
    run = Run(pick(experiment, variant, seed), runs)
    train_run(experiment, run, cache_dir=cache, fresh=fresh, talk=talk)
    return TrainedRun(run.directory, device=device, cache_dir=cache, progress=progress)


def _shown(found: Document | PartsDocument, folders: Sequence[Path]) -> Comparison | PartsComparison:
    return PartsComparison(found, folders[0]) if isinstance(found, PartsDocument) else Comparison(found, list(folders))


def _saying(talk: Talk) -> Callable[[Document | PartsDocument], None]:
    """Says the verdict so far."""
    return lambda so_far: talk.say(so_far.verdict)


def _refuse_changes(**given: object) -> None:
    """Raise ConfigError for arguments of training where folders are compared, for then nothing is trained."""
    for name, value in given.items():
        if value:
            raise ConfigError(Problem(name, "needs a config: finished runs are only compared"))


def _all_settings(overrides: Overrides, more: Mapping[str, str | float | None]) -> list[str]:
    """The overrides, and those arguments that are short for one."""
    return [*as_settings(overrides), *as_settings({key: value for key, value in more.items() if value is not None})]


def _folders(what: ConfigSource | Sequence[str | Path]) -> list[Path]:
    """The folders whose runs are to be compared; none where `what` is a config."""
    if isinstance(what, Mapping):
        return []
    if isinstance(what, str | Path):
        from tiedlm.run.find import holds_runs

        place = as_path(what)
        is_folder = place.is_dir() and (holds_runs(place) or find_packaged(str(what)) is None)
        return [place] if is_folder else []
    if not isinstance(what, Sequence) or not all(isinstance(each, str | Path) for each in what):
        raise ConfigError(Problem("", f"{what!r}: must be a config (a file, a name or a mapping), or folders of runs"))
    folders = [as_path(each) for each in what]
    if not folders or not all(folder.is_dir() for folder in folders):
        named = ", ".join(map(str, what)) or "an empty list"
        raise ConfigError(Problem("", f"{named}: give one config, or folders of runs alone"))
    return folders
