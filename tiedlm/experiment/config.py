"""An experiment: a base config, its variants and its seeds; a run: one variant with one seed. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tiedlm.config import (
    Config,
    ConfigError,
    Execution,
    FromList,
    Name,
    Positive,
    Problem,
    Raw,
    Whole,
    check,
    parse,
)
from tiedlm.data.config import DataConfig
from tiedlm.evaluation.config import EvaluationConfig
from tiedlm.experiment.added import Added as Added
from tiedlm.experiment.measures import SMALLEST_WORTHWHILE
from tiedlm.experiment.tuning import Tuning
from tiedlm.model.config import ModelConfig
from tiedlm.training.config import TrainingConfig

Seed = Annotated[Whole, Field(ge=0, lt=2**32)]


class RunConfig(Config):
    """One variant with one seed: everything that its run needs.

    `embedding_draw` numbers the draws of the embeddings' starting values: another number gives other values to them
    and to nothing else.
    """

    name: Name
    variant: Name
    seed: Seed = 0
    data: DataConfig
    model: ModelConfig
    training: TrainingConfig
    evaluation: EvaluationConfig = EvaluationConfig()
    embedding_draw: Annotated[Whole, Field(ge=0, lt=2**32)] = 0
    added: Annotated[Added | None, Execution()] = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        longest = max(self.data.seq_len, self.evaluation.seq_len or 0)
        limit = self.model.max_seq_len
        check(limit is None or longest <= limit, f"seq_len {longest} is above model.max_seq_len {limit}")
        stride, window = self.evaluation.stride, self.evaluation.seq_len or self.data.seq_len
        check(stride is None or stride <= window, f"evaluation.stride {stride} is above its seq_len {window}")
        for key in ("seq_len", "stride"):
            windowed = getattr(self.evaluation, key) is None or not self.model.carries_state
            check(windowed, f"evaluation.{key} means nothing to a model that carries its state through the text")
        compiled = self.training.compile is not True or self.model.compiles
        check(compiled, f"training.compile: true means nothing to model.type: {self.model.type}")
        return self

    @property
    def label(self) -> str:
        """The run in a few words."""
        variant = f"{self.trial_of} {self.variant}" if self.is_trial else self.variant
        return f"{variant} seed {self.seed}"

    @property
    def trial_of(self) -> str | None:
        """The variant whose settings it helps to choose; null of a run that is compared itself."""
        return self.added.of if self.added is not None and self.added.role == "trial" else None

    @property
    def is_trial(self) -> bool:
        """Whether it only helps to choose the settings of other runs: it is scored on validation alone."""
        return self.trial_of is not None

    @property
    def max_seq_len(self) -> int:
        """The longest window the model must be able to read."""
        return self.model.max_seq_len or max(self.data.seq_len, self.evaluation.seq_len or 0)


@dataclass(frozen=True)
class Candidate:
    """A variant with the settings of one point of the grid in it, and these settings as the config has them."""

    settings: Mapping[str, Any]
    config: RunConfig


@dataclass(frozen=True)
class Search:
    """What to try before the runs: for every variant the same points, each with every one of `seeds`."""

    seeds: tuple[int, ...]
    candidates: Mapping[str, tuple[Candidate, ...]]


@dataclass(frozen=True)
class Experiment:
    """Variants x seeds. `variants` maps each name to its run config (with the first seed), in the file's order.

    `primary` is the variant whose comparison is not corrected for the others (null: the first beside the baseline),
    `smallest_worthwhile` the difference in nats per token below which two variants count as equal. `noise_floor` asks
    for the baseline with another draw of its embeddings, `match` for variants of the baseline's size; what the plan
    adds for them stands among the variants, each with its `added`. `search` is what `tune` asks for, `tuning` what came
    out of it; until then the variants have the settings of the first point.
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
    def asked(self) -> dict[str, RunConfig]:
        """The variants that the file names."""
        return {name: config for name, config in self.variants.items() if config.added is None}

    @property
    def waits_for_trials(self) -> bool:
        """Whether the settings of its runs are still to be chosen."""
        return self.search is not None and self.tuning is None

    def run_config(self, variant: str, seed: int) -> RunConfig:
        """The config of one run."""
        return self.variants[variant].model_copy(update={"seed": seed})

    def with_added(self, suffix: str, config: RunConfig, added: Added) -> "Experiment":
        """With one more variant, last, `config` under the name of the variant it was made of and `suffix`.

        Raises ConfigError where that is no name, or the file gives it to another variant.
        """
        name = f"{added.of}{suffix}"
        taken = next((other for other in self.asked if other.lower() == name.lower()), None)
        if taken is not None:
            message = f"{taken!r} is the name of what {added.role} adds to {added.of}: give yours another one"
            raise ConfigError(Problem(f"variants.{taken}", message))
        raw = config.model_dump(mode="json") | {"variant": name, "added": added.model_dump(mode="json")}
        return replace(self, variants={**self.variants, name: parse(RunConfig, raw)})


class Tune(Config):
    """`grid`: the values to try of each setting, all combinations; `seeds`: none of those of the runs."""

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
