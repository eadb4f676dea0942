"""The main table of a comparison: what every format shows first, a column for each variant."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.variant_summary import Saving, VariantSummary
from tiedlm.comparison.verdict import seeds_in_words
from tiedlm.experiment.tuning import Tuning
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import (
    Cell,
    difference_parts,
    document_interval,
    known,
    known_memory,
    nats_cell,
    of_split,
    over_seeds,
    perplexity_cell,
    present,
    reason_in,
    score,
    shown_difference,
    shown_variants,
    variant_row,
)
from tiedlm.report.figures.table import Absence, Row, Shown, Table
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
        *tuned_rows(comparison.tuning, variants),
        *(split_row(split, "perplexity", variants, perplexity_cell) for split in present(variants, _MAIN_SPLITS)),
        *_word_perplexity_row(variants),
        *_difference_rows(comparison, variants),
        *(split_row(split, "nll per token", variants, nats_cell) for split in present(variants, reversed(SPLITS))),
        *_gpu_rows(variants),
        speed_row(variants),
        variant_row(f"seconds{over_seeds(variants)}", variants, lambda variant: numbers.seconds(variant.seconds)),
    ]
    return Table(tuple(variant.name for variant in variants), tuple(rows))


def speed_row(variants: Sequence[VariantSummary]) -> Row:
    """Training tokens a second, over all seeds."""
    return variant_row(
        f"tokens/s{over_seeds(variants, 'mean')}",
        variants,
        lambda variant: known(variant.tokens_per_second, numbers.speed, reason_in(variant.absent, "tokens_per_second")),
    )


def tuned_rows(tuning: Tuning | None, variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """The chosen value of each tuned setting, as a config writes it; nothing where nothing was tuned."""
    if tuning:
        for key, label in dict.fromkeys((axis.key, axis.label) for axis in tuning.axes):
            yield variant_row(f"tuned {label}", variants, partial(_tuned_cell, tuning, key))


def _tuned_cell(tuning: Tuning, key: str, variant: VariantSummary) -> Shown:
    """A variant that the plan added has the settings of the variant that it was made of."""
    tuned = tuning.of(variant.added.of if variant.added else variant.name)
    if tuned is None or key not in tuned.settings:
        return Absence("not tuned", short="not tuned")
    value = tuned.settings[key]
    return value if isinstance(value, str) else json.dumps(value)


def split_row(split: str, figure: str, variants: Sequence[VariantSummary], cell: Callable[[str], Cell]) -> Row:
    """A figure of a split."""
    return variant_row(f"{split} {figure}", variants, cell(split), brief=f"{_SHORT_NAMES.get(split, split)} {figure}")


def _gpu_rows(variants: Sequence[VariantSummary]) -> Iterator[Row]:
    peaks = {kind: f"gpu_peak_{kind}_bytes" for kind in ("allocated", "reserved")}
    if not any(getattr(variant.memory, key) for variant in variants for key in peaks.values()):
        yield memory_row("peak GPU memory", "GPU peak", variants, peaks["allocated"])
        return
    for kind, key in peaks.items():
        yield memory_row(f"peak GPU memory, {kind}", f"GPU peak, {kind}", variants, key)


def memory_row(label: str, brief: str, variants: Sequence[VariantSummary], key: str) -> Row:
    """A peak under its key in `memory`, the largest over seeds."""
    largest = over_seeds(variants, "max") if any(getattr(variant.memory, key) for variant in variants) else ""
    return variant_row(
        f"{label}{largest}",
        variants,
        lambda variant: known_memory(getattr(variant.memory, key), variant.absent.get(key)),
        brief=f"{brief}{largest}",
    )


def _parameter_rows(variants: Sequence[VariantSummary], baseline: str) -> Iterator[Row]:
    yield variant_row("parameters", variants, lambda variant: numbers.count(variant.parameters.total))
    yield from part_rows(variants, PARTS)
    needed = [variant.parameters.inference_total or variant.parameters.total for variant in variants]
    if needed != [variant.parameters.total for variant in variants]:
        yield Row.of("at inference", map(numbers.count, needed), depth=1)
    if any(variant.against_baseline for variant in variants):
        yield saving_row(f"parameters against {baseline}", variants, baseline)


def part_rows(variants: Sequence[VariantSummary], parts: Sequence[str]) -> Iterator[Row]:
    """The parameters of each part that any variant has."""
    for part in parts:
        cells = [variant.parameters.parts.get(part, 0) for variant in variants]
        if any(cells):
            yield Row.of(key_in_words(part), map(numbers.count, cells), depth=1)


def saving_row(label: str, variants: Sequence[VariantSummary], baseline: str, depth: int = 0) -> Row:
    """How many parameters fewer or more than the baseline, and what share; in brief, the share below it."""

    def cell(shown: Callable[[Saving], Shown]) -> Cell:
        return lambda v: shown(v.against_baseline) if v.against_baseline else _no_pair(v, baseline)

    brief = (
        variant_row(
            f"against {baseline}", variants, cell(lambda saving: numbers.change(saving.parameters, None)), depth
        ),
        variant_row("percent", variants, cell(_percent), depth=1),
    )
    shown = cell(lambda saving: numbers.change(saving.parameters, saving.percent))
    return Row.of(label, map(shown, variants), depth, brief)


def _percent(saving: Saving) -> Shown:
    if saving.percent is None:
        return Absence("the baseline has no parameters")
    return numbers.signed_percent(saving.percent) if saving.parameters else "0"


def _no_pair(variant: VariantSummary, baseline: str) -> Shown:
    """In place of a figure against the baseline."""
    return "baseline" if variant.name == baseline else Absence(f"{baseline} has not finished")


def _word_perplexity_row(variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """As the literature reports WikiText; absent where words are lost or are none, and always with the reason."""
    if any("test" in variant.splits for variant in variants):
        cell = of_split("test", score("word_perplexity", 2))
        yield variant_row("test perplexity per word", variants, cell, brief="test ppl per word")


def _difference_rows(comparison: Comparison, variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """The difference over seeds on each split; on test also its interval over documents."""
    for split in present(variants, _MAIN_SPLITS):
        by_variant = {found.variant: found for found in comparison.all_differences if found.split == split}
        if by_variant:
            yield difference_row(by_variant, split, variants, comparison.baseline)
        if by_variant and split == "test":
            counts = {found.num_documents for found in by_variant.values() if found.ci95_text}
            label = f"over {counts.pop():,} documents" if len(counts) == 1 else "over documents"
            yield variant_row(label, variants, partial(_text_cell, by_variant, comparison.baseline), 1)


def difference_row(
    by_variant: Mapping[str, Difference], split: str, variants: Sequence[VariantSummary], baseline: str
) -> Row:
    """The difference with its interval; in brief, the interval below it."""

    def cell(shown: Callable[[Difference], Shown]) -> Iterator[Shown]:
        for variant in variants:
            found = by_variant.get(variant.name)
            yield shown(found) if found else _no_pair(variant, baseline)

    has_interval = any(found.interval for found in by_variant.values())
    below = Row.of("95 % interval", cell(_interval), 1)
    return Row.of(
        f"{split} difference",
        cell(shown_difference),
        brief=(
            Row.of(f"{_SHORT_NAMES.get(split, split)} difference", cell(_middle if has_interval else shown_difference)),
            *([below] if has_interval else []),
        ),
    )


def _middle(difference: Difference) -> Shown:
    no_mean = Absence(reason_in(difference.absent, "mean"))
    return no_mean if difference.mean is None else difference_parts(difference)[0]


def _interval(difference: Difference) -> Shown:
    return known(difference.interval, lambda _: difference_parts(difference)[1], difference.absent.get("ci95_seeds"))


def _text_cell(by_variant: Mapping[str, Difference], baseline: str, variant: VariantSummary) -> Shown:
    found = by_variant.get(variant.name)
    if found is None:
        return _no_pair(variant, baseline)
    return known(
        found.ci95_text, lambda _: document_interval(found), found.text_reason or found.absent.get("ci95_text")
    )
