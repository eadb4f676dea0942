"""Predicted memory: what of it is what, and by how much untied needs more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiedlm.comparison.comparison import Comparison
from tiedlm.forecast.footprint import CATEGORIES, Footprint
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import shown_variants
from tiedlm.report.figures.table import Records, Row
from tiedlm.report.formats.terminal_writer import Page

_TITLE = "Memory of a training step, predicted"


@dataclass(frozen=True)
class Foreseen:
    """A model, how large it is besides its embeddings, and its footprint."""

    name: str
    tying: str
    non_embedding: int
    footprint: Footprint


def render_memory(comparison: Comparison, page: Page) -> None:
    """The predictions of a comparison's variants, where there are any."""
    render_foreseen(foreseen(comparison), page)


def foreseen(comparison: Comparison) -> list[Foreseen]:
    """The variants whose memory was predicted."""
    return [
        Foreseen(variant.name, variant.tying, variant.parameters.non_embedding, variant.memory.predicted)
        for variant in shown_variants(comparison)
        if variant.memory.predicted
    ]


def render_foreseen(models: Sequence[Foreseen], page: Page) -> None:
    """A table, and what to know about it."""
    if not models:
        return
    page.blank()
    page.records(memory_records(models))
    page.blank()
    for line in (*conditions(models), *gaps(models)):
        page.prose(line)


def memory_records(models: Sequence[Foreseen]) -> Records:
    """The peak with its categories (those that any model has), then what stays for good."""
    footprints = [model.footprint for model in models]
    rows = [Row.of("predicted peak memory", (_bytes(footprint.peak_bytes) for footprint in footprints))]
    for category in CATEGORIES:
        if any(footprint.categories.get(category) for footprint in footprints):
            label = category.replace("_", " ")
            rows.append(Row.of(label, (_bytes(footprint.categories.get(category)) for footprint in footprints), 1))
    rows += [
        Row.of("of the peak, vocabulary", (_bytes(_vocabulary(footprint)) for footprint in footprints)),
        Row.of("for good", (_bytes(footprint.persistent_bytes) for footprint in footprints)),
    ]
    return Records(tuple(model.name for model in models), tuple(rows), title=_TITLE)


def conditions(models: Sequence[Foreseen]) -> Iterator[str]:
    """Of which step the prediction is, and what it leaves out."""
    footprints = [model.footprint for model in models]
    places = dict.fromkeys(f"{f.device}, {f.precision}, micro-batches of {f.micro_batch_size:,}" for f in footprints)
    yield (
        f"Predicted, not measured, for {' / '.join(places)}: the step as written, without what kernels take for "
        "themselves and before a compiler fuses parts of it. Vocabulary: whatever has a row or a column for every "
        "token. For good: parameters, gradients and the optimizer's state."
    )
    for model in models:
        if model.footprint.reason:
            yield f"{model.name}: no prediction, {model.footprint.reason}."


def gaps(models: Sequence[Foreseen]) -> Iterator[str]:
    """Untied against tied, where the same body is there both ways: what stays, and the peaks."""
    for tied in models:
        for untied in models:
            same = tied.non_embedding == untied.non_embedding
            if (tied.tying, untied.tying) == ("tied", "untied") and same:
                for_good = _minus(untied.footprint.persistent_bytes, tied.footprint.persistent_bytes)
                peaks = _minus(untied.footprint.peak_bytes, tied.footprint.peak_bytes)
                if for_good is not None and peaks is not None:
                    yield (
                        f"{untied.name} holds {numbers.memory(for_good)} more for good than {tied.name} "
                        f"(a second matrix, its gradient and its optimizer state); at the peak it is "
                        f"{numbers.memory(peaks)} more."
                    )


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


def _vocabulary(footprint: Footprint) -> int | None:
    return None if footprint.vocabulary is None else sum(footprint.vocabulary.values())


def _bytes(num_bytes: int | None) -> str:
    return numbers.NOTHING if num_bytes is None else numbers.memory(num_bytes)
