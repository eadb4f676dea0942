"""How many parameters tying saves, where the same body is there both tied and untied."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.cells import shown_variants


@dataclass(frozen=True)
class SizedModel:
    """A model, the type of its tying, and its parameters besides embeddings, positions and output bias."""

    name: str
    tying: str
    non_embedding: int


Model = TypeVar("Model", bound=SizedModel)


def untied_counterparts(tied: Model, models: Sequence[Model]) -> Iterator[Model]:
    """The untied models whose body is as large as that of a tied one; none where it is not tied itself."""
    for untied in models:
        if (tied.tying, untied.tying) == ("tied", "untied") and tied.non_embedding == untied.non_embedding:
            yield untied


@dataclass(frozen=True)
class CountedModel(SizedModel):
    """A model and the number of all its parameters."""

    total: int


def parameter_savings(models: Sequence[CountedModel]) -> Iterator[str]:
    """What each tied model saves, absolute and as a share of the untied one; untied ones of one size together."""
    for tied in models:
        untied_names: dict[int, list[str]] = {}
        for untied in untied_counterparts(tied, models):
            untied_names.setdefault(untied.total, []).append(untied.name)
        for total, names in untied_names.items():
            saved = total - tied.total
            share = f"{100 * saved / total:.1f} % fewer than {' and '.join(names)}"
            yield f"Tying saves {saved:,} parameters: {tied.name} has {share}."


def savings_of_variants(comparison: Comparison) -> Iterator[str]:
    """`parameter_savings` among the variants of a comparison."""
    return parameter_savings(
        [
            CountedModel(variant.name, variant.tying, variant.parameters.non_embedding, variant.parameters.total)
            for variant in shown_variants(comparison)
        ]
    )
