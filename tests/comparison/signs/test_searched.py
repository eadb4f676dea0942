"""What speaks against the choice of a search, with scores made by hand."""

from typing import Any

import pytest

from tests.support.finished_runs import runs, summarize
from tests.support.tuned_runs import RATE, rates, search
from tiedlm.comparison.analyses.signs import Signs
from tiedlm.comparison.signs.sign import Sign
from tiedlm.experiment.tuning import Tuning

RATES = rates(1e-3, 2e-3, 4e-3)


def signs(tuning: Tuning | None, difference: float = 0.05, **settings: Any) -> list[Sign]:
    """Of two seeds of each arm, `tied` above `untied` by about `difference`, with what was chosen unless said."""
    nats = {"tied": [4.0 + difference, 4.001 + difference], "untied": [4.0, 4.0015]}
    results = []
    for variant, values in nats.items():
        tuned = tuning.of(variant) if tuning else None
        chosen = settings.get(variant, tuned.settings if tuned else {})
        for run in runs(variant, values):
            training = {**run.config["training"], **{key.partition(".")[2]: value for key, value in chosen.items()}}
            results.append(run.model_copy(update={"config": {**run.config, "training": training}}))
    comparison = summarize(results, [], "example", "untied", ["tied", "untied"], tuning=tuning)
    found = comparison.analysis(Signs)
    assert found is not None
    return found.signs


def kinds(*found: Sign) -> list[tuple[str, str]]:
    return [(sign.kind, sign.variant) for sign in found]


def test_a_grid_whose_next_settings_are_worse_by_more_than_the_difference_is_coarse() -> None:
    """Of tied both neighbours are; of untied the nearer one is within the difference."""
    tuning = search(RATES, tied=(4.3, 4.1, 4.2), untied=(4.3, 4.1, 4.12))
    (sign,) = signs(tuning)
    assert kinds(sign) == [("coarse_grid", "tied")]
    assert sign.value == pytest.approx(0.1)
    assert sign.limit == pytest.approx(0.05, abs=1e-3)
    assert sign.statement.startswith(
        "the next learning_rate tried for tied (0.002 to 0.004) costs 0.100 nats per token of validation, more than "
        "the difference of 0.0"
    )
    assert signs(tuning, difference=0.2) == []


def test_a_choice_at_the_edge_is_that_sign_and_not_a_coarse_grid() -> None:
    tuning = search(RATES, tied=(4.1, 4.3, 4.5), untied=(4.3, 4.2, 4.0))
    tied, untied = signs(tuning)
    assert kinds(tied, untied) == [("edge_of_grid", "tied"), ("edge_of_grid", "untied")]
    assert tied.statement == "the best may lie beyond what was tried: tied (learning_rate 0.001, the smallest)"
    assert untied.subject == "untied (learning_rate 0.004, the largest)"


def test_runs_that_did_not_take_the_best_setting_tried_are_told_by_how_much() -> None:
    tuning = search(RATES, tied=(4.2, 4.1, 4.14), untied=(4.2, 4.1, 4.14))
    assert signs(tuning) == []
    (sign,) = signs(tuning, tied={RATE: 1e-3})
    assert kinds(sign) == [("better_setting_tried", "tied")]
    assert sign.value == pytest.approx(0.1)
    said = "the runs of tied had learning_rate=0.001, and in the search learning_rate=0.002 was better for it by 0.100 "
    assert sign.statement.startswith(said)
    assert signs(tuning, tied={RATE: 4e-3}) == [], "worse by less than the difference"
    assert signs(tuning, tied={RATE: 3e-3}) == [], "it was not tried: nothing is known"


def test_each_setting_of_a_grid_is_looked_at_with_the_others_as_chosen() -> None:
    points = [{RATE: rate, "training.weight_decay": decay} for rate in (1e-3, 2e-3, 4e-3) for decay in (0.0, 0.1, 0.2)]
    flat = [4.5, 4.5, 4.5, 4.11, 4.1, 4.11, 4.5, 4.5, 4.5]
    flatter = [4.13, 4.13, 4.13, 4.11, 4.1, 4.11, 4.13, 4.13, 4.13]
    (sign,) = signs(search(points, tied=flat, untied=flatter))
    assert sign.subject == "tied (learning_rate)"


@pytest.mark.parametrize(
    ("points", "nats"),
    [
        (RATES, (None, 4.1, None)),
        ([RATES[0], RATES[1]], (4.1, 4.5)),
        ([{"training.schedule": name} for name in ("cosine", "constant", "wsd")], (4.5, 4.1, 4.5)),
    ],
    ids=["neighbours diverged", "no inner value", "no numbers"],
)
def test_a_grid_is_called_coarse_only_by_two_measured_neighbours(
    points: list[dict[str, Any]], nats: tuple[float | None, ...]
) -> None:
    found = signs(search(points, tied=nats, untied=nats))
    assert {sign.kind for sign in found} <= {"edge_of_grid"}


def test_without_a_search_there_is_no_sign_of_one() -> None:
    assert signs(None) == []
