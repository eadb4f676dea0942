"""All commands, and what an error of each kind comes to."""

import errno
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from tiedlm.config import ConfigError
from tiedlm.errors import Interrupted, RunError

from . import compare, configs, count_params, evaluate, generate, prepare, report, train, verify
from .output import is_of_a_stream, print_error, set_up_streams

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("train")(train.train)
app.command("compare")(compare.compare)
app.command("count-params")(count_params.count_params)
app.command("evaluate")(evaluate.evaluate)
app.command("generate")(generate.generate)
app.command("report")(report.report)
app.command("verify")(verify.verify)
app.command("prepare")(prepare.prepare)
app.add_typer(configs.app, name="configs")

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What is wrong with the words of a command; typer gives it no public name."""

_WRONG_NAMES = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ENOENT, errno.EACCES, errno.ELOOP}
"""What the system says of a path that was given wrong, not of a machine that fails."""


@app.callback(invoke_without_command=True)
def tiedlm(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Should the input and the output embedding of a language model be one matrix? Train both ways and compare.

    Exit codes: 0 done, 1 a run failed, 2 the request was wrong, 130 or 143 interrupted with the state saved.
    """
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(f"tiedlm {installed_version('tiedlm')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code. Raises OSError where stdout or stderr cannot be written."""
    set_up_streams()
    as_json, debug = "--json" in arguments, "--debug" in arguments
    try:
        command = typer.main.get_command(app)
        with command.make_context("tiedlm", list(arguments)) as context:
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as done:
        sys.stdout.flush()
        return done.exit_code
    except KeyboardInterrupt:
        print_error("interrupted", "", "interrupted while no run was under way", as_json)
        return 128 + signal.SIGINT
    except Exception as error:
        if isinstance(error, OSError) and is_of_a_stream(error):
            raise
        if debug:
            traceback.print_exc()
        return tell(error, as_json)
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
            print_error(error.kind, "", str(error), as_json)
            return 1
        case _UsageError():
            print_error("usage", "", _usage(error), as_json)
            return 2
        case OSError() if error.filename is not None:
            print_error("file", "", f"{error.filename}: {error.strerror}", as_json)
            return 2 if error.errno in _WRONG_NAMES else 1
    said = f"unexpected error, {type(error).__name__}: {error}".splitlines()[0]
    print_error("unexpected", "", f"{said} (--debug shows the traceback)", as_json)
    return 1


def _usage(error: Exception) -> str:
    said: str = error.format_message() if hasattr(error, "format_message") else str(error)
    path = getattr(getattr(error, "ctx", None), "command_path", "tiedlm")
    ended = said if said.endswith("?") else f"{said.rstrip('.')}."
    return f"{ended} `{path} --help` shows what there is."
