"""Tables shown on request (--details): more figures of each variant, every run, and the hashes of every run."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.variant_summary import SeedRun, VariantSummary
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import of_runs, of_split, over_seeds, perplexity_cell, present, variant_row
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.table import Row, Table
from tiedlm.run.result import SPLITS


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
        variant_row(
            "predicted peak memory", variants, lambda v: numbers.memory(v.memory.predicted_peak_bytes, numbers.NOTHING)
        ),
        variant_row("host peak memory", variants, lambda v: numbers.memory(v.memory.host_peak_rss_bytes)),
        variant_row("steps", variants, of_runs(lambda run: numbers.count(run.steps))),
        variant_row("training tokens", variants, of_runs(lambda run: numbers.count(run.tokens_seen))),
        variant_row("first loss", variants, lambda v: numbers.decimal(mean([run.first_loss for run in v.runs]), 4)),
        variant_row("last loss", variants, lambda v: numbers.decimal(mean([run.last_loss for run in v.runs]), 4)),
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
        Row.of("input emb.", ((run.hashes.input_embedding or numbers.NOTHING)[:8] for run in runs)),
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
    added = ("first loss", "last loss", "host peak memory")
    main, more = main_table(alone), more_figures_table(alone)
    rows = [row for row in main.rows if row.label != "seeds"] + [row for row in more.rows if row.label in added]
    return Table(main.names, tuple(rows))


def _text_rows(variants: Sequence[VariantSummary]) -> Iterator[Row]:
    over = over_seeds(variants)
    for split in present(variants, SPLITS):
        words = of_split(split, lambda s: numbers.decimal(s.word_perplexity, 2))
        yield variant_row(f"{split} nll{over}", variants, of_split(split, lambda s: numbers.decimal(s.nll, 1)))
        yield variant_row(f"tokens scored{over}", variants, of_split(split, lambda s: numbers.count(s.tokens)), 1)
        yield variant_row("perplexity", variants, perplexity_cell(split), 1)
        yield variant_row("word perplexity", variants, words, 1)
        yield variant_row("bits per byte", variants, of_split(split, lambda s: numbers.decimal(s.bits_per_byte, 4)), 1)


def _seed_perplexity(variant: VariantSummary, split: str, seed: int) -> str:
    scores = variant.splits[split].per_seed if split in variant.splits else []
    return next((numbers.decimal(score.token_perplexity, 2) for score in scores if score.seed == seed), numbers.NOTHING)


def _seed_difference(comparison: Comparison, variant: str, seed: int) -> str:
    for difference in comparison.all_differences:
        if (difference.variant, difference.split) == (variant, "test") and difference.per_seed:
            by_seed = dict(zip(difference.seeds, difference.per_seed, strict=True))
            return f"{by_seed[seed]:+.4f}" if seed in by_seed else numbers.NOTHING
    return numbers.NOTHING


def _run_names(comparison: Comparison) -> tuple[str, ...]:
    return tuple(f"{variant.name}, {run.seed}" for variant in comparison.variants for run in variant.runs)
