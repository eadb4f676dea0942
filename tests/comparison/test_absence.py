"""A figure that is null has its reason beside it, in the document that every format is made of."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, compared, effective, run_result, runs, split_result
from tiedlm.comparison.split_summary import SeedScore, SplitSummary
from tiedlm.run.result import Memory, RunResult

FIGURES = {
    *("nats_per_token", "nats_per_token_sd", "token_perplexity", "token_perplexity_sd", "word_perplexity"),
    *("bits_per_byte", "unigram_perplexity", "words", "bytes", "mean", "ci95_seeds", "ci95_text"),
    *("tokens_per_second", "gpu_peak_allocated_bytes", "host_peak_rss_bytes", "predicted_peak_bytes"),
}
NO_MEMORY = Memory(
    gpu_peak_allocated_bytes=None, gpu_peak_reserved_bytes=None, predicted_peak_bytes=None, host_peak_rss_bytes=None
)


def gaps(document: Any, place: str = "") -> Iterator[tuple[str, str | None]]:
    """Every figure that is null, with its reason."""
    if isinstance(document, list):
        for index, inner in enumerate(document):
            yield from gaps(inner, f"{place}.{index}")
    if isinstance(document, dict):
        absent = document.get("absent", {})
        for key, inner in [*document.items(), *(document.get("memory") or {}).items()]:
            if inner is None and key in FIGURES and "absent" in document:
                yield f"{place}.{key}", absent.get(key)
            yield from gaps(inner, f"{place}.{key}")


def pair(**changes: Any) -> list[RunResult]:
    return [*runs("tied", TIED_NATS, **changes), *runs("untied", UNTIED_NATS, **changes)]


@pytest.mark.parametrize(
    "results",
    [
        pair(),
        [run_result("tied"), run_result("untied")],
        pair(splits={"test": split_result(800.0)}),
        pair(splits={"test": split_result(0.0, tokens=0, words=0, bytes=0)}),
        pair(splits={"test": split_result(4.0, words=None, words_reason="lossy", bytes=None, bytes_reason="lossy")}),
        pair(splits={"test": split_result(4.0, words=100, bytes=10_000)}),
        pair(steady_seconds=0.0, steady_tokens=0, memory=NO_MEMORY),
        [*runs("tied", TIED_NATS, effective=effective(precision="bf16")), *runs("untied", UNTIED_NATS)],
        [run_result("tied", 1), run_result("untied", 2)],
    ],
    ids=["usual", "one-seed", "huge", "empty", "lossy", "no-spaces", "unmeasured", "no-pairs", "no-seed-in-common"],
)
def test_every_null_has_its_reason_and_every_reason_its_null(results: list[RunResult]) -> None:
    document = compared(*results).model_dump(mode="json")
    without = [place for place, reason in gaps(document) if not reason]
    assert without == []
    for variant in document["variants"]:
        for split in variant["splits"].values():
            assert all(split[key] is None for key in split["absent"])
        assert all({**variant, **variant["memory"]}[key] is None for key in variant["absent"])
    for difference in document["differences"]:
        assert all(difference[key] is None for key in difference["absent"])


def test_a_text_without_spaces_has_no_perplexity_per_word_for_any_seed_or_variant() -> None:
    splits = {"test": split_result(4.0, words=59, bytes=4_022)}
    (tied, _) = compared(*pair(splits=splits)).variants
    scores: list[SplitSummary | SeedScore] = [tied.splits["test"], *tied.splits["test"].per_seed]
    assert [score.word_perplexity for score in scores] == [None] * 6
    assert {score.absent["word_perplexity"] for score in scores} == {
        "the text does not put white space between its words: what stands between two has 68 bytes on average"
    }


def test_a_loss_beyond_float64_says_so_and_which() -> None:
    (tied, _) = compared(*pair(splits={"test": split_result(800.0)})).variants
    assert tied.splits["test"].absent["token_perplexity"] == (
        "exp of 800.0 nats per token is beyond the largest number of float64"
    )


def test_memory_says_whether_there_was_a_gpu() -> None:
    on_gpu = effective(device="cuda:0", device_name="Any GPU")
    for changes, reason in (({}, "no GPU"), ({"effective": on_gpu}, "not measured")):
        (tied, _) = compared(*pair(**changes)).variants
        assert tied.absent["gpu_peak_allocated_bytes"] == reason
