"""What the Python API makes of an experiment with recipes or budgets."""

from pathlib import Path

import pytest

import tiedlm
from tests.support.parts_documents import FAILURE, RECIPES, recipes_comparison
from tiedlm.api.parts_comparison import PartsComparison
from tiedlm.comparison.comparison import COMPARISON_FILE, Pending

DOCUMENT = recipes_comparison(
    RECIPES | {"new": (None, {})}, failures={"plain": FAILURE}, pending={"new": Pending(variant="tied", seed=0)}
)


@pytest.fixture
def loaded(tmp_path: Path) -> PartsComparison:
    (tmp_path / COMPARISON_FILE).write_text(DOCUMENT.model_dump_json())
    found = tiedlm.load_comparison(tmp_path)
    assert isinstance(found, PartsComparison)
    return found


def test_it_holds_the_stored_document(loaded: PartsComparison) -> None:
    assert loaded.to_dict() == DOCUMENT.model_dump(mode="json")
    assert (loaded.experiment, loaded.baseline, str(loaded)) == ("recipes", "untied", DOCUMENT.verdict)
    assert loaded.parts == [*RECIPES, "new"]
    assert loaded.failures == ["plain, tied, seed 1: the loss is not a number"]
    assert loaded.pending == [("new", "tied", 0)]
    assert repr(loaded) == f"<tiedlm.PartsComparison recipes: {', '.join(loaded.parts)}>"


def test_each_part_is_a_comparison(loaded: PartsComparison) -> None:
    plain = loaded.part("plain")
    assert isinstance(plain, tiedlm.Comparison)
    assert plain.document == DOCUMENT.parts[0].comparison
    with pytest.raises(tiedlm.ConfigError, match="none of the runs of new has finished"):
        loaded.part("new")
    with pytest.raises(tiedlm.ConfigError, match="'other' is not one of plain, "):
        loaded.part("other")


def test_a_notebook_and_every_format_show_it(loaded: PartsComparison) -> None:
    assert "Best against best" in loaded._repr_html_()
    assert loaded.to_html().startswith("<!doctype html>")
    assert loaded.to_markdown().startswith("**On WikiText-103")
    assert loaded.to_latex().startswith("% recipes, by tiedlm")
    assert loaded.to_csv().startswith("part,variant,")


def test_compare_of_its_folder_is_the_same(loaded: PartsComparison, tmp_path: Path) -> None:
    again = tiedlm.compare(tmp_path)
    assert isinstance(again, PartsComparison) and again.document == loaded.document
    with pytest.raises(tiedlm.ConfigError, match="baseline: needs the config here"):
        tiedlm.compare(tmp_path, baseline="tied")
