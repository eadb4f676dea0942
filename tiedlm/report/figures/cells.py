"""Cells of tables with a column for each variant: from a variant or a difference to its text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.split_summary import SplitSummary
from tiedlm.comparison.variant_summary import SeedRun, VariantSummary
from tiedlm.comparison.verdict import signed_together
from tiedlm.evaluation.absence import NOT_STORED, ONE_SEED
from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import Absence, Row, Shown

Cell = Callable[[VariantSummary], Shown]
Value = TypeVar("Value")


def known(value: Value | None, written: Callable[[Value], str], reason: str | None) -> Shown:
    """A figure as text, or that it is absent and why."""
    return Absence(reason or NOT_STORED) if value is None else written(value)


def known_memory(num_bytes: int | None, reason: str | None) -> Shown:
    """A peak; where there is none, the reason itself stands in the cell if it is a few words."""
    if num_bytes is not None:
        return numbers.memory(num_bytes)
    said = reason or numbers.NOT_MEASURED
    return Absence(said, short=said) if len(said) <= len(numbers.NOT_MEASURED) else Absence(said)


def reason_in(absent: Mapping[str, str], key: str) -> str:
    """Why the figure under a key is null."""
    return absent.get(key, NOT_STORED)


def in_words(shown: Shown) -> str:
    """A figure within a sentence; of one that is absent also the reason."""
    absent = isinstance(shown, Absence) and shown.what == "none"
    return f"none ({shown.reason})" if absent and isinstance(shown, Absence) else str(shown)


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


def over_seeds(variants: Sequence[VariantSummary], how: str = "all seeds") -> str:
    """ ", all seeds" behind the label of a sum over several seeds; `how`: another way of taking them together."""
    return f", {how}" if any(len(variant.seeds) > 1 for variant in variants) else ""


def present(variants: Sequence[VariantSummary], splits: Iterator[str] | Sequence[str]) -> list[str]:
    """The splits that at least one variant scored."""
    return [split for split in splits if any(split in variant.splits for variant in variants)]


def of_split(split: str, shown: Callable[[SplitSummary], Shown]) -> Cell:
    """A figure of one split; absent where a variant did not score it."""
    return lambda variant: shown(variant.splits[split]) if split in variant.splits else Absence("not scored")


def score(key: str, decimals: int) -> Callable[[SplitSummary], Shown]:
    """A figure of a split by its key."""
    return lambda summary: known(
        getattr(summary, key), lambda value: numbers.decimal(value, decimals), reason_in(summary.absent, key)
    )


def perplexity_cell(split: str) -> Cell:
    """Perplexity per token, with its spread over seeds."""
    return of_split(split, _perplexity)


def _perplexity(summary: SplitSummary) -> Shown:
    if summary.token_perplexity is None:
        return Absence(reason_in(summary.absent, "token_perplexity"))
    if summary.token_perplexity_sd is None:
        reason = summary.absent.get("token_perplexity_sd", ONE_SEED)
        return Absence(reason, short=numbers.decimal(summary.token_perplexity, 2), what="no ±")
    return numbers.spread(summary.token_perplexity, summary.token_perplexity_sd, 2)


def nats_cell(split: str) -> Cell:
    """Nats per token."""
    return of_split(split, score("nats_per_token", 4))


def of_runs(shown: Callable[[SeedRun], str]) -> Cell:
    """A figure of the runs of a variant: once where it is the same in all, else each of its values."""
    return lambda variant: " / ".join(dict.fromkeys(shown(run) for run in variant.runs))


def difference_cell(difference: Difference | None) -> str:
    """ "-0.031 [-0.040, -0.022]", the interval of the verdict; without one the difference alone."""
    if difference is None or difference.mean is None:
        return numbers.NOTHING
    return numbers.with_interval(difference.mean, difference.interval)


def shown_difference(difference: Difference) -> Shown:
    """`difference_cell`, with the reason where the difference or its interval is absent."""
    if difference.mean is None:
        return Absence(reason_in(difference.absent, "mean"))
    if difference.interval is None:
        return Absence(reason_in(difference.absent, "ci95_seeds"), difference_cell(difference), "no interval")
    return difference_cell(difference)


def difference_parts(difference: Difference | None) -> tuple[str, str]:
    """The difference, and its interval where there is one: `difference_cell` in two cells."""
    middle, _, interval = difference_cell(difference).partition(" ")
    return middle, interval


def document_interval(difference: Difference) -> str:
    """ "[-0.040, -0.022]" over documents, with the decimals of the difference where they tell the ends apart."""
    if difference.mean is None or difference.ci95_text is None:
        return numbers.NOTHING
    decimals = len(signed_together(difference.mean, difference.interval)[0].partition(".")[2])
    low, high = (f"{end:+.{decimals}f}" for end in difference.ci95_text)
    if low == high:
        _, low, high = signed_together(difference.mean, difference.ci95_text)
    return f"[{low}, {high}]"
