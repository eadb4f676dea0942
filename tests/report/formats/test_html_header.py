"""What the head of the page says."""

import pytest

from tests.support.finished_runs import example_comparison
from tiedlm.report.formats.html_header import page_header


@pytest.mark.parametrize(
    ("statement", "headline"),
    [
        ("cannot tell whether", "Cannot tell whether."),
        ("there is no difference between a and b", "There is no difference between a and b."),
        ("one run failed and stands in no figure", "One run failed and stands in no figure."),
        ("tied is worse than untied", "tied is worse than untied."),
    ],
)
def test_a_statement_is_a_sentence_and_the_name_of_a_variant_stays(statement: str, headline: str) -> None:
    comparison = example_comparison().model_copy(update={"statements": [statement, statement]})
    header = str(page_header(comparison, {}))
    assert f">{headline}</h1>" in header
    assert header.count(headline) == 2
