"""The folders of runs and experiments that a request names. Free of torch, and of what reads configs."""

import difflib
import itertools
from collections.abc import Sequence
from pathlib import Path

from tiedlm.config.find import is_there
from tiedlm.errors import ConfigError, Problem
from tiedlm.paths import check_folder, user_path
from tiedlm.talk import Talk


def find_folders(names: Sequence[str], runs_dir: Path, talk: Talk) -> list[Path]:
    """Each a folder by path, else by name under `runs_dir`; of no names the newest experiment there, which is said.

    Raises ConfigError that names those that are near.
    """
    if names:
        return [_find(name, runs_dir) for name in names]
    newest = newest_experiment(runs_dir)
    if newest is None:
        raise ConfigError(Problem("", f"no experiment is under {runs_dir}: name a folder, or give --runs-dir"))
    talk.say(f"the newest experiment: {newest}")
    return [newest]


def holds_runs(folder: Path) -> bool:
    """Whether a folder is that of a run or of an experiment, by what lies in it."""
    from tiedlm.run.folder import RunFolder
    from tiedlm.run.layout import Layout

    run = RunFolder(folder)
    return run.config_file.is_file() or run.result_file.is_file() or Layout(folder).has_runs()


def is_experiment(folder: Path) -> bool:
    """Whether a folder holds runs and is not that of one."""
    from tiedlm.run.folder import RunFolder, run_folders

    return not RunFolder(folder).config_file.is_file() and bool(run_folders(folder))


def newest_experiment(runs_dir: Path) -> Path | None:
    """The experiment under `runs_dir` whose runs were touched last; None where there is none."""
    from tiedlm.run.folder import part_folders, run_folders

    stamps = [
        (stamp.stat().st_mtime, experiment)
        for experiment in (sorted(runs_dir.iterdir()) if runs_dir.is_dir() else ())
        for folder in (*run_folders(experiment), *itertools.chain(*part_folders(experiment).values()))
        for stamp in (folder.result_file if folder.result_file.is_file() else folder.config_file,)
    ]
    return max(stamps)[1] if stamps else None


def under(runs_dir: Path, name: str) -> Path | None:
    """The experiment of that name, or a run in one (quickstart/tied/seed-0), if it is there."""
    path = runs_dir / name
    return path if name and is_there(path) and path.is_dir() else None


def _find(name: str, runs_dir: Path) -> Path:
    path = user_path(name)
    found = None if is_there(path) else under(runs_dir, name)
    if found is not None:
        return found
    check_folder(path)
    if is_there(path):
        return path
    experiments = [path.name for path in runs_dir.iterdir() if path.is_dir()] if runs_dir.is_dir() else []
    near = difflib.get_close_matches(name[:100], experiments, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise ConfigError(Problem("", f"no such folder, neither here nor under {runs_dir}{hint}"), source=name[:100])
