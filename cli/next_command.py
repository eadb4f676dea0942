"""The command to give next, as it can be pasted into a shell."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence


def command_line(*arguments: str | os.PathLike[str]) -> str:
    """`tiedlm ARGUMENTS`, quoted; with the path of this program where a shell would not find it."""
    return shlex.join([_program(), *(os.fspath(word) for word in arguments)])


def going_on(arguments: Sequence[str]) -> str:
    """The command that goes on where `tiedlm ARGUMENTS` was stopped; with --fresh it would start again."""
    return command_line(*(word for word in arguments if word != "--fresh"))


def _program() -> str:
    called = sys.argv[0]
    if os.path.basename(called) != "tiedlm" or shutil.which("tiedlm"):  # noqa: PTH119 (what a shell was told)
        return "tiedlm"
    return called
