"""An experiment: its variants and its seeds. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from tiedlm.config.base import (
    Config,
    ConfigError,
    FromList,
    Positive,
    Problem,
    Raw,
    parse,
)
from tiedlm.evaluation.measures import SMALLEST_WORTHWHILE
from tiedlm.experiment.tuning import Tuning
from tiedlm.run.added import Added
from tiedlm.run.config import RunConfig, Seed


@dataclass(frozen=True)
class Candidate:
    """A variant with the settings of one point of the grid, and these settings as the config has them."""

    settings: Mapping[str, Any]
    config: RunConfig


@dataclass(frozen=True)
class Search:
    """The tuning search before the runs: for every variant the same points of a grid, each with each of `seeds`."""

    seeds: tuple[int, ...]
    candidates: Mapping[str, tuple[Candidate, ...]]


@dataclass(frozen=True)
class Experiment:
    """Variants x seeds. `variants` maps each name to its run config (with the first seed), in the file's order.

    `primary` is the variant whose comparison is not corrected for the others (null: the first beside the baseline),
    `smallest_worthwhile` the difference in nats per token below which two variants count as equal. `noise_floor` asks
    for the baseline with another draw of its embeddings, `match` for variants of the baseline's size; the variants that
    the plan adds for them stand among `variants`, each with its `added`. `search` is the tuning search that `tune` asks
    for, `tuning` its outcome; until then the variants have the settings of the first point.
    """

    name: str
    seeds: tuple[int, ...]
    baseline: str
    variants: Mapping[str, RunConfig]
    primary: str | None = None
    smallest_worthwhile: float = SMALLEST_WORTHWHILE
    noise_floor: bool = False
    match: Literal["parameters"] | None = None
    search: Search | None = None
    tuning: Tuning | None = None

    @property
    def variants_of_file(self) -> dict[str, RunConfig]:
        """The variants that the file names."""
        return {name: config for name, config in self.variants.items() if config.added is None}

    @property
    def waits_for_tuning(self) -> bool:
        """Whether the settings of its runs are still to be chosen."""
        return self.search is not None and self.tuning is None

    def run_config(self, variant: str, seed: int) -> RunConfig:
        """The config of one run."""
        return self.variants[variant].model_copy(update={"seed": seed})

    def with_added(self, suffix: str, config: RunConfig, added: Added) -> "Experiment":
        """With one more variant, the last: `config`, named as the variant that it was made of, and `suffix`.

        Raises ConfigError where that is no valid name, or a variant of the file has it.
        """
        name = f"{added.of}{suffix}"
        taken = next((other for other in self.variants_of_file if other.lower() == name.lower()), None)
        if taken is not None:
            message = f"{taken!r} is the name of what {added.role} adds to {added.of}: give yours another one"
            raise ConfigError(Problem(f"variants.{taken}", message))
        raw = config.model_dump(mode="json") | {"variant": name, "added": added.model_dump(mode="json")}
        return replace(self, variants={**self.variants, name: parse(RunConfig, raw)})


class Tune(Config):
    """`grid`: the values to try of each setting, in all combinations; `seeds`: none that the runs have too."""

    grid: Raw
    seeds: Annotated[tuple[Seed, ...], FromList]


class ExperimentKeys(Config):
    """What a file says beside the config of a run."""

    seeds: Annotated[tuple[Seed, ...], FromList] | None = None
    baseline: str | None = None
    variants: dict[str, Raw] | None = None
    primary: str | None = None
    smallest_worthwhile: Positive = SMALLEST_WORTHWHILE
    noise_floor: bool = False
    match: Literal["parameters"] | None = None
    tune: Tune | None = None


EXPERIMENT_KEYS = tuple(ExperimentKeys.model_fields)
