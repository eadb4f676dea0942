"""All commands, and what an error of each kind comes to."""

import errno
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tiedlm.errors import ConfigError, Interrupted, RunError, unexpected

from . import completion
from .next_command import going_on
from .options import new_app
from .output import is_of_a_stream, print_error, set_up_streams

app = new_app(context_settings={"help_option_names": ["-h", "--help"]})
GROUPS = {
    "Run": {
        "train": "Train one variant with one seed.",
        "compare": "Train what is lacking, then compare.",
        "prepare": "Get text and tokenizer ready.",
    },
    "Look": {
        "report": "Print or write a stored comparison.",
        "analyze": "Measure what the two matrices look like.",
        "verify": "Recompute every figure from stored scores.",
        "evaluate": "Score a split with a trained model.",
        "generate": "Continue a text with a trained model.",
    },
    "Models": {
        "count-params": "Count parameters by part.",
        "audit": "Say of checkpoints whether they are tied.",
    },
    "Configs": {
        "configs": "List, show, copy or explain configs.",
    },
}
"""The commands, each with the first sentence of its help, under the headings of the list of commands."""
COMMANDS = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The error for a wrong command line; typer gives it no public name."""

_WRONG_NAMES = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ENOENT, errno.EACCES, errno.ELOOP}
"""System errors of a path that was given wrong, in contrast to those of a failing machine."""


@app.callback(invoke_without_command=True, add_help_option=False)
def about(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    show_help: Annotated[bool, typer.Option("--help", "-h", help="Show this message and exit.")] = False,
    install_completion: Annotated[
        bool, typer.Option("--install-completion", help="Make this shell complete tiedlm (bash, zsh, fish).")
    ] = False,
    show_completion: Annotated[
        bool, typer.Option("--show-completion", help="Print what makes this shell complete tiedlm.")
    ] = False,
) -> None:
    """Should the input and the output embedding of a language model be one matrix? Train both ways and compare.

    Exit codes: 0 done, 1 a run failed, 2 the request was wrong, 130 or 143 interrupted with the state saved.
    """
    # --help is our own option: typer's own has the value null where it is not given, which makes typer import pydantic
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(f"tiedlm {installed_version('tiedlm')}")
    elif install_completion or show_completion:
        typer.echo(completion.install() if install_completion else completion.script())
    elif show_help or context.invoked_subcommand is None:
        typer.echo(context.get_help())
    else:
        return
    raise typer.Exit


class _Later(TyperCommand):
    """A command whose module is imported once it is called, not for the list that it stands in."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return command(self.name or "").make_context(info_name, args, parent, **extra)


def command(name: str) -> Any:
    """One of COMMANDS with its options."""
    module = importlib.import_module(f".{name.replace('-', '_')}", __package__)
    return typer.main.get_command(module.app)


def all_commands() -> Any:
    """`tiedlm` itself."""
    group: Any = typer.main.get_command(app)
    for heading, commands in GROUPS.items():
        for name, summary in commands.items():
            group.add_command(_Later(name, help=summary, rich_markup_mode=None, rich_help_panel=heading))
    return group


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code. Raises OSError where stdout or stderr cannot be written."""
    set_up_streams()
    if completion.COMPLETE in os.environ:
        return completion.answer(all_commands())
    as_json, debug = "--json" in arguments, "--debug" in arguments
    try:
        tiedlm = all_commands()
        with tiedlm.make_context("tiedlm", list(arguments)) as context:
            tiedlm.invoke(context)
        sys.stdout.flush()
    except typer.Exit as done:
        sys.stdout.flush()
        return done.exit_code
    except KeyboardInterrupt:
        print_error("interrupted", "", "interrupted before it was done; run it again", as_json)
        return 128 + signal.SIGINT
    except Exception as error:
        if isinstance(error, OSError) and is_of_a_stream(error):
            raise
        if debug:
            traceback.print_exc()
        code = tell(error, as_json)
        if isinstance(error, Interrupted):
            sys.stderr.write(f"tiedlm: to go on, in this folder: {going_on(arguments)}\n")
        return code
    return 0


def tell(error: Exception, as_json: bool) -> int:
    """Say what went wrong; the exit code that goes with it."""
    match error:
        case ConfigError():
            print_error("config", error.problems[0].key if error.problems else "", str(error), as_json)
            return 2
        case Interrupted():
            print_error(error.kind, "", str(error), as_json)
            return error.exit_code
        case RunError():
            diverged = error.kind == "diverged" and error.step is not None
            hint = " (a smaller training.learning_rate or a longer training.warmup may help)" if diverged else ""
            print_error(error.kind, "", f"{error}{hint}", as_json)
            return 1
        case _UsageError():
            print_error("usage", "", _usage(error), as_json)
            return 2
        case OSError() if error.filename is not None:
            print_error("file", "", f"{error.filename}: {error.strerror}", as_json)
            return 2 if error.errno in _WRONG_NAMES else 1
    print_error("unexpected", "", unexpected(error), as_json)
    return 1


def _usage(error: Exception) -> str:
    said: str = error.format_message() if hasattr(error, "format_message") else str(error)
    path = getattr(getattr(error, "ctx", None), "command_path", "tiedlm")
    for pydantics, ours in ((": Value error, ", ": "), (": Input should be", ": must be")):
        said = said.replace(pydantics, ours)
    said = said.partition(", unable to parse")[0]
    ended = said if said.endswith("?") else f"{said.rstrip('.')}."
    return f"{ended} `{path} --help` shows what there is."
