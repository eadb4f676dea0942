"""Finished runs side by side: sums, verdicts, and the document that is stored."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.finished_runs import (
    TIED_NATS,
    TOKENS,
    UNTIED_NATS,
    WORDS,
    effective,
    example_comparison,
    hashes,
    run_result,
    runs,
    split_result,
    summarize,
)
from tiedlm.comparison.comparison import Comparison, load_comparison, store_comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.statistics import sample_sd
from tiedlm.config.base import ConfigError
from tiedlm.run.result import Memory, RunFailure, RunResult


def compare(results: list[RunResult], **changes: Any) -> Comparison:
    names = list(dict.fromkeys(result.variant for result in results))
    arguments: dict[str, Any] = {"failures": [], "name": "example", "baseline": "untied", "order": names}
    return summarize(results, **arguments | changes)


def difference(comparison: Comparison, split: str = "test") -> Difference:
    return next(found for found in comparison.differences if found.split == split)


def test_perplexity_comes_from_sums_and_not_from_means_of_means() -> None:
    """1,023 tokens at 2.0 nats, 512 at 3.0, 7 at 8.0: exp(3,638 / 1,542)."""
    pieces = [(1_023, 2.0), (512, 3.0), (7, 8.0)]
    results = [
        run_result("untied", seed, splits={"test": split_result(0, nll=tokens * nats, tokens=tokens)})
        for seed, (tokens, nats) in enumerate(pieces)
    ]
    summary = compare(results).variants[0].splits["test"]
    assert (summary.nll, summary.tokens) == (3_638.0, 1_542)
    assert summary.token_perplexity == pytest.approx(10.583, abs=5e-4)


def test_word_and_token_perplexity_are_one_nll_over_two_counts() -> None:
    summary = example_comparison().variants[0].splits["test"]
    assert summary.word_perplexity and summary.token_perplexity and summary.words and summary.bits_per_byte
    by_words = math.log(summary.word_perplexity) * summary.words
    by_tokens = math.log(summary.token_perplexity) * summary.tokens
    assert by_words == pytest.approx(by_tokens, rel=1e-9)
    assert summary.bits_per_byte * (summary.bytes or 0) * math.log(2) == pytest.approx(summary.nll, rel=1e-12)


def test_the_headline_perplexity_is_the_geometric_mean_of_the_seeds() -> None:
    summary = example_comparison().variants[0].splits["test"]
    logs = [math.log(score.token_perplexity or 0) for score in summary.per_seed]
    assert summary.token_perplexity == pytest.approx(math.exp(sum(logs) / len(logs)), rel=1e-12)
    assert summary.token_perplexity_sd == sample_sd([score.token_perplexity or 0 for score in summary.per_seed])
    assert [score.seed for score in summary.per_seed] == [0, 1, 2, 3, 4]
    assert (summary.tokens, summary.words) == (5 * TOKENS, 5 * WORDS)


def test_one_seed_has_no_spread_no_interval_and_no_verdict() -> None:
    comparison = example_comparison(num_seeds=1)
    assert comparison.variants[0].splits["test"].token_perplexity_sd is None
    found = difference(comparison)
    assert (found.num_seeds, found.ci95_seeds, found.verdict) == (1, None, "cannot_tell")
    assert found.mean == pytest.approx(TIED_NATS[0] - UNTIED_NATS[0])
    assert "cannot tell whether tied or untied is better on test from one seed" in comparison.verdict


@pytest.mark.parametrize(("tied", "untied", "verdict"), [(-0.03, 0.0, "better"), (0.03, 0.0, "worse")])
def test_a_verdict_needs_an_interval_without_zero_and_takes_either_direction(
    tied: float, untied: float, verdict: str
) -> None:
    noise = (0.001, -0.002, 0.002, -0.001)
    comparison = compare(
        [*runs("tied", [4 + tied + change for change in noise]), *runs("untied", [4 + untied] * len(noise))]
    )
    assert difference(comparison).verdict == verdict
    assert f"tied is {verdict} than untied by 0.030" in comparison.verdict


def test_exchanging_the_two_mirrors_every_figure() -> None:
    results = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS)]
    there, back = difference(compare(results)), difference(compare(results, baseline="tied"))
    assert (there.verdict, back.verdict) == ("better", "worse")
    assert there.mean == -(back.mean or 0)
    assert there.ci95_seeds and back.ci95_seeds
    assert there.ci95_seeds == (-back.ci95_seeds[1], -back.ci95_seeds[0])


def test_an_interval_that_holds_zero_cannot_tell() -> None:
    comparison = compare([*runs("tied", [4.0, 4.1, 3.9]), *runs("untied", [4.1, 3.95, 4.0])])
    assert difference(comparison).verdict == "cannot_tell"
    assert "cannot tell whether tied or untied is better on test: the difference is" in comparison.verdict


@pytest.mark.parametrize("num_seeds", [1, 3])
def test_the_same_scores_are_no_difference(num_seeds: int) -> None:
    comparison = compare([*runs("again", TIED_NATS[:num_seeds]), *runs("untied", TIED_NATS[:num_seeds])])
    found = difference(comparison)
    assert (found.mean, found.verdict) == (0.0, "no_difference")
    assert found.ci95_seeds == ((0.0, 0.0) if num_seeds > 1 else None)
    assert "there is no difference between again and untied" in comparison.verdict


def test_the_verdict_names_its_conditions() -> None:
    verdict = example_comparison().verdict
    for condition in ("WikiText-103 (wikitext-103-v1)", "V=32,000", "D=768", "100M tokens", "fp32", "5 seeds"):
        assert condition in verdict


def test_only_whole_pairs_enter_the_difference() -> None:
    comparison = compare([*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS[:3])])
    found, pairs = difference(comparison), zip(TIED_NATS[:3], UNTIED_NATS[:3], strict=True)
    assert (found.num_seeds, found.seeds) == (3, [0, 1, 2])
    assert found.mean == pytest.approx(sum(one - other for one, other in pairs) / 3)
    assert "over the 3 seeds in common" in comparison.verdict
    assert any("different seeds finished" in note for note in comparison.notes)


def test_runs_that_are_no_pairs_get_no_verdict_but_the_reason() -> None:
    comparison = compare(
        [*runs("tied", TIED_NATS, effective=effective(precision="bf16")), *runs("untied", UNTIED_NATS)]
    )
    found = difference(comparison)
    assert (found.pairing.level, found.ci95_seeds, found.verdict) == ("none", None, "cannot_tell")
    assert found.mean is not None
    assert "bf16 and fp32" in comparison.verdict
    assert "the runs are not pairs (precision differs: bf16 against fp32)" in comparison.verdict


def test_other_tokens_are_not_subtracted_from_each_other() -> None:
    """Of a variant that asks for another tokenizer."""
    config = run_result().config | {"data": {"corpus": {"type": "wikitext"}, "tokenizer": {"type": "byte"}}}
    other = [
        run_result("tied", seed, nats, config=config, hashes=hashes(seed, tokens="x"))
        for seed, nats in enumerate(TIED_NATS)
    ]
    found = difference(compare([*other, *runs("untied", UNTIED_NATS)]))
    assert (found.mean, found.ci95_seeds, found.per_seed, found.verdict) == (None, None, [], "cannot_tell")


def test_without_a_seed_in_common_nothing_is_told() -> None:
    comparison = compare([run_result("tied", 0), run_result("untied", 1)])
    found = difference(comparison)
    assert (found.num_seeds, found.mean, found.verdict) == (0, None, "cannot_tell")
    assert "no seed has finished in both" in comparison.verdict


def test_one_variant_alone_and_nothing_at_all_are_said() -> None:
    assert "untied alone has finished" in compare([run_result("untied")]).verdict
    assert "the baseline untied has not finished" in compare([run_result("tied")]).verdict
    nothing = compare([])
    assert (nothing.variants, nothing.differences, nothing.conditions) == ([], [], None)
    assert "No run has finished" in nothing.verdict


def test_failed_runs_are_listed_and_stand_in_no_figure() -> None:
    failure = RunFailure(variant="untied", seed=4, kind="out_of_memory", message="too big", step=7)
    planned = {"tied": range(6), "untied": range(6)}
    results = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS[:4])]
    comparison = compare(results, failures=[failure], planned=planned)
    assert comparison.failures == [failure]
    assert [(run.variant, run.seed) for run in comparison.pending] == [("tied", 5), ("untied", 5)]
    assert comparison.variants[1].seeds == [0, 1, 2, 3]
    assert "so far" in comparison.verdict
    assert "one run failed and stands in no figure" in comparison.verdict


def added(run: RunResult, role: str, of: str) -> RunResult:
    """As the plan adds it."""
    return run.model_copy(update={"config": {**run.config, "added": {"role": role, "of": of}}})


def test_what_the_plan_added_is_shown_and_not_judged() -> None:
    asked = [*runs("tied", TIED_NATS), *runs("soft", UNTIED_NATS), *runs("untied", UNTIED_NATS)]
    more = [added(run, "matched_width", "tied") for run in runs("tied+width", TIED_NATS, tying="tied")]
    order = ["untied", "tied+width", "tied", "soft"]
    without = compare(asked, order=["untied", "tied", "soft"])
    with_it = compare([*asked, *more], order=order)
    assert [variant.name for variant in with_it.variants] == order
    assert (with_it.differences, with_it.statements) == (without.differences, without.statements)
    assert with_it.primary == "tied", "the first that was asked for"
    assert {found.variant for found in with_it.differences} == {"tied", "soft"}
    assert with_it.variants[1].added is not None


def test_what_the_plan_added_may_be_the_baseline_when_it_is_named() -> None:
    more = [added(run, "matched_width", "tied") for run in runs("tied+width", TIED_NATS, tying="tied")]
    comparison = compare([*runs("tied", TIED_NATS), *more], baseline="tied+width")
    assert {(found.variant, found.baseline) for found in comparison.differences} == {("tied", "tied+width")}


def test_two_results_of_one_variant_and_seed_are_refused() -> None:
    with pytest.raises(ConfigError, match="both tied with seed 3"):
        compare([run_result("tied", 3), run_result("tied", 3)])


def test_variants_stand_in_the_order_asked_for() -> None:
    results = [*runs("b", [4.0]), *runs("untied", [4.0]), *runs("a", [4.0])]
    comparison = compare(results, order=["a", "missing", "untied", "b"])
    assert [variant.name for variant in comparison.variants] == ["a", "untied", "b"]


def test_missing_counts_stay_null_with_their_reason() -> None:
    lossy = split_result(4.0, words=None, words_reason="12 words became <unk>", bytes=None, bytes_reason="lossy")
    results = [run_result("tied", splits={"test": lossy}), run_result("untied", splits={"test": lossy})]
    summary = compare(results).variants[0].splits["test"]
    assert (summary.words, summary.word_perplexity, summary.words_reason) == (None, None, "12 words became <unk>")
    assert (summary.bytes, summary.bits_per_byte, summary.bytes_reason) == (None, None, "lossy")
    assert summary.per_seed[0].word_perplexity is None


def test_peaks_are_the_largest_over_seeds_and_missing_ones_stay_null() -> None:
    def memory(peak: int) -> Memory:
        return Memory(
            gpu_peak_allocated_bytes=peak,
            gpu_peak_reserved_bytes=None,
            predicted_peak_bytes=None,
            host_peak_rss_bytes=2 * peak,
        )

    results = [run_result("untied", seed, memory=memory(peak)) for seed, peak in enumerate((5, 9, 7))]
    assert compare(results).variants[0].memory == memory(9)


def test_speed_is_all_steady_tokens_over_all_steady_seconds() -> None:
    results = [
        run_result("untied", 0, steady_tokens=100, steady_seconds=1.0, seconds=2.0),
        run_result("untied", 1, steady_tokens=100, steady_seconds=4.0, seconds=5.0),
    ]
    variant = compare(results).variants[0]
    assert (variant.tokens_per_second, variant.seconds) == (40.0, 7.0)
    unmeasured = compare([run_result("untied", steady_tokens=0, steady_seconds=0.0)]).variants[0]
    assert unmeasured.tokens_per_second is None


def test_the_saving_is_absolute_and_a_share_of_the_baseline() -> None:
    """GPT-2 small: 124,439,808 tied and 163,037,184 untied."""
    tied, untied = example_comparison().variants
    assert tied.against_baseline is not None
    assert tied.against_baseline.parameters == -38_597_376
    assert tied.against_baseline.percent == pytest.approx(-100 * 38_597_376 / 163_037_184)
    assert untied.against_baseline is None


def test_the_document_has_the_keys_that_others_rely_on() -> None:
    document = json.loads(json.dumps(example_comparison().model_dump(mode="json"), allow_nan=False))
    assert {"experiment", "baseline", "variants", "differences"} <= document.keys()
    variant = document["variants"][0]
    assert {
        "name",
        "tying",
        "seeds",
        "parameters",
        "splits",
        "memory",
        "tokens_per_second",
        "seconds",
    } <= variant.keys()
    assert {"total", "non_embedding", "flops_per_token", "parts"} <= variant["parameters"].keys()
    figures = {"nll", "tokens", "words", "bytes", "token_perplexity", "word_perplexity", "bits_per_byte", "per_seed"}
    assert figures <= variant["splits"]["test"].keys() & variant["splits"]["validation"].keys()
    peaks = {"gpu_peak_allocated_bytes", "gpu_peak_reserved_bytes", "predicted_peak_bytes", "host_peak_rss_bytes"}
    assert peaks <= variant["memory"].keys()
    found = document["differences"][0]
    assert (found["variant"], found["baseline"], found["split"], found["metric"], found["num_seeds"]) == (
        "tied",
        "untied",
        "test",
        "nats_per_token",
        5,
    )
    assert isinstance(found["ci95_seeds"], list)
    assert {"mean", "ci95_text", "verdict", "seeds_needed"} <= found.keys()
    assert found["pairing"].keys() == {"level", "reasons"}


def test_a_stored_comparison_is_read_back_unchanged(tmp_path: Path) -> None:
    failure = RunFailure(variant="untied", seed=9, kind="diverged", message="loss is not finite", step=3)
    comparison = compare([*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS)], failures=[failure])
    path = store_comparison(comparison, tmp_path)
    assert load_comparison(tmp_path) == comparison
    assert json.loads(path.read_text()) == comparison.model_dump(mode="json")


def test_a_perplexity_beyond_float64_is_null_and_never_infinite_in_json() -> None:
    splits = {"test": split_result(800.0)}
    comparison = compare([*runs("tied", [4.0, 4.0], splits=splits), *runs("untied", [4.0, 4.0], splits=splits)])
    assert comparison.variants[0].splits["test"].token_perplexity is None
    assert comparison.variants[0].splits["test"].nats_per_token == pytest.approx(800.0)
    json.dumps(comparison.model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize("content", [None, "", "{", '{"schema_version": 1}', "[1]"])
def test_a_missing_or_foreign_file_is_one_clear_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "comparison.json").write_text(content)
    with pytest.raises(ConfigError, match=r"comparison\.json.*tiedlm compare"):
        load_comparison(tmp_path)


def test_seeds_that_differ_by_exactly_the_same_amount_have_no_spread_to_judge_by() -> None:
    """Independent runs do not: they are copies, or nothing was trained."""
    copies = [
        run_result(variant, seed, nats) for variant, nats in (("tied", 3.5), ("untied", 3.0)) for seed in (0, 1, 2)
    ]
    comparison = summarize(copies, [], "copies", "untied", ["tied", "untied"])
    assert [difference.verdict for difference in comparison.differences] == ["cannot_tell", "cannot_tell"]


def test_lengths_that_round_to_one_figure_are_said_once() -> None:
    """An epoch's last window is short, so that two seeds may differ by a few tokens."""
    results = [
        run_result(variant, seed, 3.5, tokens_seen=614_400 - seed) for variant in ("tied", "untied") for seed in (0, 1)
    ]
    comparison = summarize(results, [], "short", "untied", ["tied", "untied"])
    assert comparison.conditions is not None
    assert "614k tokens" in comparison.conditions.words()
    assert "614k and" not in comparison.conditions.words()


def test_what_repeats_a_variant_comes_along() -> None:
    tied, _ = example_comparison().variants
    assert tied.config == run_result("tied", 0, TIED_NATS[0]).config
    assert all(run.versions == {"torch": "2.13.0", "python": "3.11.7"} for run in tied.runs)
