"""How a model is trained."""

import fractions
import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from tiedlm.config.base import (
    Config,
    Count,
    Execution,
    FilledIn,
    Fraction,
    FromList,
    Matches,
    NonNegative,
    Positive,
    Size,
    TakesMemory,
    Whole,
    check,
)
from tiedlm.config.problems import number_hint, shown

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
_LENGTHS = "must be a number of steps (a whole number, as 200) or a fraction of the run below 1 (as 0.1)"
_DEVICE = re.compile(r"auto|cpu|cuda(:[0-9]+)?")
_DEVICES = "must be auto, cpu, cuda or cuda:N (N: the number of a GPU)"


def gpu_hint(device: str) -> str:
    """What to add where something else than a device was given that may mean a GPU."""
    return "; cuda is what torch calls a GPU" if device.lower().startswith(("gpu", "cuda", "nvidia")) else ""


def _device(name: str) -> str:
    check(_DEVICE.fullmatch(name) is not None, f"{shown(name)}: {_DEVICES}{gpu_hint(name)}")
    return name


Device = Annotated[str, AfterValidator(_device), Matches(_DEVICE.pattern, _DEVICES)]
"""Where to compute: auto, cpu, cuda or cuda:N."""
_Betas = Annotated[tuple[Fraction, Fraction], FromList]
RateFactor = NonNegative | Literal["sqrt_dim"]
_Milestones = Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], FromList]


def _of(defaults: dict[str, dict[str, Any]], key: str) -> str:
    """The default of a key in words: it hangs on what is chosen."""
    return ", ".join(f"{values[key]} for {chosen}" for chosen, values in defaults.items() if key in values)


class TrainingConfig(Config):
    """The recipe, the same for every variant unless the file says otherwise.

    What begins with `embedding_` is for the matrices of the tying, in place of the value for all parameters; see
    tiedlm/training/clipping for what each limit is a norm of. Keys of an optimizer or schedule that is not chosen are
    null and must not be set.
    """

    steps: Count | None = None
    """Length of a run in optimizer steps; give one of steps, tokens and epochs."""
    tokens: Count | None = None
    """Length of a run in training tokens, rounded up to whole steps."""
    epochs: Positive | None = None
    """Length of a run in passes over the train split, rounded up to whole steps; may be a fraction."""
    batch_size: Annotated[Size, TakesMemory()]
    """Windows in one optimizer step."""
    micro_batch_size: Annotated[Size | Literal["auto"], TakesMemory()] = "auto"
    """Windows computed at once; gradients add up over a step. auto: as many as fit, the same for every variant."""
    learning_rate: Positive
    """Learning rate at the top of the schedule."""
    min_learning_rate: NonNegative = 0.0
    """Learning rate at the end of the schedule."""
    schedule: Literal["cosine", "constant", "wsd", "step"] = "cosine"
    """How the learning rate goes on after the warmup."""
    warmup: Annotated[Whole, Field(ge=0)] | Fraction = 0
    """Linear rise of the learning rate: steps where a whole number, else a fraction of the run."""
    decay: Annotated[Count | Fraction | None, FilledIn(_of(_SCHEDULE_DEFAULTS, "decay"))] = None
    """Fall of the learning rate at the end of wsd: steps where a whole number, else a fraction of the run."""
    milestones: Annotated[_Milestones | None, FilledIn(_of(_SCHEDULE_DEFAULTS, "milestones"))] = None
    """Parts of the run at which the schedule `step` lowers the learning rate."""
    gamma: Annotated[Annotated[float, Field(gt=0, le=1)] | None, FilledIn(_of(_SCHEDULE_DEFAULTS, "gamma"))] = None
    """What the schedule `step` multiplies the learning rate by at each milestone."""
    optimizer: Annotated[Literal["adamw", "sgd"], TakesMemory()] = "adamw"
    """The optimizer of all parameters."""
    betas: Annotated[_Betas | None, FilledIn(_of(_OPTIMIZER_DEFAULTS, "betas"))] = None
    """Decay rates of the two averages of adamw."""
    eps: Annotated[Positive | None, FilledIn(_of(_OPTIMIZER_DEFAULTS, "eps"))] = None
    """What adamw adds to the denominator."""
    momentum: Annotated[Fraction | None, TakesMemory(bool), FilledIn(_of(_OPTIMIZER_DEFAULTS, "momentum"))] = None
    """Momentum of sgd."""
    weight_decay: NonNegative = 0.1
    """Weight decay of matrices other than the embeddings; vectors never decay."""
    max_grad_norm: Positive | None = 1.0
    """Largest norm of the gradient of all parameters together; a longer one is scaled down. null: no limit."""
    z_loss: Annotated[NonNegative, TakesMemory(bool)] = 0.0
    """Factor of the mean of (log sum exp of a position's logits)^2 in the objective; no score has it."""
    embedding_weight_decay: NonNegative = 0.0
    """Weight decay of the matrices of the tying: one or two, and maps where a strategy has some; no bias."""
    embedding_learning_rate_factor: RateFactor = 1.0
    """Factor of the learning rate for the matrices of the tying. sqrt_dim: the square root of dim (after Hayou & Liu
    2025).
    """
    output_learning_rate_factor: RateFactor | None = None
    """The same for what belongs to the output embedding alone, as the second matrix of untied; null: no other factor.
    """
    embedding_betas: _Betas | None = None
    """`betas` for the matrices of the tying alone; null: as for all parameters."""
    embedding_eps: Positive | None = None
    """`eps` for the matrices of the tying alone; null: as for all parameters."""
    embedding_max_grad_norm: Annotated[Positive | None, TakesMemory(bool)] = None
    """Largest norm of the gradient of the matrices of the tying, clipped apart from the others. null: with them."""
    output_max_grad_norm: Annotated[Positive | None, TakesMemory(bool)] = None
    """Largest norm of what the head alone gives to the output embedding, before anything joins it. null: no limit."""
    precision: Annotated[Literal["auto", "fp32", "bf16", "fp16"], TakesMemory()] = "auto"
    """Number format of the computation; weights stay in fp32. auto: bf16 where the hardware has it, else fp16 on a GPU,
    fp32 on a CPU.
    """
    compile: Annotated[Literal["auto"] | bool, TakesMemory()] = "auto"
    """torch.compile of the body. auto: on a GPU, not on a CPU."""
    head: Annotated[Literal["auto", "lean", "full"], TakesMemory()] = "auto"
    """How the objective is formed: lean, some positions at a time; full, with the scores of all at once. auto: lean."""
    device: Annotated[Device, Execution(), TakesMemory()] = "auto"
    """Where to train: auto, cpu, cuda or cuda:N. auto: a GPU where there is one."""
    num_threads: Annotated[Annotated[Whole, Field(gt=0, le=1024)] | None, Execution()] = None
    """Threads of torch on a CPU; null: as torch chooses."""
    evaluate_every: Annotated[Count | None, Execution()] = None
    """Steps between scorings of the validation split; null: at the end alone."""
    checkpoint_every: Annotated[Count | None, Execution()] = None
    """Steps between checkpoints."""
    keep_last: Annotated[Count, Execution()] = 2
    """How many checkpoints to keep."""
    loggers: Annotated[tuple[Literal["tensorboard", "wandb"], ...], FromList, Execution()] = ()
    """Where else to draw the curves, beside the run's own metrics."""

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
        check(not isinstance(length, str), f"{shown(length)}: {_LENGTHS}{number_hint(length)}")
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
