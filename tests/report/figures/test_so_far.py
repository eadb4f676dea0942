"""What the finished seeds say while others are still to come."""

from collections.abc import Sequence

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, run_result, runs, summarize
from tiedlm.report.figures.so_far import so_far
from tiedlm.run.result import RunFailure, RunResult

PLANNED: dict[str, tuple[int, ...]] = {"tied": (0, 1, 2, 3, 4), "untied": (0, 1, 2, 3, 4)}


def said(results: list[RunResult], failures: Sequence[RunFailure] = ()) -> list[str]:
    variants = list(dict.fromkeys(["tied", "untied", *(run.variant for run in results)]))
    return list(so_far(summarize(results, failures, "example", "untied", variants, PLANNED)))


def test_one_seed_has_a_difference_and_no_verdict() -> None:
    (sentence,) = said([run_result("tied", nats=4.1), run_result("untied", nats=4.0)])
    assert sentence == "1 of 5 seeds: tied - untied = +0.100 nats per token on test: cannot tell from one seed."
    assert len(sentence) < 2 * 80


def test_some_seeds_have_an_interval_and_a_verdict_that_may_change() -> None:
    (clear,) = said([*runs("tied", [4.1, 4.11, 4.1]), *runs("untied", [4.0, 4.0, 4.01])])
    assert clear.startswith("3 of 5 seeds: tied - untied = +0.100 [")
    assert clear.endswith("] nats per token on test: tied is worse, so far.")
    (turned,) = said([*runs("tied", [4.0, 4.0, 4.01]), *runs("untied", [4.1, 4.11, 4.1])])
    assert "= -0.100 [" in turned and turned.endswith("tied is better, so far.")
    (open_one,) = said([*runs("tied", [4.1, 3.9]), *runs("untied", [4.0, 4.0])])
    assert open_one.endswith("on test: cannot tell yet.")


def test_each_variant_is_a_sentence() -> None:
    three = [*runs("tied", TIED_NATS[:2]), *runs("soft", TIED_NATS[:2]), *runs("untied", UNTIED_NATS[:2])]
    assert [sentence.split(" = ")[0] for sentence in said(three)] == [
        "2 of 5 seeds: tied - untied",
        "2 of 5 seeds: soft - untied",
    ]


def test_runs_that_failed_are_seeds_too_and_without_a_pair_the_comparison_says_why() -> None:
    failures = [RunFailure(variant="untied", seed=seed, kind="killed", message="killed") for seed in range(2)]
    (sentence,) = said([run_result("tied")], failures)
    assert "the baseline untied has not finished" in sentence
