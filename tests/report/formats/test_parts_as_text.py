"""An experiment with recipes or budgets as CSV, Markdown, LaTeX, and as the output of a notebook's cell."""

import csv
import io

import pytest

from tests.support.parts_documents import FAILURE, RECIPES, SCALE, budgets_comparison, recipes_comparison
from tiedlm.comparison.comparison import Pending
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.report.figures.parts_tables import glance_tables, tables_together
from tiedlm.report.formats import document as formats
from tiedlm.report.formats.csv import comparison_csv
from tiedlm.report.formats.csv_parts import parts_csv
from tiedlm.report.formats.latex import escape as latex_text
from tiedlm.report.formats.latex_parts import parts_latex
from tiedlm.report.formats.markdown import escape as markdown_text
from tiedlm.report.formats.markdown_parts import parts_markdown
from tiedlm.report.formats.notebook_parts import parts_fragment

DOCUMENTS = {
    "recipes": recipes_comparison(),
    "variants": recipes_comparison(variants=("tied", "soft")),
    "budgets": budgets_comparison(),
    "one seed": recipes_comparison(num_seeds=1),
    "missing": recipes_comparison(
        RECIPES | {"[red]<b>_$": (None, {"a": "&"})},
        failures={"plain": FAILURE},
        pending={"[red]<b>_$": Pending(variant="tied", seed=0)},
    ),
}


def lines_of(document: PartsComparison) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(parts_csv(document))))


def test_the_long_table_of_each_part_stands_whole_behind_its_name() -> None:
    document = recipes_comparison()
    lines = parts_csv(document).splitlines()
    for part in document.parts:
        assert part.comparison is not None
        own = comparison_csv(part.comparison).splitlines()
        assert lines[0] == f"part,{own[0]}"
        mine = [line for line in lines if line.startswith(f"{part.part},") and ",settings." not in line]
        assert mine == [f"{part.part},{line}" for line in own[1:]]


def test_what_parts_say_together_stands_at_full_precision_without_a_part() -> None:
    document = recipes_comparison()
    assert document.recipes is not None
    (across,), (best,) = document.recipes.across, document.recipes.best_against_best
    found = {line["metric"]: line for line in lines_of(document) if not line["part"] and not line["seed"]}
    assert float(found["across_difference"]["value"]) == across.mean
    assert across.prediction95 is not None and best.ci95_seeds is not None
    assert float(found["across_prediction95_low"]["value"]) == across.prediction95[0]
    assert float(found["best_ci95_seeds_high"]["value"]) == best.ci95_seeds[1]
    assert (found["best_recipe"]["text"], found["best_verdict"]["text"]) == (best.recipe, best.verdict)
    seeds = [line for line in lines_of(document) if line["metric"] == "best_difference" and line["seed"]]
    assert [float(line["value"]) for line in seeds] == best.per_seed


def test_settings_are_figures_of_their_part() -> None:
    found = {(line["part"], line["metric"]): line for line in lines_of(recipes_comparison())}
    assert found["high-rate", "settings.training.learning_rate"]["value"] == "0.003"
    assert found["sqrt-dim", f"settings.{SCALE}"]["text"] == "sqrt_dim"


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_every_line_without_a_figure_has_its_reason(document: PartsComparison) -> None:
    for line in lines_of(document):
        assert bool(line["value"] or line["text"]) != bool(line["reason"]), line


def test_the_trend_of_budgets_is_in_it() -> None:
    document = budgets_comparison()
    assert document.budgets is not None
    found = {line["metric"]: line for line in lines_of(document) if not line["part"]}
    assert float(found["trend_per_doubling"]["value"]) == document.budgets.trends[0].per_doubling
    assert found["trend_direction"]["text"] == "shrinks"


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_markdown_and_latex_hold_verdict_differences_and_settings(document: PartsComparison) -> None:
    markdown, latex = parts_markdown(document), parts_latex(document)
    assert markdown.startswith("**On WikiText-103: ")
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == latex.count(r"\caption")
    for table in (*glance_tables(document), *tables_together(document)):
        for cell in (cell for row in table.rows for cell in row.cells):
            assert markdown_text(cell) in markdown
            assert latex_text(cell) in latex


def test_names_are_text_in_markdown_and_latex() -> None:
    markdown, latex = parts_markdown(DOCUMENTS["missing"]), parts_latex(DOCUMENTS["missing"])
    assert r"\[red\]\<b\>\_$" in markdown and "<b>" not in markdown
    assert r"{[}red{]}\ensuremath{<}b\ensuremath{>}\_\$" in latex
    assert "Failed: plain, tied, seed 1" in markdown and "Failed: plain, tied, seed 1" in latex


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_notebook_shows_verdict_tables_and_what_they_say_together(document: PartsComparison) -> None:
    html = parts_fragment(document)
    assert "<script" not in html and "<b>" not in html
    assert html.count("<table>") == html.count("</table>") >= 2
    assert "Test perplexity" in html
    assert formats.as_fragment(document) == html


def test_the_format_follows_the_kind_of_document() -> None:
    document = recipes_comparison()
    (plain, *_) = [part.comparison for part in document.parts if part.comparison]
    for written in (formats.as_html, formats.as_markdown, formats.as_csv, formats.as_latex, formats.as_fragment):
        assert written(document) != written(plain)
    assert {chart.key for chart in formats.charts_of(document)} == {"recipes"}
    assert "differences" in {chart.key for chart in formats.charts_of(plain)}
    assert formats.has_figures(document) and formats.has_figures(plain)
    assert not formats.has_figures(recipes_comparison({"new": (None, {})}))
