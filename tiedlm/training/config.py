"""How a model is trained."""

import fractions
import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from tiedlm.config.base import (
    Config,
    Count,
    Execution,
    Fraction,
    FromList,
    NonNegative,
    Positive,
    Size,
    TakesMemory,
    Whole,
    check,
)

_OPTIMIZER_DEFAULTS: dict[str, dict[str, Any]] = {
    "adamw": {"betas": [0.9, 0.95], "eps": 1e-8},
    "sgd": {"momentum": 0.9},
}
_SCHEDULE_DEFAULTS: dict[str, dict[str, Any]] = {
    "cosine": {},
    "constant": {},
    "wsd": {"decay": 0.2},
    "step": {"milestones": [0.5, 0.75], "gamma": 0.1},
}
RateFactor = NonNegative | Literal["sqrt_dim"]


class TrainingConfig(Config):
    """The recipe, the same for every variant unless the file says otherwise.

    Length: exactly one of `steps`, `tokens` (rounded up to whole steps), `epochs` (over the train split).
    `batch_size` windows make one step. `warmup` and `decay` are steps where whole, else fractions of the run.
    `z_loss` times the mean of (log sum exp of a position's logits)^2 joins the objective, and no score.
    What begins with `embedding_` is for the matrices of the tying (one or two, and maps where a strategy has some; no
    bias), in place of the value for all parameters: `embedding_betas`, `embedding_eps` and `embedding_max_grad_norm`
    where not null, and the rate times `embedding_learning_rate_factor` (`sqrt_dim`: the root of the model's width,
    after Hayou & Liu 2025). `output_learning_rate_factor` (null: that of the embeddings) is the factor of what the
    output embedding alone has, the second matrix of `untied`. `output_max_grad_norm` is for what the head alone gives
    to the output embedding, before anything else joins it. See tiedlm/training/clipping for what each limit is a norm
    of.
    `head` is how the objective is formed: `lean` some positions at a time (what `auto` is everywhere), `full` with the
    scores of all at once.
    Keys of an optimizer or schedule that is not chosen are null and must not be set.
    """

    steps: Count | None = None
    tokens: Count | None = None
    epochs: Positive | None = None
    batch_size: Annotated[Size, TakesMemory()]
    micro_batch_size: Annotated[Size | Literal["auto"], TakesMemory()] = "auto"
    learning_rate: Positive
    min_learning_rate: NonNegative = 0.0
    schedule: Literal["cosine", "constant", "wsd", "step"] = "cosine"
    warmup: Annotated[Whole, Field(ge=0)] | Fraction = 0
    decay: Count | Fraction | None = None
    milestones: Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], FromList] | None = None
    gamma: Annotated[float, Field(gt=0, le=1)] | None = None
    optimizer: Annotated[Literal["adamw", "sgd"], TakesMemory()] = "adamw"
    betas: Annotated[tuple[Fraction, Fraction], FromList] | None = None
    eps: Positive | None = None
    momentum: Annotated[Fraction | None, TakesMemory(bool)] = None
    weight_decay: NonNegative = 0.1
    max_grad_norm: Positive | None = 1.0
    z_loss: Annotated[NonNegative, TakesMemory(bool)] = 0.0
    embedding_weight_decay: NonNegative = 0.0
    embedding_learning_rate_factor: RateFactor = 1.0
    output_learning_rate_factor: RateFactor | None = None
    embedding_betas: Annotated[tuple[Fraction, Fraction], FromList] | None = None
    embedding_eps: Positive | None = None
    embedding_max_grad_norm: Annotated[Positive | None, TakesMemory(bool)] = None
    output_max_grad_norm: Annotated[Positive | None, TakesMemory(bool)] = None
    precision: Annotated[Literal["auto", "fp32", "bf16", "fp16"], TakesMemory()] = "auto"
    compile: Annotated[Literal["auto"] | bool, TakesMemory()] = "auto"
    head: Annotated[Literal["auto", "lean", "full"], TakesMemory()] = "auto"
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$"), Execution(), TakesMemory()] = "auto"
    num_threads: Annotated[Annotated[Whole, Field(gt=0, le=1024)] | None, Execution()] = None
    evaluate_every: Annotated[Count | None, Execution()] = None
    checkpoint_every: Annotated[Count | None, Execution()] = None
    keep_last: Annotated[Count, Execution()] = 2
    loggers: Annotated[tuple[Literal["tensorboard", "wandb"], ...], FromList, Execution()] = ()

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        filled = dict(raw)
        for key, options in (("optimizer", _OPTIMIZER_DEFAULTS), ("schedule", _SCHEDULE_DEFAULTS)):
            chosen = raw.get(key, cls.model_fields[key].default)
            chosen_defaults = options.get(chosen, {}) if isinstance(chosen, str) else {}
            for name, value in chosen_defaults.items():
                if filled.get(name) is None:
                    filled[name] = value
        return filled

    @field_validator("warmup", "decay", mode="before")
    @classmethod
    def _not_in_doubt(cls, length: Any) -> Any:
        in_doubt = isinstance(length, float) and length == 1.0
        check(not in_doubt, "1.0 may be one step or the whole run: write 1 for one step, else a fraction below 1")
        return length

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        lengths = [name for name in ("steps", "tokens", "epochs") if getattr(self, name) is not None]
        given = ", ".join(lengths) or "none"
        check(len(lengths) == 1, f"give one of steps, tokens, epochs, and null for the others (given: {given})")
        for key, options in (("optimizer", _OPTIMIZER_DEFAULTS), ("schedule", _SCHEDULE_DEFAULTS)):
            chosen = getattr(self, key)
            foreign = {name for names in options.values() for name in names} - set(options[chosen])
            for name in sorted(foreign):
                check(getattr(self, name) is None, f"{name} means nothing to {key}: {chosen}")
        for name in ("embedding_betas", "embedding_eps"):
            fits = self.optimizer == "adamw" or getattr(self, name) is None
            check(fits, f"{name} means nothing to optimizer: {self.optimizer}")
        check(len({*self.loggers}) == len(self.loggers), "loggers: one stands there more than once")
        check(self.min_learning_rate <= self.learning_rate, "min_learning_rate is above learning_rate")
        check(self.schedule != "constant" or self.min_learning_rate == 0, "min_learning_rate: the schedule is constant")
        if isinstance(self.micro_batch_size, int):
            check(self.micro_batch_size <= self.batch_size, "micro_batch_size is above batch_size")
        if self.steps is not None and isinstance(self.warmup, int):
            check(self.warmup < self.steps, f"warmup of {self.warmup} steps does not fit into {self.steps}")
        return self

    @property
    def effective_head(self) -> Literal["lean", "full"]:
        """`head` with `auto` as it comes out."""
        return "lean" if self.head == "auto" else self.head

    def num_steps(self, seq_len: int, num_windows: int) -> int:
        """The length of the run in whole steps, rounded up; `num_windows` make an epoch."""
        if self.steps is not None:
            return self.steps
        if self.tokens is not None:
            return -(-self.tokens // (self.batch_size * seq_len))
        assert self.epochs is not None  # one of the three is given
        return math.ceil(fractions.Fraction(str(self.epochs)) * num_windows / self.batch_size)  # floats would round
