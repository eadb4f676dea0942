"""The options that commands have in common."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tiedlm.paths import check_file, check_folder, user_path

from . import completion
from .help import Group


def folder_given(param: typer.CallbackParam, value: Path | None) -> Path | None:
    """Callback of an option that names a folder, which may still have to be made; raises ConfigError."""
    return _given(param, value, check_folder)


def file_given(param: typer.CallbackParam, value: Path | None) -> Path | None:
    """Callback of an option that names a file to write, - being stdout; raises ConfigError."""
    return value if str(value) == "-" else _given(param, value, check_file)


def text_path_given(param: typer.CallbackParam, value: str) -> str:
    """Callback of a parameter whose path says by a / at its end that it is a folder; raises ConfigError."""
    path = str(_given(param, Path(value), lambda path, key: None)) if value else value
    return f"{path}/" if value.endswith("/") and not path.endswith("/") else path


def _given(param: typer.CallbackParam, value: Path | None, check: Callable[[Path, str], None]) -> Path | None:
    if value is None:
        return None
    key = next((name for name in param.opts if name.startswith("-")), "")
    path = user_path(value, key)
    check(path, key)
    return path


Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
RunsDir = Annotated[
    Path, typer.Option("--runs-dir", metavar="FOLDER", help="Where runs are kept.", callback=folder_given)
]
CacheDir = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir",
        metavar="FOLDER",
        help="Where prepared text is kept. [default: $TIEDLM_CACHE, else tiedlm in the user's cache]",
        show_default=False,
        callback=folder_given,
    ),
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="auto|cpu|cuda|cuda:N", help="The same as --set training.device=...")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one dotted key of the config; may be given often.",
        autocompletion=completion.settings,
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start again, also where runs are finished or under way.")]
RunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="RUN_FOLDER",
        help="As in runs/quickstart/tied/seed-0.",
        callback=folder_given,
        autocompletion=completion.run_folders,
    ),
]
Folders = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FOLDER",
        help="Folders of runs or of an experiment, or its name under --runs-dir. If none: the newest experiment.",
        show_default=False,
        autocompletion=completion.experiment_folders,
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]

RUNS_DIR = Path("runs")


def new_app(**more: Any) -> typer.Typer:
    """What a command is registered with: its help is plain text."""
    return typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **more)


def say_which(name: str) -> str:
    """The name of a config, after a word on stderr where a packaged one and a file here may both be meant."""
    from tiedlm.config.find import which_one
    from tiedlm.talk import Talk

    sentence = which_one(name)
    if sentence is not None:
        Talk().say(sentence)
    return name


def cache_folder(chosen: Path | None) -> Path:
    """The cache that was asked for, else the user's."""
    from tiedlm.data.cache_dir import default_cache_dir

    return chosen or default_cache_dir()


def all_settings(settings: list[str] | None, **more: str | float | None) -> list[str]:
    """`--set` with those options that are short for one; `more` maps dotted keys, with __ for a dot."""
    return [
        *(settings or []),
        *(f"{key.replace('__', '.')}={json.dumps(value)}" for key, value in more.items() if value is not None),
    ]
