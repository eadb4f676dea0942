"""One sentence for each variant: its matrices, its cost, and how it compares. Nothing here assumes a direction."""

from collections.abc import Iterator

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.variant_summary import Saving, VariantSummary
from tiedlm.comparison.verdict import UNIT, over_seeds_in_common, seeds_in_words, signed_together
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import difference_cell, in_words, perplexity_cell, shown_variants
from tiedlm.run.result import ParameterCounts

_MATCHED = {
    "matched_width": ", with a feed-forward layer as wide as the baseline's number of parameters asks for",
    "matched_depth": ", with as many layers as the baseline's number of parameters asks for",
}


def variant_sentences(comparison: Comparison) -> dict[str, str]:
    """The sentence of each shown variant, by its name."""
    on_test = {found.variant: found for found in comparison.all_differences if found.split == "test"}
    return {
        variant.name: "; ".join(
            (
                _embeddings(variant, comparison.baseline),
                ", ".join(_costs(variant, comparison.baseline)),
                _result(variant, on_test.get(variant.name)),
            )
        )
        + "."
        for variant in shown_variants(comparison)
    }


def _embeddings(variant: VariantSummary, baseline: str) -> str:
    tying = "" if variant.tying == variant.name else f" ({variant.tying})"
    role = ", the baseline," if variant.name == baseline else ""
    matched = f" as {variant.added.of} has{_MATCHED.get(variant.added.role, '')}" if variant.added else ""
    return f"{variant.name}{tying}{role} has {_matrices(variant.parameters)}{matched}"


def _matrices(parameters: ParameterCounts) -> str:
    shared = parameters.parts.get("shared_embedding", 0)
    input_only, output_only = (parameters.parts.get(part, 0) for part in ("input_embedding", "output_embedding"))
    if not shared:
        return "one matrix for input and another for output"
    if not (input_only or output_only):
        return "one matrix for input and output"
    if input_only:
        return "embeddings of which a part is shared"
    if parameters.inference_total is not None and parameters.inference_total < parameters.total:
        return "one matrix for input and output at the end of its run"
    return "one matrix for input and output, and more that the output alone goes through"


def _costs(variant: VariantSummary, baseline: str) -> Iterator[str]:
    yield f"{variant.parameters.total:,} parameters{_against(variant.against_baseline, baseline)}"
    yield f"{variant.parameters.flops_per_token:,} FLOPs per token"
    if variant.tokens_per_second is not None:
        mean = " on average" if len(variant.seeds) > 1 else ""
        yield f"{numbers.speed(variant.tokens_per_second)} tokens/s{mean}"
    if variant.memory.gpu_peak_allocated_bytes is not None:
        largest = "largest " if len(variant.seeds) > 1 else ""
        yield f"{numbers.memory(variant.memory.gpu_peak_allocated_bytes)} of GPU memory at the {largest}peak"


def _against(saving: Saving | None, baseline: str) -> str:
    if saving is None:
        return ""
    if saving.parameters == 0:
        return f", as many as {baseline}"
    share = "" if saving.percent is None else f" ({numbers.signed_percent(saving.percent).lstrip('+-')})"
    return f", {abs(saving.parameters):,}{share} {'more' if saving.parameters > 0 else 'fewer'} than {baseline}"


def _result(variant: VariantSummary, difference: Difference | None) -> str:
    over = seeds_in_words(len(variant.seeds))
    perplexity = in_words(perplexity_cell("test")(variant))
    score = f"test perplexity {perplexity} over {over}" if "test" in variant.splits else "no test"
    if difference is None:
        return score
    in_common = over_seeds_in_common(difference.num_seeds, len(variant.seeds))
    if variant.added:  # a verdict on a matched body is drawn from both ways of matching together
        return f"{score}, {difference_cell(difference)} {UNIT} against {difference.baseline}{in_common}"
    return f"{score}, {_compared(difference)}{in_common}"


def _compared(difference: Difference) -> str:
    """How the variant compares with the baseline, as the verdict says."""
    baseline = difference.baseline
    by = (
        ""
        if difference.mean is None
        else f" by {signed_together(difference.mean, difference.interval)[0].lstrip('+-')} {UNIT}"
    )
    match difference.verdict:
        case "better" | "worse":
            return f"{difference.verdict} than {baseline}{by}"
        case "equal":
            return f"equal to {baseline} for practical purposes"
        case "no_difference":
            return f"equal to {baseline} to the last bit"
        case _:
            return f"of which it cannot be told whether it is better or worse than {baseline}"
