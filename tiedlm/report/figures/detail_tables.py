"""Tables shown on request (--details): more figures of each variant, every run, and the hashes of every run."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.variant_summary import SeedRun, VariantSummary
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import (
    known,
    nats_cell,
    of_runs,
    of_split,
    over_seeds,
    perplexity_cell,
    present,
    reason_in,
    score,
    variant_row,
)
from tiedlm.report.figures.main_table import memory_row, part_rows, speed_row
from tiedlm.report.figures.table import Absence, Row, Shown, Table
from tiedlm.run.result import SPLITS

_NO_TABLE = "the input side is not one table of a row a token"


def detail_tables(comparison: Comparison) -> list[Table]:
    """The three tables of the details: more figures of each variant, every run, and its hashes."""
    return [more_figures_table(comparison), every_run_table(comparison), hashes_table(comparison)]


def more_figures_table(comparison: Comparison) -> Table:
    """The figures of each variant that the main table leaves out."""
    variants = comparison.variants
    rows = [
        variant_row("tying", variants, lambda variant: variant.tying),
        variant_row("non-embedding parameters", variants, lambda v: numbers.count(v.parameters.non_embedding)),
        *_text_rows(variants),
        memory_row("predicted peak memory", "predicted peak", variants, "predicted_peak_bytes"),
        memory_row("peak host memory", "host peak", variants, "host_peak_rss_bytes"),
        variant_row("steps", variants, of_runs(lambda run: numbers.count(run.steps))),
        variant_row("training tokens", variants, of_runs(lambda run: numbers.count(run.tokens_seen))),
        variant_row(
            f"first loss{over_seeds(variants, 'mean')}",
            variants,
            lambda v: numbers.decimal(mean([run.first_loss for run in v.runs]), 4),
        ),
        variant_row(
            f"last loss{over_seeds(variants, 'mean')}",
            variants,
            lambda v: numbers.decimal(mean([run.last_loss for run in v.runs]), 4),
        ),
        variant_row("device", variants, of_runs(_device if len(_devices(comparison)) > 1 else _kind_of_device)),
        variant_row("precision", variants, of_runs(lambda run: run.effective.precision)),
        variant_row("compile", variants, of_runs(lambda run: numbers.switch(run.effective.compile))),
        variant_row("head", variants, of_runs(lambda run: run.effective.head)),
        variant_row("micro-batch size", variants, of_runs(lambda run: numbers.count(run.effective.micro_batch_size))),
        variant_row("threads", variants, of_runs(lambda run: numbers.count(run.effective.num_threads))),
        variant_row("fused optimizer", variants, of_runs(lambda run: numbers.switch(run.effective.fused_optimizer))),
    ]
    return Table(tuple(variant.name for variant in variants), tuple(rows), title="More figures")


def device_notes(comparison: Comparison) -> Iterator[str]:
    """The name of the device where all runs were on one: too long for a column."""
    devices = _devices(comparison)
    if len(devices) == 1:
        yield f"All runs were on {devices[0]}."


def _devices(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(_device(run) for variant in comparison.variants for run in variant.runs))


def _device(run: SeedRun) -> str:
    return f"{run.effective.device} ({run.effective.device_name})"


def _kind_of_device(run: SeedRun) -> str:
    return run.effective.device


def every_run_table(comparison: Comparison) -> Table:
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
    return Table(_run_names(comparison), tuple(rows), names_as="lines", title="Every run (variant, seed)")


def hashes_table(comparison: Comparison) -> Table:
    """One line per run: the first digits of the hashes of what it started from and read."""
    runs = [run for variant in comparison.variants for run in variant.runs]
    rows = [
        Row.of("body", (run.hashes.body[:8] for run in runs)),
        Row.of("input emb.", (known(run.hashes.input_embedding, lambda sha: sha[:8], _NO_TABLE) for run in runs)),
        Row.of("batches", (run.hashes.batches[:8] for run in runs)),
        Row.of("tokens", (run.hashes.tokens[:8] for run in runs)),
        Row.of("corpus", (run.hashes.corpus[:8] for run in runs)),
    ]
    return Table(
        _run_names(comparison),
        tuple(rows),
        names_as="lines",
        title="SHA-256 of every run (variant, seed), first digits",
    )


def one_run_table(alone: Comparison) -> Table:
    """The figures of a run, given as a comparison that holds nothing else."""
    variants = alone.variants
    rows = [
        variant_row("parameters", variants, lambda variant: numbers.count(variant.parameters.total)),
        *part_rows(variants, ("input_embedding", "output_embedding", "shared_embedding")),
        *(row for split in present(variants, ("test", "validation")) for row in _perplexity_rows(split, variants)),
        *(variant_row(f"{split} nll per token", variants, nats_cell(split)) for split in present(variants, ("test",))),
        variant_row("first loss", variants, lambda v: numbers.decimal(v.runs[0].first_loss, 4)),
        variant_row("last loss", variants, lambda v: numbers.decimal(v.runs[0].last_loss, 4)),
        memory_row("peak GPU memory", "GPU peak", variants, "gpu_peak_allocated_bytes"),
        memory_row("peak host memory", "host peak", variants, "host_peak_rss_bytes"),
        speed_row(variants),
        variant_row("seconds", variants, lambda variant: numbers.seconds(variant.seconds)),
    ]
    return Table(tuple(variant.name for variant in variants), tuple(rows))


def _perplexity_rows(split: str, variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """Without a spread, for one run; below that on test the perplexity of a model of token frequencies."""
    yield variant_row(f"{split} perplexity", variants, of_split(split, score("token_perplexity", 2)))
    if split == "test":
        yield variant_row("of token frequencies alone", variants, of_split(split, score("unigram_perplexity", 2)), 1)


def _text_rows(variants: Sequence[VariantSummary]) -> Iterator[Row]:
    over = over_seeds(variants)
    for split in present(variants, SPLITS):
        words = of_split(split, score("word_perplexity", 2))
        yield variant_row(f"{split} nll{over}", variants, of_split(split, lambda s: numbers.decimal(s.nll, 1)))
        yield variant_row(f"tokens scored{over}", variants, of_split(split, lambda s: numbers.count(s.tokens)), 1)
        yield variant_row("perplexity", variants, perplexity_cell(split), 1)
        yield variant_row("word perplexity", variants, words, 1)
        yield variant_row("bits per byte", variants, of_split(split, score("bits_per_byte", 4)), 1)


def _seed_perplexity(variant: VariantSummary, split: str, seed: int) -> Shown:
    scores = variant.splits[split].per_seed if split in variant.splits else []
    for one in scores:
        if one.seed == seed:
            reason = reason_in(one.absent, "token_perplexity")
            return known(one.token_perplexity, lambda value: numbers.decimal(value, 2), reason)
    return Absence("not scored")


def _seed_difference(comparison: Comparison, variant: str, seed: int) -> Shown:
    if variant == comparison.baseline:
        return "baseline"
    for difference in comparison.all_differences:
        if (difference.variant, difference.split) == (variant, "test"):
            by_seed = dict(zip(difference.seeds, difference.per_seed, strict=False))
            reason = difference.absent.get("mean") or f"{comparison.baseline} has not finished with this seed"
            return known(by_seed.get(seed), lambda value: f"{value:+.4f}", reason)
    return Absence("not compared", short="not compared")


def _run_names(comparison: Comparison) -> tuple[str, ...]:
    return tuple(f"{variant.name}, {run.seed}" for variant in comparison.variants for run in variant.runs)
