"""How a comparison stands while runs are still to come."""

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, compared, run_result, runs, summarize
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.so_far import differences_so_far


def half_way(num_done: int) -> Comparison:
    """Tied and untied with some of five seeds."""
    results = [*runs("tied", TIED_NATS[:num_done]), *runs("untied", UNTIED_NATS[:num_done])]
    planned: dict[str, tuple[int, ...]] = {"tied": (0, 1, 2, 3, 4), "untied": (0, 1, 2, 3, 4)}
    return summarize(results, [], "example", "untied", ["tied", "untied"], planned)


def test_each_pair_has_one_sentence_with_how_many_of_its_seeds_are_done() -> None:
    (said,) = differences_so_far(half_way(3))
    assert said.startswith("tied minus untied after 3 of 5 seeds: -0.0317 nats per token on test (95 % interval -0.03")
    assert said.endswith("), in favour of tied.")
    (said,) = differences_so_far(half_way(1))
    assert said == (
        "tied minus untied after 1 of 5 seeds: -0.033 nats per token on test (no interval yet), in favour of tied."
    )


def test_no_direction_is_assumed_and_what_is_not_there_has_its_reason() -> None:
    (worse,) = differences_so_far(compared(*runs("tied", [4.5, 4.6]), *runs("untied", [4.0, 4.1])))
    assert worse.endswith("in favour of untied.")
    (equal,) = differences_so_far(compared(*runs("tied", [4.0, 4.1]), *runs("untied", [4.0, 4.1])))
    assert equal.endswith("equal so far.")
    (none,) = differences_so_far(compared(run_result("tied", 1), run_result("untied", 2)))
    assert none == "tied minus untied after 0 of 2 seeds: none, no seed has finished in both."
