"""Cells of tables with a column for each variant: from a variant or a difference to its text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.split_summary import SplitSummary
from tiedlm.comparison.variant_summary import SeedRun, VariantSummary
from tiedlm.comparison.verdict import signed_together
from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import Row

Cell = Callable[[VariantSummary], str]


def shown_variants(comparison: Comparison) -> list[VariantSummary]:
    """The variants with a column of their own: all but the noise floor's, unless it is the baseline itself."""
    return [
        variant
        for variant in comparison.variants
        if variant.name == comparison.baseline or not (variant.added and variant.added.role == "noise_floor")
    ]


def colour_places(comparison: Comparison) -> dict[str, int]:
    """The place of each shown variant, which decides its colour in every chart."""
    return {variant.name: place for place, variant in enumerate(shown_variants(comparison))}


def one_difference_each(comparison: Comparison) -> list[Difference]:
    """For each variant its difference on test, else on validation."""
    chosen: dict[str, Difference] = {}
    for difference in comparison.differences:
        if difference.variant not in chosen or difference.split == "test":
            chosen[difference.variant] = difference
    return list(chosen.values())


def variant_row(label: str, variants: Sequence[VariantSummary], cell: Cell, depth: int = 0, brief: str = "") -> Row:
    """A row with a cell for each variant; `brief` is a shorter label for where there is less room."""
    row = Row.of(label, map(cell, variants), depth)
    return replace(row, brief=(replace(row, label=brief),)) if brief else row


def over_seeds(variants: Sequence[VariantSummary]) -> str:
    """ ", all seeds" behind the label of a sum over several seeds."""
    return ", all seeds" if any(len(variant.seeds) > 1 for variant in variants) else ""


def present(variants: Sequence[VariantSummary], splits: Iterator[str] | Sequence[str]) -> list[str]:
    """The splits that at least one variant scored."""
    return [split for split in splits if any(split in variant.splits for variant in variants)]


def of_split(split: str, shown: Callable[[SplitSummary], str]) -> Cell:
    """A figure of one split, nothing where a variant did not score it."""
    return lambda variant: shown(variant.splits[split]) if split in variant.splits else numbers.NOTHING


def perplexity_cell(split: str) -> Cell:
    """Perplexity per token, with its spread over seeds."""
    return of_split(split, lambda s: numbers.spread(s.token_perplexity, s.token_perplexity_sd, 2))


def nats_cell(split: str) -> Cell:
    """Nats per token."""
    return of_split(split, lambda s: numbers.decimal(s.nats_per_token, 4))


def of_runs(shown: Callable[[SeedRun], str]) -> Cell:
    """A figure of the runs of a variant: once where it is the same in all, else each of its values."""
    return lambda variant: " / ".join(dict.fromkeys(shown(run) for run in variant.runs))


def difference_cell(difference: Difference | None) -> str:
    """ "-0.031 [-0.040, -0.022]"; without an interval the difference alone."""
    if difference is None or difference.mean is None:
        return numbers.NOTHING
    return numbers.with_interval(difference.mean, difference.ci95_seeds)


def difference_parts(difference: Difference | None) -> tuple[str, str]:
    """The difference, and its interval where there is one: `difference_cell` in two cells."""
    middle, _, interval = difference_cell(difference).partition(" ")
    return middle, interval


def document_interval(difference: Difference) -> str:
    """ "[-0.040, -0.022]" over documents, with the decimals of the difference where they tell the ends apart."""
    if difference.mean is None or difference.ci95_text is None:
        return numbers.NOTHING
    decimals = len(signed_together(difference.mean, difference.ci95_seeds)[0].partition(".")[2])
    low, high = (f"{end:+.{decimals}f}" for end in difference.ci95_text)
    if low == high:
        _, low, high = signed_together(difference.mean, difference.ci95_text)
    return f"[{low}, {high}]"
