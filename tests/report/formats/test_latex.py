"""A comparison as a LaTeX table."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, example_comparison, runs, summarize
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.formats.latex import comparison_latex, escape

HOSTILE = r"a_b%c$d#e{f}g~h^i&j\input{/etc/passwd}|<k>[l]"
OTHERS = "\"'`ē ± – × … 数 \u202e"


def many(*names: str) -> Comparison:
    results = [run for name in names for run in runs(name, TIED_NATS)]
    results += runs("untied", UNTIED_NATS)
    return summarize(results, [], "example", "untied", [*names, "untied"])


def rows_of(latex: str) -> list[list[str]]:
    return [line.removesuffix(r" \\").split(" & ") for line in latex.splitlines() if line.endswith(r" \\")]


def test_the_table_has_every_figure_of_the_glance() -> None:
    comparison = example_comparison()
    rows = rows_of(comparison_latex(comparison))
    assert [row[0].removeprefix(r"\quad ") for row in rows[1:]] == [row.label for row in main_table(comparison).rows]
    assert rows[0][1:] == ["tied", "untied"]
    (parameters,) = [row for row in rows if row[0] == "parameters"]
    assert parameters[1:] == ["124,439,808", "163,037,184"]
    assert [r"\quad final norm", "1,536", "1,536"] in rows


def test_the_caption_holds_verdict_and_legend() -> None:
    latex = comparison_latex(example_comparison())
    caption = latex[latex.index(r"\caption{") :]
    assert "tied is better than untied by 0.031" in caption
    assert r"nats per token (95~\% interval \ensuremath{-}0.03" in caption
    assert "below 0 favours the variant" in caption


def test_a_minus_is_one_and_a_hyphen_in_a_name_is_not() -> None:
    assert escape("-0.031 {[}") == r"\ensuremath{-}0.031 \{{[}\}"
    assert escape("soft-0.1, 2-layer") == "soft-0.1, 2-layer"


def test_nothing_in_a_name_is_a_command() -> None:
    written = escape(HOSTILE)
    bare = re.sub(r"\\textbackslash\{\}|\\textascii\w+\{\}|\\ensuremath\{[^{}]*\}|\\[%$#_{}&]|\{[][]\}", "", written)
    assert not set(bare) & set("%$#_{}~^&\\[]|<>")


def test_letters_that_latex_does_not_know_are_numbered() -> None:
    assert escape("ē数\u202e") == "ē{[}U+6570{]}?"


def test_many_variants_stand_in_several_tables() -> None:
    latex = comparison_latex(many(*(f"soft-{number}" for number in range(6))))
    assert latex.count(r"\begin{tabular}") == 3
    assert latex.count("163,037,184") == 7


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize(
    "comparison", [example_comparison(), many(HOSTILE, OTHERS), many(*"abcdef")], ids=["plain", "hostile", "many"]
)
def test_it_compiles_in_a_plain_article(comparison: Comparison, tmp_path: Path) -> None:
    (tmp_path / "table.tex").write_text(comparison_latex(comparison), encoding="utf-8")
    document = r"\documentclass{article}\begin{document}\input{table}\end{document}"
    (tmp_path / "article.tex").write_text(document)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "article.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
