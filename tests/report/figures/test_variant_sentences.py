"""One sentence for each variant."""

import pytest

from tests.support.finished_runs import (
    TIED_NATS,
    UNTIED_NATS,
    example_comparison,
    parameters,
    run_result,
    runs,
    summarize,
)
from tiedlm.report.figures.cells import difference_cell
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.run.result import Memory


def test_a_sentence_says_what_a_variant_is_what_it_costs_and_how_it_did() -> None:
    said = variant_sentences(example_comparison())
    tied, untied = (variant.splits["test"] for variant in example_comparison().variants)
    assert said["tied"] == (
        "tied has one matrix for input and output; 124,439,808 parameters, 38,597,376 (23.7 %) fewer than untied, "
        f"741,857,280 FLOPs per token, 97,804 tokens/s on average; test perplexity {tied.token_perplexity:.2f} ± "
        f"{tied.token_perplexity_sd:.2f} over 5 seeds, better than untied by 0.0312 nats per token."
    )
    assert said["untied"] == (
        "untied, the baseline, has one matrix for input and another for output; 163,037,184 parameters, 741,857,280 "
        f"FLOPs per token, 97,804 tokens/s on average; test perplexity {untied.token_perplexity:.2f} ± "
        f"{untied.token_perplexity_sd:.2f} over 5 seeds."
    )


@pytest.mark.parametrize(
    ("nats", "words"),
    [
        (TIED_NATS, "better than untied by"),
        ([4.1, 4.12, 4.09, 4.1, 4.11], "worse than untied by"),
        (UNTIED_NATS, "equal to untied to the last bit."),
        ([value + change for value, change in zip(UNTIED_NATS, (1e-4, 2e-4, 0, 1e-4, 0), strict=True)],
         "equal to untied for practical purposes."),
        ([4.2, 3.9, 4.1, 3.8, 4.3], "of which it cannot be told whether it is better or worse than untied."),
    ],
)  # fmt: skip
def test_no_direction_is_assumed(nats: list[float], words: str) -> None:
    results = [*runs("tied", nats), *runs("untied", UNTIED_NATS)]
    assert words in variant_sentences(summarize(results, [], "example", "untied", ["tied", "untied"]))["tied"]


def test_a_difference_over_fewer_seeds_than_the_score_beside_it_says_so() -> None:
    results = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS[:3])]
    said = variant_sentences(summarize(results, [], "example", "untied", ["tied", "untied"]))["tied"]
    assert "over 5 seeds, better than untied by" in said
    assert said.endswith("nats per token, over the 3 seeds in common.")


def test_more_parameters_are_called_more_and_as_many_as_many() -> None:
    results = [run_result("tied"), run_result("untied"), run_result("soft", tying="soft")]
    said = variant_sentences(summarize(results, [], "example", "tied", ["tied", "untied", "soft"]))
    assert "38,597,376 (31.0 %) more than tied" in said["untied"]
    results = [run_result("tied"), run_result("soft", tying="soft", parameters=parameters("tied"))]
    said = variant_sentences(summarize(results, [], "example", "tied", ["tied", "soft"]))
    assert said["soft"].startswith("soft has one matrix for input and output; 124,439,808 parameters, as many as tied,")


def test_a_part_that_is_shared_is_called_that_and_the_peak_is_told_where_it_was_measured() -> None:
    counts = parameters("untied")
    shared = counts.model_copy(update={"parts": counts.parts | {"shared_embedding": 10}})
    peak = Memory(
        gpu_peak_allocated_bytes=2**30,
        gpu_peak_reserved_bytes=None,
        predicted_peak_bytes=None,
        host_peak_rss_bytes=None,
    )
    run = run_result("half", tying="partial", parameters=shared, memory=peak)
    (said,) = variant_sentences(summarize([run], [], "example", "half", ["half"])).values()
    assert said.startswith("half (partial), the baseline, has embeddings of which a part is shared;")
    assert "1,024.0 MiB of GPU memory at the peak" in said


@pytest.mark.parametrize(
    ("tying", "beside", "inference_total", "said"),
    [
        ("projected", 589_824, None, "one matrix for input and output, and more that the output alone goes through;"),
        ("progressive", 38_597_376, 124_439_808, "one matrix for input and output at the end of its run;"),
    ],
)
def test_what_only_the_output_has_does_not_make_its_matrix_two(
    tying: str, beside: int, inference_total: int | None, said: str
) -> None:
    tied = parameters("tied")
    changes = {"parts": tied.parts | {"output_embedding": beside}, "total": tied.total + beside}
    counts = tied.model_copy(update=changes | {"inference_total": inference_total})
    run = run_result("a", tying=tying, parameters=counts)
    assert variant_sentences(summarize([run], [], "example", "a", ["a"]))["a"].startswith(
        f"a ({tying}), the baseline, has {said}"
    )


def test_a_body_of_the_baselines_size_has_its_difference_and_no_verdict_of_its_own() -> None:
    results = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS)]
    for suffix, role in (("width", "matched_width"), ("depth", "matched_depth")):
        counts = parameters("tied").model_copy(update={"total": parameters("untied").total - 72})
        matched = runs(f"tied+{suffix}", TIED_NATS, parameters=counts)
        added = {"added": {"role": role, "of": "tied"}}
        results += [run.model_copy(update={"config": run.config | added}) for run in matched]
    order = ["tied", "untied", "tied+width", "tied+depth"]
    comparison = summarize(results, [], "example", "untied", order)
    said = variant_sentences(comparison)["tied+depth"]
    assert "one matrix for input and output as tied has, with as many layers as the baseline's number" in said
    assert "72 (0.00004 %) fewer than untied" in said
    (difference,) = [
        found for found in comparison.all_differences if (found.variant, found.split) == ("tied+depth", "test")
    ]
    assert said.endswith(f", {difference_cell(difference)} nats per token against untied.")
