"""Messages that name options of the command line, as a Python program knows them. Imports nothing that takes time."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tiedlm.errors import ConfigError, Problem, RunError

_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
_ARGUMENTS = {
    **{
        name: name
        for name in ("baseline", "checkpoint", "device", "part", "primary", "prompt", "seed", "stride", "variant")
    },
    **{name: name.replace("-", "_") for name in ("cache-dir", "runs-dir", "seq-len", "smallest-worthwhile", "top-k")},
    "temperature": "temperature",
    "fresh": "fresh=True",
    "set": "overrides",
    "debug": "the cause of this exception",
}
"""Options by name, and the arguments of our functions that they are."""


@contextmanager
def python_names() -> Iterator[None]:
    """Inside, an error speaks of arguments where it would speak of options: `seq_len` for `--seq-len`."""
    try:
        yield
    except ConfigError as error:
        problems = [Problem(_renamed(problem.key), _renamed(problem.message)) for problem in error.problems]
        source = _renamed(error.source)
        if (problems, source) == (list(error.problems), error.source):
            raise
        raise ConfigError(*problems, source=source) from None
    except RunError as error:
        error.args = (_renamed(str(error)),)
        raise


def _renamed(text: str) -> str:
    return _OPTION.sub(lambda option: _ARGUMENTS.get(option[1], option[0]), text)
