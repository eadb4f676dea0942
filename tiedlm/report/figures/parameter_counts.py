"""Parameter counts of models, given as in the JSON of `count-params`: a table by part, and what tying saves."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiedlm.report.figures import numbers
from tiedlm.report.figures.savings import CountedModel, parameter_savings
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.figures.text import key_in_words
from tiedlm.run.result import PARTS

Models = Sequence[Mapping[str, Any]]


def counts_table(models: Models) -> Table:
    """The parts that any model has, their sum, and what they cost."""
    parts = [part for part in PARTS if any(model["parts"].get(part) for model in models)]
    figures = {part: [model["parts"].get(part, 0) for model in models] for part in parts}
    figures["total"] = [model["total"] for model in models]
    needed = [model.get("inference_total") or model["total"] for model in models]
    if needed != figures["total"]:
        figures["inference_total"] = needed
    figures |= {key: [model[key] for model in models] for key in ("non_embedding", "flops_per_token")}
    rows = [
        Row.of("tying", (model["tying"] for model in models)),
        *(Row.of(_count_label(key), map(numbers.count, cells)) for key, cells in figures.items()),
    ]
    return Table(tuple(model["name"] for model in models), tuple(rows))


def _count_label(key: str) -> str:
    special = {
        "flops_per_token": "FLOPs per token",
        "non_embedding": "non-embedding",
        "inference_total": "total at inference",
    }
    return special.get(key, key_in_words(key))


def savings_of_models(models: Models) -> Iterator[str]:
    """What tying saves, for each model that is there both tied and untied."""
    return parameter_savings(
        [CountedModel(model["name"], model["tying"], model["non_embedding"], model["total"]) for model in models]
    )


def context_lengths(models: Models) -> Iterator[str]:
    """For which number of tokens of context the FLOPs are, where that is known."""
    lengths = sorted({model["seq_len"] for model in models if "seq_len" in model})
    if lengths:
        yield f"FLOPs are those of training, with {' or '.join(map(numbers.count, lengths))} tokens of context."
