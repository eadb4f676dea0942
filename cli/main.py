"""The entry point: run a command, and turn what goes wrong into one or two lines and an exit code."""

import sys
from collections.abc import Sequence
from contextlib import suppress

FAILED = 1
INTERRUPTED = 130
BROKEN_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tiedlm ARGUMENTS`; returns 0 done, 1 a run failed, 2 the request was wrong, 130 or 143 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from .app import run

        return run(given)
    except KeyboardInterrupt:  # while starting up
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        _give_up_broken_streams()
        return BROKEN_PIPE
    except OSError as error:  # what we say has no place left
        with suppress(OSError):
            sys.stderr.write(f"tiedlm: the output could not be written: {error.strerror or error}\n")
        _give_up_broken_streams()
        return FAILED


def _give_up_broken_streams() -> None:
    """Let the interpreter's own last flush go nowhere."""
    import os

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
