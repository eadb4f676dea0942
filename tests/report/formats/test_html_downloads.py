"""The comparison as CSV and JSON within the page."""

import base64
import re
from pathlib import Path

import pytest

from cli.main import main
from tests.support.finished_runs import example_comparison
from tiedlm.comparison.comparison import store_comparison
from tiedlm.report.formats import html_downloads
from tiedlm.report.formats.csv import comparison_csv

_LINK = re.compile(r'<a href="data:([a-z/]+);base64,([^"]+)" download="([^"]+)">')


def downloaded(page: str) -> dict[str, tuple[str, bytes]]:
    """Media type and content of each document, by the name of its file."""
    return {name: (kind, base64.b64decode(content)) for kind, content, name in _LINK.findall(page)}


def test_they_are_what_the_command_writes_to_the_last_byte(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def written(*arguments: str) -> bytes:
        assert main(["report", str(tmp_path), *arguments]) == 0
        return capfdbinary.readouterr().out

    store_comparison(example_comparison().model_copy(update={"experiment": "größe"}), tmp_path)
    documents = downloaded(written("--html", "-").decode())
    assert documents == {
        "größe.csv": ("text/csv", written("--csv", "-")),
        "größe.json": ("application/json", written("--json")),
    }


def test_a_document_too_large_for_the_page_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = example_comparison()
    monkeypatch.setattr(html_downloads, "LARGEST", len(comparison_csv(comparison, ()).encode()))
    shown = html_downloads.downloads("example", comparison_csv(comparison, ()), comparison.model_dump(mode="json"))
    assert [*downloaded(shown)] == ["example.csv"]
    assert re.search(r"JSON \(\d+ KiB, too large for this page: <code>report --json</code>\)", shown)
