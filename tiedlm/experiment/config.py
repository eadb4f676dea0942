"""An experiment: its variants and its seeds. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
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
from tiedlm.run.layout import Layout


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
    def part(self) -> str | None:
        """The recipe or budget that all of its runs belong to; null of an experiment that has none."""
        return next(iter(self.variants.values())).part

    def layout(self, runs_dir: Path) -> Layout:
        """Where its runs lie."""
        return Layout.of(runs_dir, self.name, self.part)

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

    def in_part(self, name: str) -> "Experiment":
        """The same as a recipe or a budget: its runs belong to it, those of its tuning search too."""

        def moved(config: RunConfig) -> RunConfig:
            return config.model_copy(update={"part": name})

        variants = {variant: moved(config) for variant, config in self.variants.items()}
        search = self.search
        if search is not None:
            candidates = {
                variant: tuple(replace(each, config=moved(each.config)) for each in candidates)
                for variant, candidates in search.candidates.items()
            }
            search = replace(search, candidates=candidates)
        return replace(self, variants=variants, search=search)

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
    """A search of settings: the same grid for every variant."""

    grid: Raw
    """The values to try of each setting, as dotted keys with lists; of several keys all combinations."""
    seeds: Annotated[tuple[Seed, ...], FromList]
    """Seeds of the tuning runs, none that the runs have too."""


class FileKeys(Config):
    """What a file says of other files."""

    extends: str | None = None
    """The config underneath this one: a path from this file's folder, or the name of a packaged config."""


class ExperimentKeys(Config):
    """What a file says beside the config of a run."""

    seeds: Annotated[tuple[Seed, ...], FromList] | None = None
    """Each variant is trained once with each."""
    baseline: str | None = None
    """The variant that the others are compared with; null: untied, else the first."""
    variants: dict[str, Raw] | None = None
    """Name of each variant, and what it changes in the keys around it."""
    primary: str | None = None
    """The variant whose comparison is not corrected for the others; null: the first beside the baseline."""
    smallest_worthwhile: Positive = SMALLEST_WORTHWHILE
    """Differences below this many nats per token count as equal."""
    noise_floor: bool = False
    """Whether the baseline is trained once more with its embeddings drawn anew, to see what that alone changes."""
    match: Literal["parameters"] | None = None
    """parameters: adds variants of the baseline's size, with the difference spent on the body."""
    tune: Tune | None = None
    """A search of settings for each variant before its runs."""
    recipes: dict[str, Raw] | None = None
    """Name of each recipe, and what it changes of `model` and `training` in all variants, or under `variants` in some:
    the whole experiment is carried out under each.
    """
    judging_seeds: Annotated[tuple[Seed, ...], FromList] | None = None
    """With recipes: seeds of the runs that judge each variant under its best recipe, which `seeds` choose. null: the
    first half of `seeds` chooses, the others judge.
    """
    budgets: Annotated[tuple[Positive, ...], FromList] | None = None
    """Lengths of training at which the whole experiment is carried out, in lengths of its own: [1, 3]."""


OF_RECIPES = ("model", "training")
"""What a recipe may change: the text and how it is scored are one for all of them."""
EXPERIMENT_KEYS = tuple(ExperimentKeys.model_fields)
