"""Which matrix of the baseline one matrix is like: decided over seeds, and never from one."""

import pytest

from tiedlm.comparison.significance import p_of_difference
from tiedlm.comparison.statistics import mean
from tiedlm.embeddings.nearer import METRICS, nearer
from tiedlm.embeddings.schema import OverSeeds


def likeness(side: str, metric: str, values: list[float], seeds: list[int] | None = None) -> OverSeeds:
    return OverSeeds(
        variant="tied",
        of=f"input ~ untied {side}",
        metric=metric,
        mean=mean(values),
        sd=None,
        ci95_seeds=None,
        chance=None,
        seeds=seeds or list(range(len(values))),
        per_seed=values,
    )


@pytest.mark.parametrize(("output", "verdict"), [([0.9, 0.92, 0.89], "output"), ([0.1, 0.12, 0.09], "input")])
def test_it_is_the_matrix_that_it_is_more_like_in_every_seed(output: list[float], verdict: str) -> None:
    given = [likeness("output", "cka", output), likeness("input", "cka", [0.5, 0.51, 0.5])]
    (found,) = nearer(given, ["tied"], "untied")
    assert found.verdict == verdict and found.num_corrected_for == 1
    assert found.per_seed == [one - base for one, base in zip(output, [0.5, 0.51, 0.5], strict=True)]
    assert found.p_difference == p_of_difference(found.per_seed)


def test_every_figure_is_corrected_for_the_others() -> None:
    given = [
        each
        for metric in METRICS
        for each in (likeness("output", metric, [0.6, 0.8, 0.5]), likeness("input", metric, [0.5, 0.5, 0.5]))
    ]
    found = list(nearer(given, ["tied"], "untied"))
    assert [each.metric for each in found] == [*METRICS]
    for each in found:
        alone = p_of_difference(each.per_seed)
        assert alone is not None and each.p_difference == min(1, len(METRICS) * alone) and each.num_corrected_for == 4
        assert each.verdict == "cannot_tell"
        assert each.ci95_corrected is not None and each.ci95_corrected[0] < 0 < each.ci95_corrected[1]


def test_from_one_seed_in_common_nothing_is_told() -> None:
    given = [likeness("output", "cka", [0.9, 0.8], [0, 1]), likeness("input", "cka", [0.2, 0.1], [1, 2])]
    (found,) = nearer(given, ["tied"], "untied")
    assert found.seeds == [1] and found.per_seed == [pytest.approx(0.6)]
    assert (found.ci95_corrected, found.p_difference, found.verdict) == (None, None, "cannot_tell")


def test_only_variants_with_one_matrix_are_asked_about() -> None:
    given = [likeness("output", "cka", [0.9, 0.8]), likeness("input", "cka", [0.2, 0.1])]
    assert list(nearer(given, ["soft"], "untied")) == [] == list(nearer(given, [], "untied"))
