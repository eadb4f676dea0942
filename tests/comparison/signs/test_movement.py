"""Embeddings that move much less than the body, each beside its own size."""

from collections.abc import Sequence

import pytest

from tests.support.finished_runs import compared, run_result
from tiedlm.comparison.analyses.signs import Signs
from tiedlm.comparison.signs.movement import SLOWEST
from tiedlm.run.result import RunResult, UpdateRatios

Ratios = Sequence[float | None]


def measured(variant: str, seed: int = 0, **by_part: Ratios) -> RunResult:
    ratios = UpdateRatios(steps=[10, 30, 50], by_part={part: list(values) for part, values in by_part.items()})
    return run_result(variant, seed, update_ratios=ratios)


def signs_of(*results: RunResult) -> Signs:
    found = compared(*results).analysis(Signs)
    assert found is not None
    return found


BODY = (0.04, 0.02, 0.01)


def test_an_embedding_that_moves_less_than_the_limit_is_a_sign_and_the_slowest_comes_first() -> None:
    tied = measured("tied", shared_embedding=(0.016, 0.008, 0.004), body=BODY)
    untied = measured("untied", input_embedding=(0.03, 0.02, 0.01), output_embedding=(0.004, 0.002, 0.001), body=BODY)
    first, second = signs_of(tied, untied).signs
    assert (first.subject, second.subject) == ("the output embedding of untied", "the shared embedding of tied")
    assert [first.value, second.value] == pytest.approx([0.1, 0.4])
    assert first.limit == SLOWEST
    assert first.statement == (
        "a step moves the output embedding of untied, beside its size, 0.10 times as far as the body: it may learn too "
        "slowly"
    )


def test_one_that_keeps_up_is_none_and_its_figures_are_there_all_the_same() -> None:
    found = signs_of(measured("untied", output_embedding=[SLOWEST * value for value in BODY], body=BODY))
    assert found.signs == []
    (movement,) = found.movements
    assert (movement.ratio, movement.body, movement.quotient) == pytest.approx((0.01, 0.02, SLOWEST))


def test_it_is_the_median_over_steps_and_the_mean_over_seeds() -> None:
    """Steps without a ratio are left out, on both sides."""
    results = [
        measured("untied", 0, output_embedding=(0.04, None, 0.001), body=BODY),
        measured("untied", 1, output_embedding=(None, 0.01, None), body=BODY),
    ]
    (movement,) = signs_of(*results).movements
    assert movement.quotient == pytest.approx(((1.0 + 0.1) / 2 + 0.5) / 2)
    assert movement.seeds == [0, 1]


def test_runs_of_an_earlier_version_have_the_reason_and_no_sign() -> None:
    found = signs_of(run_result("tied"), run_result("untied"))
    assert found.signs == []
    assert {(each.quotient, each.reason) for each in found.movements} == {
        (None, "the runs are of a version that did not measure it")
    }


@pytest.mark.parametrize(
    "by_part",
    [{"body": BODY}, {"output_embedding": (None, None, None), "body": BODY}, {"output_embedding": (0.1, 0.1, 0.1)}],
    ids=["no embedding", "a start of zero", "no body"],
)
def test_no_sign_comes_of_what_is_absent(by_part: dict[str, Ratios]) -> None:
    assert signs_of(measured("untied", 0, **by_part)).signs == []
