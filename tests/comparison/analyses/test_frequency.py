"""Differences by frequency and by kind: what stands in a bin, what is said of it, and what is not."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.support.finished_runs import effective, split_result
from tests.support.stored_scores import COUNTS, END, SHAPES, TEXT, Stored, V
from tiedlm.comparison.analyses.frequency import FEWEST_DOCUMENTS, measure
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.question import Question
from tiedlm.comparison.significance import holm
from tiedlm.data.kinds import KINDS, Shape
from tiedlm.run.token_types import BINS, TokenTypes


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Better on the targets of one bin, worse on those of another, the same on the rest."""
    return Stored(tmp_path_factory.mktemp("planted")).add_pairs(5, {0: -2.0, 1: -0.3, 5: 0.2}, spread=0.002)


def test_every_token_stands_in_one_bin_and_the_sums_are_those_of_the_split(planted: Stored) -> None:
    for breakdown in planted.broken_down().breakdowns:
        assert [found.label for found in breakdown.bins] == list(KINDS if breakdown.by == "kind" else BINS)
        assert sum(found.tokens for found in breakdown.bins) == len(TEXT.target)
        assert sum(found.share or 0 for found in breakdown.bins) == pytest.approx(1)
        for place, (variant, runs) in enumerate(planted.runs.items()):
            scores = [found.scores[place] for found in breakdown.bins]
            assert {score.variant for score in scores} == {variant}
            assert sum(score.tokens for score in scores) == sum(run.splits["test"].tokens for run in runs)
            total = sum(run.splits["test"].nll for run in runs)
            assert sum(score.nll for score in scores) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("by", ["target", "preceding", "kind"])
def test_a_bin_holds_what_a_loop_over_the_tokens_puts_there(planted: Stored, by: str) -> None:
    """One token after the other, in plain Python."""
    run = planted.runs["tied"][2]
    with np.load(planted.path(run, "test")) as stored:
        nll = stored["nll"].astype(np.float64).tolist()
    held: dict[str, list[float]] = {}
    documents: dict[str, set[int]] = {}
    before = END
    for target, nats, document in zip(TEXT.target.tolist(), nll, TEXT.document.tolist(), strict=True):
        if by == "kind":
            goes_on = SHAPES[before] in (Shape.LETTERS, Shape.SPACED_LETTERS)
            is_letters = SHAPES[target] == Shape.LETTERS
            label = "word start" if is_letters and not goes_on else KINDS[SHAPES[target]]
        else:
            label = BINS[(target if by == "target" else before) % 6]
        held.setdefault(label, []).append(nats)
        documents.setdefault(label, set()).add(document)
        before = target
    alone = measure(FinishedRuns.of([run], Question("example", "untied", ("tied",)), planted.path))
    assert alone is not None
    (breakdown,) = [found for found in alone.breakdowns if found.by == by]
    for found in breakdown.bins:
        (score,) = found.scores
        assert (score.tokens, found.documents) == (len(held[found.label]), len(documents[found.label]))
        assert score.nll == pytest.approx(sum(held[found.label]), rel=1e-12)
        assert score.nats_per_token == pytest.approx(np.mean(held[found.label]))
        assert found.differences == []


def test_planted_differences_are_found_where_they_were_planted(planted: Stored) -> None:
    found = planted.differences("target")
    assert {label: difference.verdict for label, difference in found.items()} == {
        "0": None,
        "1-9": "better",
        "10-99": "equal",
        "100-999": "equal",
        "1k-9.9k": "equal",
        "10k+": "worse",
    }
    assert found["1-9"].mean == pytest.approx(-0.3, abs=0.01) and found["10k+"].mean == pytest.approx(0.2, abs=0.01)


def test_fewer_than_twenty_documents_have_a_difference_and_no_verdict(planted: Stored) -> None:
    rare = planted.bins("target")["0"]
    assert 0 < rare.documents < FEWEST_DOCUMENTS
    (found,) = rare.differences
    assert found.mean == pytest.approx(-2, abs=0.05)
    assert (found.verdict, found.p_difference, found.ci95_text) == (None, None, None)
    assert found.reason == "4 documents have such a token, and fewer than 20 have no verdict"


def test_intervals_and_p_values_are_students_over_seeds_corrected_within_the_breakdown(planted: Stored) -> None:
    for by in ("target", "preceding", "kind"):
        tested = [found for found in planted.differences(by).values() if found.verdict]
        raw = [stats.ttest_1samp(found.per_seed, 0).pvalue for found in tested]
        assert [found.p_difference for found in tested] == pytest.approx(holm(raw), rel=1e-9)
        for found in tested:
            interval = stats.ttest_1samp(found.per_seed, 0).confidence_interval(0.95)
            assert found.ci95_seeds == pytest.approx((interval.low, interval.high))
            assert found.num_corrected_for == len(tested)
            assert found.seeds == [0, 1, 2, 3, 4]


def test_intervals_over_documents_surround_the_difference(planted: Stored) -> None:
    for found in planted.differences("target").values():
        if found.ci95_text is not None:
            assert found.mean is not None
            assert found.ci95_text[0] - 1e-9 <= found.mean <= found.ci95_text[1] + 1e-9
    assert planted.differences("preceding")["10k+"].ci95_text is not None


def test_mass_is_the_mean_over_all_tokens_and_is_known_of_targets_alone(planted: Stored) -> None:
    masses = [found.scores[0].mass for found in planted.bins("target").values()]
    assert masses == pytest.approx([number / 21 for number in range(1, 7)])
    assert {
        score.mass for by in ("preceding", "kind") for found in planted.bins(by).values() for score in found.scores
    } == {None}


def test_one_config_against_itself_has_no_difference_in_any_bin(tmp_path: Path) -> None:
    stored = Stored(tmp_path).add_pairs(3, {}, spread=0.0)
    for by in ("target", "preceding", "kind"):
        for found in stored.differences(by).values():
            assert set(found.per_seed) == {0.0}
            assert found.verdict == ("no_difference" if found.reason is None else None)


def test_one_seed_has_intervals_over_documents_and_tells_nothing_of_seeds(tmp_path: Path) -> None:
    found = Stored(tmp_path).add_pairs(1, {1: -0.3}).differences("target")["1-9"]
    assert (found.verdict, found.ci95_seeds, found.p_difference) == ("cannot_tell", None, None)
    assert found.ci95_text is not None


def test_seeds_that_saw_other_batches_have_bins_of_their_own(tmp_path: Path) -> None:
    """A type that is in one bin for one seed and in the next bin for the other."""
    stored = Stored(tmp_path)
    other = COUNTS.copy()
    other[COUNTS == 3] = 12
    for seed, counts in enumerate((COUNTS, other)):
        nll = np.random.default_rng(seed).gamma(4, 1, len(TEXT.target))
        for variant in ("untied", "tied"):
            stored.add(variant, seed, nll - (0.1 if variant == "tied" else 0), counts)
    bins = stored.bins("target")
    num = int((TEXT.target % 6 == 1).sum())
    assert bins["1-9"].tokens == num / 2 and bins["1-9"].types == 5
    assert bins["1-9"].differences[0].seeds == [0]
    assert bins["10-99"].differences[0].seeds == [0, 1]
    assert sum(found.scores[0].tokens for found in bins.values()) == 2 * len(TEXT.target)


def test_variants_that_saw_other_batches_are_not_held_against_each_other(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    nll = np.ones(len(TEXT.target))
    stored.add("untied", 0, nll)
    stored.add("tied", 0, nll, COUNTS * 3)
    for found in stored.differences("target").values():
        assert (found.mean, found.verdict) == (None, None)
        assert found.reason == "the two do not have the same tokens in each bin"


def test_seeds_that_scored_another_text_are_not_taken_together(tmp_path: Path) -> None:
    stored = Stored(tmp_path).add_pairs(2, {})
    for variant in ("tied", "untied"):
        path = stored.path(stored.runs[variant][1], "test")
        with np.load(path) as kept:
            arrays = dict(kept)
        np.savez(path, **{**arrays, "document": np.minimum(arrays["document"], 30)})
    assert {found.reason for found in stored.differences("kind").values()} == {
        "the two do not have the same tokens in each bin"
    }


def test_an_empty_split_has_empty_bins(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    for variant in ("tied", "untied"):
        stored.add(variant, 0, np.zeros(len(TEXT.target)))
        run = stored.runs[variant][0]
        empty = split_result(0, nll=0.0, tokens=0, documents=0)
        stored.runs[variant] = [run.model_copy(update={"splits": {"test": empty}})]
        path = stored.path(run, "test")
        with np.load(path) as kept:
            np.savez(path, **{key: kept[key][:0] for key in kept})
    for by in ("target", "preceding", "kind"):
        for found in stored.bins(by).values():
            assert (found.tokens, found.share, found.documents) == (0, None, 0)
            assert found.differences[0].reason == "no such token in the test split"


def test_runs_that_are_no_pairs_have_no_difference_in_any_bin(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    stored.add("untied", 0, np.ones(len(TEXT.target)))
    stored.add("tied", 0, np.ones(len(TEXT.target)), effective=effective(precision="bf16"))
    found = stored.differences("kind")["digits"]
    assert (found.verdict, found.mean) == (None, None) and "precision differs" in (found.reason or "")


def test_a_tokenizer_without_kinds_leaves_that_breakdown_out_and_says_why(tmp_path: Path) -> None:
    found = Stored(tmp_path).add_pairs(2, {}, shapes=None).broken_down().breakdowns
    assert [(part.by, bool(part.bins)) for part in found] == [("target", True), ("preceding", True), ("kind", False)]
    assert found[2].reason == "the tokenizer does not show what its tokens are pieces of"


def test_runs_of_an_older_version_have_no_breakdown_and_a_reason(tmp_path: Path) -> None:
    stored = Stored(tmp_path).add_pairs(1, {})
    path = stored.path(stored.runs["tied"][0], "test")
    with np.load(path) as kept:
        arrays = {key: kept[key] for key in ("nll", "target", "document")}
    np.savez(path, **arrays)
    found = stored.broken_down()
    assert (found.breakdowns, found.movement) == ([], [])
    assert found.reason == "the scores of each token of tied, seed 0, lack the probability given to each bin"
    path.with_name("vocabulary.npz").unlink()
    assert stored.broken_down().reason == "the counts of each type of tied, seed 0, are not there"
    path.with_name("vocabulary.npz").write_bytes(b"no archive")
    assert stored.broken_down().reason == "the counts of each type of tied, seed 0, cannot be read (ValueError)"


def test_movement_is_the_mean_of_the_rows_in_a_bin(planted: Stored) -> None:
    for place, found in enumerate(planted.broken_down().movement):
        rows = np.arange(V)[np.arange(V) % 6 == place]
        for moved in found.variants:
            assert (found.label, moved.rows) == (BINS[place], len(rows))
            assert (moved.input, moved.output) == pytest.approx((rows.mean() / 10, rows.mean() / 5))


def test_rows_from_a_start_of_zero_have_no_movement(tmp_path: Path) -> None:
    stored = Stored(tmp_path).add_pairs(1, {})
    path = stored.path(stored.runs["tied"][0], "test").with_name("vocabulary.npz")
    moved = {"input": np.ones(V), "output": np.full(V, np.nan)}
    TokenTypes(COUNTS, COUNTS, END, moved, SHAPES).save(path)
    for found in stored.broken_down().movement:
        assert {part.variant: (part.input, part.output) for part in found.variants}["tied"] == (1.0, None)


def test_nothing_finished_is_nothing_to_break_down() -> None:
    assert measure(FinishedRuns.of([], Question("example", "untied", ()))) is None
