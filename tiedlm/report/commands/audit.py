"""What `tiedlm audit` prints: one checkpoint in full, several as a table, what was found below."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from tiedlm.report.figures.numbers import NOTHING, count
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.formats.terminal_writer import TerminalWriter

Model = Mapping[str, Any]
_LABEL = 18


def render_audit(models: Sequence[Model], console: Console) -> None:
    """Print audits; `models` as in the JSON of `audit`."""
    writer = TerminalWriter(console)
    if len(models) == 1:
        _in_full(models[0], writer)
    else:
        writer.table(_table(models))
    for model in models:
        _findings(model, writer, name=model["path"] if len(models) > 1 else "")


def _in_full(model: Model, writer: TerminalWriter) -> None:
    writer.paragraph(f"{model['path']}: {model['verdict_in_words']}", "bold")
    writer.blank_line()
    for label, value in _lines(model):
        writer.paragraph(f"{label.ljust(_LABEL)}{value}", hang=_LABEL)


def _lines(model: Model) -> Iterator[tuple[str, str]]:
    yield "flag", model["flag_in_words"]
    for side in ("input", "output"):
        yield f"{side} embedding", _tensor(model["stored"][side])
    if model["equal_in_words"]:
        yield "their bytes", model["equal_in_words"]
    yield from model["loaders"].items()
    yield from (("note", note) for note in model["notes"])
    if model["transferred_bytes"] is not None:
        yield "transferred", f"{count(model['transferred_bytes'])} bytes"


def _tensor(tensor: Model | None) -> str:
    if tensor is None:
        return "not stored"
    shape = " x ".join(f"{size:,}" for size in tensor["shape"])
    return f"{tensor['name']}, {shape} {tensor['dtype']}, in {tensor['file']}"


def _table(models: Sequence[Model]) -> Table:
    rows = (
        Row.of("verdict", (model["verdict_in_words"] for model in models)),
        Row.of("flag", (model["flag_in_words"] for model in models)),
        Row.of("stored", (_how_many(model["stored"]) for model in models)),
        Row.of("bytes", (model["equal_in_words"] or NOTHING for model in models)),
        Row.of("found", (count(len(model["findings"])) for model in models)),
    )
    return Table(tuple(model["path"] for model in models), rows, names_as="lines")


def _how_many(stored: Model) -> str:
    there = [side for side, tensor in stored.items() if tensor is not None]
    return "both" if len(there) == 2 else there[0] if there else "none"


def _findings(model: Model, writer: TerminalWriter, name: str) -> None:
    if not model["findings"]:
        return
    writer.blank_line()
    if name:
        writer.paragraph(name, "bold")
    for finding in model["findings"]:
        writer.list_item(f"{finding['message']} {finding['way_out']}".rstrip())
