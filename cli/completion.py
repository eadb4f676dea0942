"""What a shell completes: names of configs, runs and keys. Where none fits, the shell completes paths by itself."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

COMPLETE = "_TIEDLM_COMPLETE"
"""The environment variable by which a shell asks for completions."""


def config_names(incomplete: str) -> list[str]:
    """Configs that come with the package, and YAML files that lie here."""
    from tiedlm.config.find import packaged_configs

    packaged = [Path(name).stem for name in packaged_configs()]
    return _beginning(incomplete, [*packaged, *map(str, sorted(Path().glob("*.yaml")))])


def experiment_folders(incomplete: str) -> list[str]:
    """Experiments whose runs are kept here, by name."""
    runs_dir = Path("runs")
    return _beginning(incomplete, [path.name for path in _folders_in(runs_dir)])


def configs_or_experiments(incomplete: str) -> list[str]:
    """What `compare` takes."""
    return list(dict.fromkeys([*experiment_folders(incomplete), *config_names(incomplete)]))


def run_folders(incomplete: str) -> list[str]:
    """Runs that are kept here, as runs/quickstart/tied/seed-0."""
    from tiedlm.run.layout import Layout

    runs = [str(run) for experiment in _folders_in(Path("runs")) for run in Layout(experiment).run_dirs()]
    return _beginning(incomplete, runs)


def experiments_or_runs(incomplete: str) -> list[str]:
    """What `analyze` takes."""
    return [*experiment_folders(incomplete), *run_folders(incomplete)]


def config_keys(incomplete: str) -> list[str]:
    """Dotted keys of a config."""
    from tiedlm.experiment.file_schema import file_keys

    return _beginning(incomplete, dict.fromkeys(key.path for key in file_keys()))


def settings(incomplete: str) -> list[str]:
    """Dotted keys of a config, to be given a value."""
    return [] if "=" in incomplete else [f"{key}=" for key in config_keys(incomplete)]


def answer(tiedlm: Any) -> int:
    """Print the completions that a shell asks for; a mistake in the line is not said while it is being typed."""
    from typer._completion_classes import completion_init
    from typer.completion import shell_complete

    completion_init()
    return shell_complete(tiedlm, {}, "tiedlm", COMPLETE, os.environ[COMPLETE])


def script() -> str:
    """What makes the current shell complete `tiedlm`."""
    from typer._completion_shared import get_completion_script

    return get_completion_script(prog_name="tiedlm", complete_var=COMPLETE, shell=_shell())


def install() -> str:
    """Make the current shell complete `tiedlm`, from its next start on; returns what was done."""
    from typer._completion_shared import install as install_script

    shell, place = install_script(shell=_shell(), prog_name="tiedlm", complete_var=COMPLETE)
    return f"completion for {shell} is in {place}; it works in the next terminal that you open"


def _shell() -> str:
    """The shell that started this process, else the user's."""
    from typer._completion_shared import _get_shell_name

    return _get_shell_name() or Path(os.environ.get("SHELL", "")).name


def _beginning(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _folders_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
