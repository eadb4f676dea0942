"""Where a command's words go: data to stdout, talk and errors to stderr."""

import errno
import io
import os
import sys
import unicodedata
from typing import Any

from tiedlm.json_document import json_document


def set_up_streams() -> None:
    """What a stream's encoding cannot say is escaped, never an error; one that is closed takes everything."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 (for as long as the process lives)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_of_a_stream(error: OSError) -> bool:
    """Whether it is stdout or stderr that could not be written: a file would be named."""
    on_writing = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return error.filename is None and error.errno in on_writing


def print_json(document: Any) -> None:
    """One JSON document on stdout; a figure that is not finite is null."""
    sys.stdout.write(json_document(document, ascii_only=not _is_utf8()))


def print_file(text: str) -> None:
    """What would else be in a file, as it would be there: UTF-8, whatever the terminal says of itself."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write(text)


def print_text(text: str) -> None:
    """Text that nobody has checked, without characters that could steer a terminal; it keeps its lines."""
    sys.stdout.write("".join(_escaped(symbol) if _steers(symbol) else symbol for symbol in text) + "\n")


def print_error(kind: str, key: str, message: str, as_json: bool) -> None:
    """What went wrong: on stderr for people, with `--json` also on stdout as the one document."""
    sys.stderr.write("".join(f"tiedlm: {_printable(line)}\n" for line in message.splitlines()))
    if as_json:
        print_json({"error": {"kind": kind, "key": key or None, "message": message}})
        sys.stdout.flush()


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _printable(line: str) -> str:
    """`line` with escapes for all that is not seen: in a message, a key or value must show what it is."""
    return "".join(symbol if symbol.isprintable() else _escaped(symbol) for symbol in line)


def _escaped(symbol: str) -> str:
    return repr(symbol)[1:-1]


def _steers(symbol: str) -> bool:
    """Whether a character could steer a terminal or reorder what it shows; all others are text."""
    is_control = unicodedata.category(symbol) in ("Cc", "Cs") and symbol not in "\t\n"
    return is_control or unicodedata.bidirectional(symbol) in _REORDERING


_REORDERING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Embeddings, overrides and isolates of the two directions of writing; the marks between letters are text."""
