"""From a comparison to labelled rows, one cell per variant: the figures that tables and Markdown share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tiedlm.experiment.comparison import Comparison
from tiedlm.experiment.contrast import Difference
from tiedlm.experiment.results import PARTS, SPLITS
from tiedlm.experiment.statistics import mean
from tiedlm.experiment.summary import SeedRun, SplitSummary, VariantSummary
from tiedlm.experiment.verdict import seeds_in_words, signed_together
from tiedlm.report import numbers
from tiedlm.report.records import Records, Row

Cell = Callable[[VariantSummary], str]
_FIRST = ("test", "validation")


def main_records(comparison: Comparison) -> Records:
    """What one glance must show."""
    variants = comparison.variants
    rows = [
        *_parameter_rows(comparison),
        _row("FLOPs per token", variants, lambda variant: numbers.count(variant.parameters.flops_per_token)),
        _row("seeds", variants, lambda variant: seeds_in_words(len(variant.seeds))),
        *(_row(f"{split} perplexity", variants, _perplexity(split)) for split in _present(variants, _FIRST)),
        *_word_perplexity_row(variants),
        *_difference_rows(comparison),
        *(_row(f"{split} nll per token", variants, _nats(split)) for split in _present(variants, reversed(SPLITS))),
        _row("peak GPU memory, allocated", variants, lambda v: numbers.memory(v.memory.gpu_peak_allocated_bytes)),
        _row("peak GPU memory, reserved", variants, lambda v: numbers.memory(v.memory.gpu_peak_reserved_bytes)),
        _row("tokens/s", variants, lambda variant: numbers.speed(variant.tokens_per_second)),
        _row(f"seconds{_over_seeds(variants)}", variants, lambda variant: numbers.seconds(variant.seconds)),
    ]
    return Records(tuple(variant.name for variant in variants), tuple(rows))


def run_records(alone: Comparison) -> Records:
    """The figures of a run, given as a comparison that holds nothing else."""
    added = ("first loss", "last loss", "host peak memory")
    main, more = main_records(alone), more_records(alone)
    rows = [row for row in main.rows if row.label != "seeds"] + [row for row in more.rows if row.label in added]
    return Records(main.names, tuple(rows))


def more_records(comparison: Comparison) -> Records:
    """The figures that `details` adds per variant."""
    variants = comparison.variants
    rows = [
        _row("tying", variants, lambda variant: variant.tying),
        _row("non-embedding parameters", variants, lambda v: numbers.count(v.parameters.non_embedding)),
        *_text_rows(variants),
        _row("predicted peak memory", variants, lambda v: _predicted(v.memory.predicted_peak_bytes)),
        _row("host peak memory", variants, lambda v: numbers.memory(v.memory.host_peak_rss_bytes)),
        _row("steps", variants, _of_runs(lambda run: numbers.count(run.steps))),
        _row("training tokens", variants, _of_runs(lambda run: numbers.count(run.tokens_seen))),
        _row("first loss", variants, lambda v: numbers.decimal(mean([run.first_loss for run in v.runs]), 4)),
        _row("last loss", variants, lambda v: numbers.decimal(mean([run.last_loss for run in v.runs]), 4)),
        _row("device", variants, _of_runs(lambda run: f"{run.effective.device} ({run.effective.device_name})")),
        _row("precision", variants, _of_runs(lambda run: run.effective.precision)),
        _row("compile", variants, _of_runs(lambda run: numbers.switch(run.effective.compile))),
        _row("micro-batch size", variants, _of_runs(lambda run: numbers.count(run.effective.micro_batch_size))),
        _row("threads", variants, _of_runs(lambda run: numbers.count(run.effective.num_threads))),
        _row("fused optimizer", variants, _of_runs(lambda run: numbers.switch(run.effective.fused_optimizer))),
    ]
    return Records(tuple(variant.name for variant in variants), tuple(rows), title="More figures")


def seed_records(comparison: Comparison) -> Records:
    """One line per run: its scores, losses and time."""
    runs = [(variant, run) for variant in comparison.variants for run in variant.runs]
    rows = [
        Row.of("test ppl", (_seed_perplexity(variant, "test", run.seed) for variant, run in runs)),
        Row.of("val. ppl", (_seed_perplexity(variant, "validation", run.seed) for variant, run in runs)),
        Row.of("test diff.", (_seed_difference(comparison, variant.name, run.seed) for variant, run in runs)),
        Row.of("first loss", (numbers.decimal(run.first_loss, 4) for _, run in runs)),
        Row.of("last loss", (numbers.decimal(run.last_loss, 4) for _, run in runs)),
        Row.of("seconds", (numbers.seconds(run.seconds) for _, run in runs)),
    ]
    return Records(_run_names(comparison), tuple(rows), across="lines", title="Every run (variant, seed)")


def hash_records(comparison: Comparison) -> Records:
    """One line per run: the first digits of what it started from and read."""
    runs = [run for variant in comparison.variants for run in variant.runs]
    rows = [
        Row.of("body", (run.hashes.body[:8] for run in runs)),
        Row.of("input emb.", ((run.hashes.input_embedding or numbers.NOTHING)[:8] for run in runs)),
        Row.of("batches", (run.hashes.batches[:8] for run in runs)),
        Row.of("tokens", (run.hashes.tokens[:8] for run in runs)),
        Row.of("corpus", (run.hashes.corpus[:8] for run in runs)),
    ]
    return Records(
        _run_names(comparison), tuple(rows), across="lines", title="SHA-256 of every run (variant, seed), first digits"
    )


def difference_cell(difference: Difference | None) -> str:
    """ "-0.031 [-0.040, -0.022]"; without an interval the difference alone."""
    if difference is None or difference.mean is None:
        return numbers.NOTHING
    if difference.ci95_seeds is None:
        return signed_together(difference.mean)[0]
    middle, low, high = signed_together(difference.mean, difference.ci95_seeds)
    return f"{middle} [{low}, {high}]"


def _over_seeds(variants: Sequence[VariantSummary]) -> str:
    return ", all seeds" if any(len(variant.seeds) > 1 for variant in variants) else ""


def part_label(part: str) -> str:
    """ "shared embedding" for shared_embedding."""
    return part.replace("_", " ")


def _row(label: str, variants: Sequence[VariantSummary], cell: Cell, depth: int = 0) -> Row:
    return Row.of(label, map(cell, variants), depth)


def _parameter_rows(comparison: Comparison) -> Iterator[Row]:
    variants = comparison.variants
    yield _row("parameters", variants, lambda variant: numbers.count(variant.parameters.total))
    for part in PARTS:
        cells = [variant.parameters.parts.get(part, 0) for variant in variants]
        if any(cells):
            yield Row.of(part_label(part), map(numbers.count, cells), depth=1)
    if any(variant.against_baseline for variant in variants):
        yield _row(f"parameters against {comparison.baseline}", variants, lambda v: _saving(v, comparison.baseline))


def _saving(variant: VariantSummary, baseline: str) -> str:
    if variant.against_baseline is None:
        return _absent(variant, baseline)
    return numbers.change(variant.against_baseline.parameters, variant.against_baseline.percent)


def _absent(variant: VariantSummary, baseline: str) -> str:
    return "baseline" if variant.name == baseline else numbers.NOTHING


def _word_perplexity_row(variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """What the literature reports of WikiText; only where a figure per word is one of the original text."""
    scored = [variant.splits["test"].word_perplexity for variant in variants if "test" in variant.splits]
    if any(value is not None for value in scored):
        yield _row(
            "test perplexity per word", variants, _of_split("test", lambda s: numbers.decimal(s.word_perplexity, 2))
        )


def _difference_rows(comparison: Comparison) -> Iterator[Row]:
    """Over seeds on each split; of test also over its documents."""
    for split in _present(comparison.variants, _FIRST):
        if comparison.differences:
            yield _difference_row(comparison, split)
        over_text = {found.variant: found for found in comparison.differences if found.split == split == "test"}
        counts = {found.num_documents for found in over_text.values() if found.ci95_text}
        if counts:
            label = f"over {counts.pop():,} documents" if len(counts) == 1 else "over documents"
            yield _row(label, comparison.variants, partial(_text_cell, over_text, comparison.baseline), 1)


def _text_cell(of: Mapping[str, Difference], baseline: str, variant: VariantSummary) -> str:
    """ "[-0.040, -0.022]", with the decimals of the difference above it where they tell the ends apart."""
    difference = of.get(variant.name)
    if difference is None:
        return _absent(variant, baseline)
    if difference.mean is None or difference.ci95_text is None:
        return numbers.NOTHING
    decimals = len(signed_together(difference.mean, difference.ci95_seeds)[0].partition(".")[2])
    low, high = (f"{end:+.{decimals}f}" for end in difference.ci95_text)
    if low == high:
        _, low, high = signed_together(difference.mean, difference.ci95_text)
    return f"[{low}, {high}]"


def _difference_row(comparison: Comparison, split: str) -> Row:
    of = {difference.variant: difference for difference in comparison.differences if difference.split == split}

    def cell(variant: VariantSummary) -> str:
        found = of.get(variant.name)
        return difference_cell(found) if found else _absent(variant, comparison.baseline)

    return _row(f"{split} difference", comparison.variants, cell)


def _present(variants: Sequence[VariantSummary], splits: Iterator[str] | Sequence[str]) -> list[str]:
    return [split for split in splits if any(split in variant.splits for variant in variants)]


def _of_split(split: str, shown: Callable[[SplitSummary], str]) -> Cell:
    return lambda variant: shown(variant.splits[split]) if split in variant.splits else numbers.NOTHING


def _perplexity(split: str) -> Cell:
    return _of_split(split, lambda s: numbers.spread(s.token_perplexity, s.token_perplexity_sd, 2))


def _nats(split: str) -> Cell:
    return _of_split(split, lambda s: numbers.decimal(s.nats_per_token, 4))


def _text_rows(variants: Sequence[VariantSummary]) -> Iterator[Row]:
    over = _over_seeds(variants)
    for split in _present(variants, SPLITS):
        yield _row(f"{split} nll{over}", variants, _of_split(split, lambda s: numbers.decimal(s.nll, 1)))
        yield _row(f"tokens scored{over}", variants, _of_split(split, lambda s: numbers.count(s.tokens)), 1)
        yield _row("perplexity", variants, _perplexity(split), 1)
        yield _row("word perplexity", variants, _of_split(split, lambda s: numbers.decimal(s.word_perplexity, 2)), 1)
        yield _row("bits per byte", variants, _of_split(split, lambda s: numbers.decimal(s.bits_per_byte, 4)), 1)


def _predicted(num_bytes: int | None) -> str:
    return numbers.NOTHING if num_bytes is None else numbers.memory(num_bytes)


def _of_runs(shown: Callable[[SeedRun], str]) -> Cell:
    return lambda variant: " / ".join(dict.fromkeys(shown(run) for run in variant.runs))


def _seed_perplexity(variant: VariantSummary, split: str, seed: int) -> str:
    scores = variant.splits[split].per_seed if split in variant.splits else []
    return next((numbers.decimal(score.token_perplexity, 2) for score in scores if score.seed == seed), numbers.NOTHING)


def _seed_difference(comparison: Comparison, variant: str, seed: int) -> str:
    for difference in comparison.differences:
        if (difference.variant, difference.split) == (variant, "test") and difference.per_seed:
            by_seed = dict(zip(difference.seeds, difference.per_seed, strict=True))
            return f"{by_seed[seed]:+.4f}" if seed in by_seed else numbers.NOTHING
    return numbers.NOTHING


def _run_names(comparison: Comparison) -> tuple[str, ...]:
    return tuple(f"{variant.name}, {run.seed}" for variant in comparison.variants for run in variant.runs)
