"""Every format shows why a figure is absent."""

import re
from collections.abc import Callable
from html import unescape

import pytest

from tests.support.finished_runs import example_comparison, split_result
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.formats.csv import comparison_csv
from tiedlm.report.formats.html import comparison_html
from tiedlm.report.formats.latex import comparison_latex
from tiedlm.report.formats.markdown import comparison_markdown

FORMATS = {
    "csv": comparison_csv,
    "html": comparison_html,
    "json": lambda comparison: comparison.model_dump_json(),
    "latex": comparison_latex,
    "markdown": comparison_markdown,
}
ABSENT = {
    "no words": (
        example_comparison(splits={"test": split_result(4.0, words=59, bytes=4_022)}),
        "the text does not put white space between its words",
    ),
    "a loss beyond float64": (
        example_comparison(splits={"test": split_result(800.0)}),
        "exp of 800.0 nats per token is beyond the largest number of float64",
    ),
    "one seed": (example_comparison(num_seeds=1), "one seed has no spread"),
    "no GPU": (example_comparison(), "no GPU"),
    "lost words": (
        example_comparison(splits={"test": split_result(4.0, words=None, words_reason="12 words became another")}),
        "12 words became another",
    ),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("case", ABSENT)
def test_a_figure_that_is_absent_has_its_reason_in_every_format(case: str, form: str) -> None:
    comparison, reason = ABSENT[case]
    write: Callable[[Comparison], str] = FORMATS[form]
    text = unescape(re.sub(r"<[^>]*>", " ", write(comparison))).replace("~", " ")
    assert reason in " ".join(text.split())
