"""A run: one variant with one seed. Free of torch."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tiedlm.config.base import Config, Execution, FilledIn, Name, Whole, check
from tiedlm.data.config import DataConfig
from tiedlm.evaluation.config import EvaluationConfig, Windows
from tiedlm.model.config import ModelConfig
from tiedlm.run.added import Added
from tiedlm.training.config import TrainingConfig

Seed = Annotated[Whole, Field(ge=0, lt=2**32)]


class RunConfig(Config):
    """One variant with one seed: everything that its run needs."""

    name: Name
    """Name of the experiment: its runs are stored in <runs-dir>/<name>."""
    variant: Annotated[Name, FilledIn("the type of tying, in a file of one run")]
    """Name of the variant, in a file of one run."""
    seed: Seed = 0
    """Seed of one run: start, batches and dropout."""
    data: DataConfig
    """The text, how it is cut into tokens, and the context length."""
    model: ModelConfig
    """The decoder, by `type`: its shape and its tying."""
    training: TrainingConfig
    """The recipe."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """How a split is scored."""
    embedding_draw: Annotated[Whole, Field(ge=0, lt=2**32)] = 0
    """Number of the draw of the embeddings' starting values; another one changes nothing else."""
    added: Annotated[Added | None, Execution()] = None
    """Set by the plan, in a variant that the file does not name: why it is there."""
    part: Annotated[Name | None, Execution()] = None
    """Set by the plan, in an experiment with recipes or budgets: the one that the run belongs to."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        longest = max(self.data.seq_len, self.evaluation.seq_len or 0)
        limit = self.model.max_seq_len
        check(limit is None or longest <= limit, f"seq_len {longest} is above model.max_seq_len {limit}")
        stride, length = self.evaluation.stride, self.windows().seq_len
        check(stride is None or stride <= length, f"evaluation.stride {stride} is above its seq_len {length}")
        for key in ("seq_len", "stride"):
            windowed = getattr(self.evaluation, key) is None or not self.model.carries_state
            check(windowed, f"evaluation.{key} means nothing to a model that carries its state through the text")
        has_own_rate = self.training.output_learning_rate_factor is not None
        fits = not has_own_rate or self.model.tying.has_output_parameters
        kind = self.model.tying.type
        check(
            fits,
            f"training.output_learning_rate_factor means nothing to model.tying.type: {kind}, where no parameter "
            "belongs to the output embedding alone",
        )
        compiled = self.training.compile is not True or self.model.compiles
        check(compiled, f"training.compile: true means nothing to model.type: {self.model.type}")
        return self

    @property
    def label(self) -> str:
        """The run in a few words."""
        names = (self.part, self.tuning_of, self.variant)
        return f"{' '.join(name for name in names if name is not None)} seed {self.seed}"

    @property
    def tuning_of(self) -> str | None:
        """The variant whose settings a tuning run helps to choose; null of a run that is compared."""
        return self.added.of if self.added is not None and self.added.role == "trial" else None

    @property
    def is_tuning_run(self) -> bool:
        """Whether the run only helps to choose settings: it is scored on the validation split alone."""
        return self.tuning_of is not None

    def windows(self, seq_len: int | None = None, stride: int | None = None) -> Windows:
        """The windows in which a split is scored; `seq_len` and `stride` replace those of the config."""
        return self.evaluation.windows(self.data.seq_len, seq_len, stride)

    @property
    def max_seq_len(self) -> int:
        """The longest window the model must be able to read."""
        return self.model.max_seq_len or max(self.data.seq_len, self.evaluation.seq_len or 0)
