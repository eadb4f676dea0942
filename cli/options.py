"""The options that commands have in common."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from . import completion
from .help import Group

Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
RunsDir = Annotated[Path, typer.Option("--runs-dir", metavar="FOLDER", help="Where runs are kept.")]
CacheDir = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir",
        metavar="FOLDER",
        help="Where prepared text is kept. [default: $TIEDLM_CACHE, else tiedlm in the user's cache]",
        show_default=False,
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
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]

RUNS_DIR = Path("runs")


def new_app(**more: Any) -> typer.Typer:
    """What a command is registered with: its help is plain text."""
    return typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **more)


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
