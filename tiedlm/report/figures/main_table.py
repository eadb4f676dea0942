"""The main table of a comparison: what every format shows first, a column for each variant."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.variant_summary import Saving, VariantSummary
from tiedlm.comparison.verdict import seeds_in_words
from tiedlm.experiment.tuning import Axis, Tuning
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import (
    Cell,
    difference_parts,
    document_interval,
    nats_cell,
    of_split,
    over_seeds,
    perplexity_cell,
    present,
    shown_variants,
    variant_row,
)
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.figures.text import key_in_words
from tiedlm.run.result import PARTS, SPLITS

_MAIN_SPLITS = ("test", "validation")
_SHORT_NAMES = {"validation": "val."}


def main_table(comparison: Comparison) -> Table:
    """Parameters, perplexity, differences to the baseline, memory and speed of each variant."""
    variants = shown_variants(comparison)
    rows = [
        *_parameter_rows(variants, comparison.baseline),
        variant_row("FLOPs per token", variants, lambda variant: numbers.count(variant.parameters.flops_per_token)),
        variant_row("seeds", variants, lambda variant: seeds_in_words(len(variant.seeds))),
        *_tuned_rows(comparison.tuning, variants),
        *(_split_row(split, "perplexity", variants, perplexity_cell) for split in present(variants, _MAIN_SPLITS)),
        *_word_perplexity_row(variants),
        *_difference_rows(comparison, variants),
        *(_split_row(split, "nll per token", variants, nats_cell) for split in present(variants, reversed(SPLITS))),
        *_gpu_rows(variants),
        variant_row("tokens/s", variants, lambda variant: numbers.speed(variant.tokens_per_second)),
        variant_row(f"seconds{over_seeds(variants)}", variants, lambda variant: numbers.seconds(variant.seconds)),
    ]
    return Table(tuple(variant.name for variant in variants), tuple(rows))


def _tuned_rows(tuning: Tuning | None, variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """The chosen value of each tuned setting, as a config writes it; nothing where nothing was tuned."""
    if tuning:
        for axis in tuning.axes:
            yield variant_row(f"tuned {axis.label}", variants, partial(_tuned_cell, tuning, axis))


def _tuned_cell(tuning: Tuning, axis: Axis, variant: VariantSummary) -> str:
    """A variant that the plan added has the settings of the variant that it was made of."""
    tuned = tuning.of(variant.added.of if variant.added else variant.name)
    if tuned is None:
        return numbers.NOTHING
    value = tuned.settings[axis.key]
    return value if isinstance(value, str) else json.dumps(value)


def _split_row(split: str, figure: str, variants: Sequence[VariantSummary], cell: Callable[[str], Cell]) -> Row:
    return variant_row(f"{split} {figure}", variants, cell(split), brief=f"{_SHORT_NAMES.get(split, split)} {figure}")


def _gpu_rows(variants: Sequence[VariantSummary]) -> Iterator[Row]:
    peaks = [(v.memory.gpu_peak_allocated_bytes, v.memory.gpu_peak_reserved_bytes) for v in variants]
    if not any(any(pair) for pair in peaks):
        yield variant_row("peak GPU memory", variants, lambda _: numbers.NOT_MEASURED)
        return
    for index, kind in enumerate(("allocated", "reserved")):
        cells = tuple(numbers.memory(pair[index]) for pair in peaks)
        yield Row(f"peak GPU memory, {kind}", cells, brief=(Row(f"GPU peak, {kind}", cells),))


def _parameter_rows(variants: Sequence[VariantSummary], baseline: str) -> Iterator[Row]:
    yield variant_row("parameters", variants, lambda variant: numbers.count(variant.parameters.total))
    for part in PARTS:
        cells = [variant.parameters.parts.get(part, 0) for variant in variants]
        if any(cells):
            yield Row.of(key_in_words(part), map(numbers.count, cells), depth=1)
    needed = [variant.parameters.inference_total or variant.parameters.total for variant in variants]
    if needed != [variant.parameters.total for variant in variants]:
        yield Row.of("at inference", map(numbers.count, needed), depth=1)
    if any(variant.against_baseline for variant in variants):
        brief = (
            variant_row(
                f"against {baseline}",
                variants,
                _saving(baseline, lambda saving: numbers.change(saving.parameters, None)),
            ),
            variant_row("percent", variants, _saving(baseline, _percent), depth=1),
        )
        shown = _saving(baseline, lambda saving: numbers.change(saving.parameters, saving.percent))
        yield Row.of(f"parameters against {baseline}", map(shown, variants), brief=brief)


def _saving(baseline: str, shown: Callable[[Saving], str]) -> Cell:
    return lambda variant: shown(variant.against_baseline) if variant.against_baseline else _absent(variant, baseline)


def _percent(saving: Saving) -> str:
    if saving.percent is None:
        return numbers.NOTHING
    return numbers.signed_percent(saving.percent) if saving.parameters else "0"


def _absent(variant: VariantSummary, baseline: str) -> str:
    return "baseline" if variant.name == baseline else numbers.NOTHING


def _word_perplexity_row(variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """As the literature reports WikiText; only where the tokenizer keeps the words of the original text."""
    scored = [variant.splits["test"].word_perplexity for variant in variants if "test" in variant.splits]
    if any(value is not None for value in scored):
        yield variant_row(
            "test perplexity per word",
            variants,
            of_split("test", lambda s: numbers.decimal(s.word_perplexity, 2)),
            brief="test ppl per word",
        )


def _difference_rows(comparison: Comparison, variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """The difference over seeds on each split; on test also its interval over documents."""
    for split in present(variants, _MAIN_SPLITS):
        by_variant = {found.variant: found for found in comparison.all_differences if found.split == split}
        if by_variant:
            yield _difference_row(by_variant, split, variants, comparison.baseline)
        counts = {found.num_documents for found in by_variant.values() if found.ci95_text}
        if counts and split == "test":
            label = f"over {counts.pop():,} documents" if len(counts) == 1 else "over documents"
            yield variant_row(label, variants, partial(_text_cell, by_variant, comparison.baseline), 1)


def _difference_row(
    by_variant: Mapping[str, Difference], split: str, variants: Sequence[VariantSummary], baseline: str
) -> Row:
    """The difference with its interval; in brief, the interval below it."""
    known = [
        difference_parts(by_variant[variant.name]) if variant.name in by_variant else (_absent(variant, baseline), "")
        for variant in variants
    ]
    below = [Row.of("95 % interval", (interval or numbers.NOTHING for _, interval in known), 1)]
    has_interval = any(interval for _, interval in known)
    return Row.of(
        f"{split} difference",
        (" ".join(part for part in parts if part) for parts in known),
        brief=(
            Row.of(f"{_SHORT_NAMES.get(split, split)} difference", (middle for middle, _ in known)),
            *(below if has_interval else []),
        ),
    )


def _text_cell(by_variant: Mapping[str, Difference], baseline: str, variant: VariantSummary) -> str:
    found = by_variant.get(variant.name)
    return document_interval(found) if found else _absent(variant, baseline)
