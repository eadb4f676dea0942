"""Which kind of comparison a folder holds."""

import json
from pathlib import Path

import pytest

from tests.support.finished_runs import example_comparison
from tests.support.parts_documents import recipes_comparison
from tiedlm.comparison.comparison import COMPARISON_FILE, store_comparison
from tiedlm.comparison.parts.stored import holds_parts, load_parts_comparison
from tiedlm.config.base import ConfigError


def test_the_document_tells_its_kind(tmp_path: Path) -> None:
    assert not holds_parts(tmp_path)
    store_comparison(example_comparison(), tmp_path)
    assert not holds_parts(tmp_path)
    document = recipes_comparison()
    (tmp_path / COMPARISON_FILE).write_text(document.model_dump_json())
    assert holds_parts(tmp_path)
    assert load_parts_comparison(tmp_path) == document


@pytest.mark.parametrize("text", ["", "[]", "3", '{"parts"', '{"variants": []}'])
def test_what_is_no_such_document_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / COMPARISON_FILE).write_text(text)
    assert not holds_parts(tmp_path)


def test_one_of_another_version_is_of_that_kind_and_cannot_be_read(tmp_path: Path) -> None:
    other = recipes_comparison().model_dump(mode="json") | {"schema_version": 99}
    (tmp_path / COMPARISON_FILE).write_text(json.dumps(other))
    assert holds_parts(tmp_path)
    with pytest.raises(ConfigError, match=r"comparison\.json: schema_version: "):
        load_parts_comparison(tmp_path)
