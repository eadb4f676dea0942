"""An experiment: its variants and its seeds. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tiedlm.config.base import (
    Config,
    ConfigError,
    FilledIn,
    FromList,
    Positive,
    Problem,
    Raw,
    Whole,
    check,
    parse,
)
from tiedlm.evaluation.measures import SMALLEST_WORTHWHILE
from tiedlm.experiment.search import Search
from tiedlm.experiment.space import keys_in
from tiedlm.experiment.tuning import Method, Tuning
from tiedlm.run.added import Added
from tiedlm.run.config import RunConfig, Seed
from tiedlm.run.layout import Layout

MOST_POINTS = 1000
"""More settings than this are not tried for a variant."""


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
            if search.adaptive is not None:
                raws = {variant: {**raw, "part": name} for variant, raw in search.adaptive.raws.items()}
                search = replace(search, adaptive=replace(search.adaptive, raws=raws))
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


_METHOD_DEFAULTS: dict[str, dict[str, Any]] = {
    "grid": {},
    "random": {"seed": 0},
    "halving": {"seed": 0, "reduction": 3, "min_fraction": 0.2},
    "tpe": {"seed": 0},
}
_SPACE = ("space", "variants", "trials")


class Tune(Config):
    """A search of settings, for every variant alike. Keys of a method that is not chosen must not be set."""

    method: Method = "grid"
    """How settings are found. grid: all combinations. random: drawn, the same for every variant. halving: drawn, and at
    each rung of the run the worse ones are dropped. tpe: proposed by Optuna for each variant by what it has tried.
    """
    grid: Raw | None = None
    """The values to try of each setting, as dotted keys with lists; of several keys all combinations."""
    space: Raw | None = None
    """What may be tried of each setting, as dotted keys: {low: .., high: ..}, with log: true or a step, or a list."""
    variants: dict[str, Raw] | None = None
    """Name of a variant, and what its space has beside `space` or in place of it."""
    trials: Annotated[Whole, Field(gt=0, le=MOST_POINTS)] | None = None
    """How many settings of the space are tried for each variant."""
    seeds: Annotated[tuple[Seed, ...], FromList]
    """Seeds of the tuning runs, none that the runs have too."""
    seed: Annotated[Seed | None, FilledIn("0 for random, halving, tpe")] = None
    """Seed of the settings that are drawn or proposed."""
    reduction: Annotated[Annotated[Whole, Field(ge=2)] | None, FilledIn("3 for halving")] = None
    """halving: of so many settings one goes on at each rung."""
    min_fraction: Annotated[Annotated[float, Field(gt=0, lt=1)] | None, FilledIn("0.2 for halving")] = None
    """halving: the part of a run at its first rung; each later one is `reduction` times as far."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, raw: Any) -> Any:
        method = raw.get("method", "grid") if isinstance(raw, dict) else None
        defaults = _METHOD_DEFAULTS.get(method, {}) if isinstance(method, str) else {}
        return {**raw, **{key: value for key, value in defaults.items() if raw.get(key) is None}} if defaults else raw

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        known = {key for keys in _METHOD_DEFAULTS.values() for key in keys} - set(_METHOD_DEFAULTS[self.method])
        foreign = [*known, *(_SPACE if self.method == "grid" else ("grid",))]
        for key in sorted(foreign):
            check(getattr(self, key) is None, f"{key} means nothing to method: {self.method}")
        needed = ("grid",) if self.method == "grid" else ("space", "trials")
        for key in needed:
            given = getattr(self, key) is not None or (key == "space" and self.variants)
            check(bool(given), f"{key} is required by method: {self.method}")
        return self

    def place(self, variant: str, key: str) -> str:
        """Where the file gives the values of a dotted key for a variant."""
        if self.method == "grid":
            return f"tune.grid.{key}"
        own = dict(keys_in((self.variants or {}).get(variant, {})))
        return f"tune.variants.{variant}.{key}" if key in own else f"tune.space.{key}"


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
