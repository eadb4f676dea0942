"""The memory forecast of models: a table of the predicted peak by category, and sentences on what it stands for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiedlm.comparison.comparison import Comparison
from tiedlm.forecast.footprint import CATEGORIES, Footprint
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import known, shown_variants
from tiedlm.report.figures.savings import SizedModel, untied_counterparts
from tiedlm.report.figures.table import Row, Shown, Table
from tiedlm.report.figures.text import key_in_words


@dataclass(frozen=True)
class ModelForecast(SizedModel):
    """A model and the forecast of the memory of one training step."""

    footprint: Footprint


def forecasts_of_variants(comparison: Comparison) -> list[ModelForecast]:
    """Of the shown variants those whose memory was forecast."""
    return [
        ModelForecast(variant.name, variant.tying, variant.parameters.non_embedding, variant.memory.predicted)
        for variant in shown_variants(comparison)
        if variant.memory.predicted
    ]


def forecast_tables(models: Sequence[ModelForecast]) -> list[Table]:
    """The peak with its categories (those that any model has), then what stays allocated; none without models."""
    footprints = [model.footprint for model in models]
    if not footprints:
        return []
    rows = [Row.of("predicted peak memory", (_memory(f.peak_bytes, f) for f in footprints))]
    for category in CATEGORIES:
        if any(footprint.categories.get(category) for footprint in footprints):
            cells = (_memory(footprint.categories.get(category), footprint) for footprint in footprints)
            rows.append(Row.of(key_in_words(category), cells, 1))
    rows += [
        Row.of("of the peak, vocabulary", (_memory(_vocabulary(f), f) for f in footprints)),
        Row.of("for good", (_memory(f.persistent_bytes, f) for f in footprints)),
    ]
    return [Table(tuple(model.name for model in models), tuple(rows), title="Memory of a training step, predicted")]


def forecast_notes(models: Sequence[ModelForecast]) -> Iterator[str]:
    """Which step was forecast, what the forecast leaves out, and how much more untied takes than tied."""
    if models:
        yield from _conditions(models)
        yield from _memory_savings(models)


def _conditions(models: Sequence[ModelForecast]) -> Iterator[str]:
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


def _memory_savings(models: Sequence[ModelForecast]) -> Iterator[str]:
    for tied in models:
        for untied in untied_counterparts(tied, models):
            for_good = _difference(untied.footprint.persistent_bytes, tied.footprint.persistent_bytes)
            peaks = _difference(untied.footprint.peak_bytes, tied.footprint.peak_bytes)
            if for_good is not None and peaks is not None:
                yield (
                    f"{untied.name} holds {numbers.memory(for_good)} more for good than {tied.name} "
                    f"(a second matrix, its gradient and its optimizer state); at the peak it is "
                    f"{numbers.memory(peaks)} more."
                )


def _difference(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


def _vocabulary(footprint: Footprint) -> int | None:
    return None if footprint.vocabulary is None else sum(footprint.vocabulary.values())


def _memory(num_bytes: int | None, footprint: Footprint) -> Shown:
    return known(num_bytes, numbers.memory, footprint.reason or "it has no such part")
