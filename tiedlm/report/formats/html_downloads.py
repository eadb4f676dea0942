"""The comparison as CSV and as JSON within the HTML page, to be saved from it without a network."""

from base64 import b64encode
from typing import Any

from tiedlm.json_document import json_document
from tiedlm.report.charts.markup import Markup, element, join

LARGEST = 2**20
"""A document of more bytes is not put into the page, which would be slow to open."""

_MEDIA_TYPES = {"csv": "text/csv", "json": "application/json"}


def downloads(experiment: str, csv: str, document: dict[str, Any]) -> Markup:
    """A link for each document, which is what `--csv` and `--json` write to the last byte; or how to get it."""
    documents = {"csv": csv, "json": json_document(document)}
    links = (_link(experiment, kind, text) for kind, text in documents.items())
    return element("p", "The comparison as data: ", *_between(list(links)), ".", class_="note downloads")


def _link(name: str, kind: str, text: str) -> Markup:
    content = text.encode()
    size = f"{len(content) / 2**10:,.0f} KiB"
    if len(content) > LARGEST:
        return join(f"{kind.upper()} ({size}, too large for this page: ", element("code", f"report --{kind}"), ")")
    address = f"data:{_MEDIA_TYPES[kind]};base64,{b64encode(content).decode()}"
    return join(element("a", kind.upper(), href=address, download=f"{name}.{kind}"), f" ({size})")


def _between(links: list[Markup]) -> list[str]:
    return [piece for link in links for piece in (", ", link)][1:]
