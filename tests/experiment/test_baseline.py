"""The baseline where nobody names one."""

from tiedlm.experiment.baseline import default_baseline


def test_it_is_untied_where_there_is_one_and_else_the_first() -> None:
    assert default_baseline(["tied", "untied"]) == "untied"
    assert default_baseline(["soft", "tied"]) == "soft"
