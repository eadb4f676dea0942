"""Comparisons and counts as Markdown."""

from dataclasses import replace

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, example_comparison, parameters, runs, summarize
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.report.formats.markdown import comparison_markdown, counts_markdown
from tiedlm.report.sections.section import Section


def table_of(markdown: str) -> list[list[str]]:
    """The first one."""
    lines = next(block for block in markdown.split("\n\n") if block.startswith("|")).splitlines()
    return [[cell.strip() for cell in line.strip("|").replace("\\|", "!").split("|")] for line in lines]


def test_the_table_has_a_line_for_every_figure_and_a_column_for_every_variant() -> None:
    comparison = example_comparison()
    table = table_of(comparison_markdown(comparison))
    assert table[0] == ["", "tied", "untied"]
    assert table[1] == ["---", "---:", "---:"]
    assert len(table) == 2 + len(main_table(comparison).rows)
    assert {len(line) for line in table} == {3}
    assert ["parameters", "124,439,808", "163,037,184"] in table


def test_verdict_conditions_and_pairing_come_along() -> None:
    markdown = comparison_markdown(example_comparison())
    assert markdown.startswith(
        "**On WikiText-103 (wikitext-103-v1); V=32,000, D=768, 100M tokens, fp32, 5 seeds; adamw at 0.0006, "
    )
    assert ": tied is better than untied by" in markdown.splitlines()[0]
    assert "start and batches were equal" in markdown
    assert "below 0 favours the variant" in markdown


def test_a_name_is_neither_a_cell_border_nor_markup() -> None:
    name = "a|b*c*<i>`d`\n[e](f)"
    results = [*runs(name, TIED_NATS), *runs("untied", UNTIED_NATS)]
    markdown = comparison_markdown(summarize(results, [], "example", "untied", [name, "untied"]))
    assert table_of(markdown)[0] == ["", "a!b\\*c\\*\\<i\\>\\`d\\` \\[e\\](f)", "untied"]
    assert {len(line) for line in table_of(markdown)} == {3}


def test_a_cell_is_neither_a_border_nor_markup() -> None:
    model = {"name": "a", "tying": "b|*c*", **parameters().model_dump()}
    assert ["tying", "b!\\*c\\*"] in table_of(counts_markdown([model]))


def test_counts_say_what_tying_saves() -> None:
    models = [{"name": name, "tying": name, **parameters(name).model_dump()} for name in ("tied", "untied")]
    markdown = counts_markdown(models)
    assert ["total", "124,439,808", "163,037,184"] in table_of(markdown)
    assert "- Tying saves 38,597,376 parameters: tied has 23.7 % fewer than untied." in markdown


def test_the_rule_and_the_correction_stand_below_the_table() -> None:
    results = [*(run for name in "abc" for run in runs(name, TIED_NATS)), *runs("untied", UNTIED_NATS)]
    markdown = comparison_markdown(summarize(results, [], "example", "untied", ["a", "b", "c", "untied"]))
    assert "equal: the 90 % interval lies within ±0.01." in markdown
    assert "- Holm-corrected: the verdicts and intervals of b, c." in markdown
    assert "a against untied is the primary comparison, the other 2 are exploratory" in markdown


def test_a_section_comes_along_whole_and_an_appendix_does_not() -> None:
    table = Table(("one", "two"), (Row.of("size", ["1", "2"]),), title="Sizes_1")
    section = Section(
        "Size",
        remarks=lambda comparison: ["Large."],
        tables=lambda comparison: [table],
        notes=lambda comparison: ["So."],
    )
    markdown = comparison_markdown(example_comparison(), [section])
    assert "- Large.\n\n**Sizes\\_1**\n\n|  | one | two |" in markdown
    assert "| size | 1 | 2 |" in markdown
    assert "- So." in markdown
    without = comparison_markdown(example_comparison(), [replace(section, is_appendix=True)])
    assert without == comparison_markdown(example_comparison(), [])


def test_each_variant_has_its_sentence() -> None:
    markdown = comparison_markdown(example_comparison())
    for sentence in variant_sentences(example_comparison()).values():
        assert f"- {sentence}" in markdown
