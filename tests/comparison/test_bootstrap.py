"""Intervals over documents: the bootstrap itself, and what stored scores it accepts."""

import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.finished_runs import run_result, split_result, summarize
from tiedlm.comparison.bootstrap import NUM_RESAMPLES, bootstrap_ratio, bootstrap_ratios
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.run.result import RunResult

LENGTHS = (40, 10, 25, 60, 5, 30, 20, 50, 15, 45, 35, 8)


class Scored:
    """Runs on documents of these lengths, and the files of their scores."""

    def __init__(self, folder: Path, lengths: Sequence[int] = LENGTHS) -> None:
        self.folder = folder
        self.document = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        self.target = np.random.default_rng(0).integers(0, 50, len(self.document)).astype(np.uint16)
        self.results: list[RunResult] = []

    def path(self, run: RunResult, split: str) -> Path:
        return self.folder / f"{run.variant}-{run.seed}-{split}.npz"

    def add(self, variant: str, seed: int, nll: np.ndarray) -> None:
        stored = nll.astype(np.float32)
        split = split_result(0, nll=float(stored.sum(dtype=np.float64)), tokens=len(nll), documents=len(LENGTHS))
        run = run_result(variant, seed, splits={"test": split})
        np.savez_compressed(self.path(run, "test"), nll=stored, target=self.target, document=self.document)
        self.results.append(run)

    def add_pairs(self, num_seeds: int, shift: float = -0.2) -> "Scored":
        draws = np.random.default_rng(1)
        for seed in range(num_seeds):
            nll = draws.normal(4, 1, len(self.target))
            self.add("untied", seed, nll)
            self.add("tied", seed, nll + draws.normal(shift, 0.3, len(nll)))
        return self

    def compared(self) -> Comparison:
        return summarize(self.results, [], "example", "untied", ["tied", "untied"], scores_of=self.path)

    def difference(self) -> Difference:
        (found,) = self.compared().differences
        return found

    def sums(self, variant: str) -> np.ndarray:
        """Nats of each document, the mean over seeds, read back and added up token by token."""
        totals = np.zeros(self.document.max() + 1)
        runs = [run for run in self.results if run.variant == variant]
        for run in runs:
            with np.load(self.path(run, "test")) as stored:
                np.add.at(totals, stored["document"], stored["nll"].astype(np.float64))
        return totals / len(runs)


def test_the_interval_is_that_of_resampling_document_by_document(tmp_path: Path) -> None:
    """A plain loop with draws of its own: the ends agree within the error of so many resamples."""
    scored = Scored(tmp_path).add_pairs(2)
    found = scored.difference()
    difference, counts = scored.sums("tied") - scored.sums("untied"), np.array(LENGTHS)
    draws = np.random.default_rng(99)
    ratios = []
    for _ in range(NUM_RESAMPLES):
        drawn = [int(index) for index in draws.integers(len(LENGTHS), size=len(LENGTHS))]
        ratios.append(sum(difference[index] for index in drawn) / sum(counts[index] for index in drawn))
    assert len(LENGTHS) == 12
    tail = 0.010757  # the normal tail at 2.2010 (Student's t of 11, 97.5 %) times the root of 12 / 11
    expected = np.quantile(ratios, [tail, 1 - tail])
    assert found.num_documents == len(LENGTHS)
    assert found.ci95_text == pytest.approx(tuple(expected), abs=0.05 * (expected[1] - expected[0]))
    assert found.ci95_text is not None and found.mean is not None
    assert found.ci95_text[0] < found.mean < found.ci95_text[1]


def test_documents_of_equal_length_give_scipys_bootstrap_of_a_mean() -> None:
    from scipy import stats

    sums = np.random.default_rng(2).normal(-3, 2, 60)
    confidence = 1 - 2 * stats.norm.sf(stats.t.ppf(0.975, 59) * (60 / 59) ** 0.5)
    reference = stats.bootstrap(
        (sums / 100,), np.mean, method="percentile", n_resamples=10_000, rng=3, confidence_level=confidence
    )
    low, high = bootstrap_ratio(sums, np.full(60, 100))
    expected = reference.confidence_interval
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.03 * (expected.high - expected.low))


def test_ratios_in_one_go_are_those_one_by_one_in_the_same_resamples() -> None:
    draws = np.random.default_rng(3)
    sums, counts = draws.normal(0, 5, (3, 40)), draws.integers(1, 9, (3, 40))
    together = bootstrap_ratios(sums, counts, 2_000)
    for found, one, other in zip(together, sums, counts, strict=True):
        assert found == pytest.approx(bootstrap_ratio(one, other, 2_000), rel=1e-12)


def test_resamples_without_a_token_are_left_out() -> None:
    """One document of twenty has all the tokens: drawn or not, the ratio is its own."""
    sums, counts = np.zeros((1, 20)), np.zeros((1, 20))
    sums[0, 7], counts[0, 7] = -6, 4
    assert bootstrap_ratios(sums, counts, 500) == [(-1.5, -1.5)]


def test_a_constant_difference_per_token_has_no_width_whatever_the_lengths() -> None:
    counts = np.array(LENGTHS)
    assert bootstrap_ratio(-0.25 * counts, counts) == (-0.25, -0.25)


def test_it_is_seeded_and_turns_round_with_the_order_of_the_two(tmp_path: Path) -> None:
    scored = Scored(tmp_path).add_pairs(1)
    there = scored.difference()
    (back,) = summarize(scored.results, [], "x", "tied", ["tied", "untied"], scores_of=scored.path).differences
    assert there.ci95_text == scored.difference().ci95_text
    assert there.ci95_text is not None
    assert back.ci95_text == pytest.approx((-there.ci95_text[1], -there.ci95_text[0]))


def test_sixty_documents_take_a_moment_and_thirty_thousand_little_memory() -> None:
    draws = np.random.default_rng(4)
    began = time.perf_counter()
    bootstrap_ratio(draws.normal(0, 1, 60), draws.integers(1, 9_000, 60))
    assert time.perf_counter() - began < 1
    sums, counts = draws.normal(0, 1, 30_000), draws.integers(1, 9_000, 30_000)
    tracemalloc.start()
    bootstrap_ratio(sums, counts, num_resamples=200)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20, "200 x 30,000 draws at once would take more"


def test_one_seed_tells_of_two_checkpoints_and_not_of_two_ways(tmp_path: Path) -> None:
    comparison = Scored(tmp_path).add_pairs(1).compared()
    assert comparison.differences[0].verdict == "cannot_tell"
    assert "from one seed, which has no spread: these two checkpoints differ, by -0.1" in comparison.verdict
    assert "95 % interval over 12 documents -0.2" in comparison.verdict
    assert "better than" not in comparison.verdict
    (tmp_path / "same").mkdir()
    unclear = Scored(tmp_path / "same").add_pairs(1, shift=0.0).compared()
    assert "not even these two checkpoints can be told apart" in unclear.verdict


def test_scores_that_are_missing_leave_null_and_a_reason(tmp_path: Path) -> None:
    scored = Scored(tmp_path).add_pairs(2)
    scored.path(scored.results[2], "test").unlink()
    found = scored.difference()
    assert (found.ci95_text, found.num_documents) == (None, None)
    assert found.text_reason == "the scores of each token of untied, seed 1, are not there"
    assert found.ci95_seeds is not None
    assert scored.compared().notes == [
        "tied: no interval over the documents of test, for the scores of each token of untied, seed 1, are not there."
    ]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and then nothing", b"no archive at all"])
def test_a_broken_file_is_a_reason_and_no_error(tmp_path: Path, content: bytes) -> None:
    scored = Scored(tmp_path).add_pairs(1)
    scored.path(scored.results[0], "test").write_bytes(content)
    assert "of untied, seed 0, cannot be read" in (scored.difference().text_reason or "")


def test_an_archive_of_something_else_is_a_reason_and_no_error(tmp_path: Path) -> None:
    scored = Scored(tmp_path).add_pairs(1)
    np.savez(scored.path(scored.results[0], "test"), something=np.zeros(3))
    assert "cannot be read (KeyError)" in (scored.difference().text_reason or "")


def test_scores_of_another_evaluation_do_not_pass_for_those_of_the_result(tmp_path: Path) -> None:
    scored = Scored(tmp_path).add_pairs(1)
    path = scored.path(scored.results[1], "test")
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **{**arrays, "nll": arrays["nll"] * 1.001})
    assert "of tied, seed 0, do not add up to its result" in (scored.difference().text_reason or "")


@pytest.mark.parametrize("key", ["target", "document"])
def test_other_tokens_or_documents_are_not_paired(tmp_path: Path, key: str) -> None:
    scored = Scored(tmp_path).add_pairs(1)
    path = scored.path(scored.results[1], "test")
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **{**arrays, key: np.sort(arrays[key])[::-1] + 1})
    assert "did not score the same tokens of the same documents" in (scored.difference().text_reason or "")


@pytest.mark.parametrize(("lengths", "words"), [([90], "one document"), ([30, 40, 20], "3 documents")])
def test_few_documents_say_nothing_of_others(tmp_path: Path, lengths: list[int], words: str) -> None:
    found = Scored(tmp_path, lengths).add_pairs(2).difference()
    assert (found.ci95_text, found.num_documents) == (None, len(lengths))
    assert (found.text_reason or "").startswith(words)
