"""docs/audit.md: its blocks of Python run, and its table of verdicts and of faults has what the code says."""

import doctest
import re
from typing import get_args

from tests.support.pages import ROOT, page
from tiedlm.checkpoints.verdict import Verdict

PAGE = page("docs/audit.md")


def test_its_blocks_of_python_print_what_is_shown() -> None:
    source = "\n".join(PAGE.blocks("pycon"))
    blocks = doctest.DocTestParser().get_doctest(source, {}, PAGE.name, str(PAGE.path), 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(blocks, out=said.append).failed == 0, "".join(said)


def test_its_table_has_every_verdict() -> None:
    assert {row[2].strip("`") for row in PAGE.table("flag")} == {*get_args(Verdict)}


def test_every_kind_that_it_names_is_one_that_diagnose_gives() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tiedlm" / "checkpoints").glob("*.py"))
    kinds = {kind for row in PAGE.table("fault") for kind in re.findall(r"`(\w+)`", row[1])}
    assert len(kinds) > 7 and all(f'"{kind}"' in code for kind in kinds)
