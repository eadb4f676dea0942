"""docs/python.md: its blocks run one after the other and print what is shown; it names all of the API, and no more."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import tiedlm
from tests.support.in_process import in_this_process
from tests.support.pages import page

PAGE = page("docs/python.md")


def test_its_blocks_run_in_order_and_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = "\n".join(PAGE.blocks("pycon"))
    blocks = doctest.DocTestParser().get_doctest(source, {}, PAGE.name, str(PAGE.path), 0)
    assert len(blocks.examples) > 40
    said: list[str] = []
    with in_this_process():
        results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(blocks, out=said.append)
    assert results.failed == 0, "".join(said)


def test_it_names_every_public_name_and_shows_it() -> None:
    named = {name for row in PAGE.table("name") for name in re.findall(r"`(\w+)`", row[0])}
    assert named == {*tiedlm.__all__} - {"__version__"}
    shown = "\n".join(PAGE.blocks("pycon"))
    functions = {name for name in named if inspect.isfunction(getattr(tiedlm, name))}
    assert len(functions) == 6
    assert {name for name in functions if f"tiedlm.{name}(" not in shown} == set()


@pytest.mark.parametrize("shown", [tiedlm.Comparison, tiedlm.TrainedRun, tiedlm.EmbeddingPair])
def test_it_names_every_public_attribute(shown: type) -> None:
    ours = [base for base in shown.__mro__ if base.__module__.startswith("tiedlm.")]
    attributes = {name for base in ours for name in vars(base) if not name.startswith("_")} - {"path", *dir(tuple)}
    assert len(attributes) > 2
    assert {name for name in attributes if not re.search(rf"\b{name}\b", PAGE.text)} == set()
