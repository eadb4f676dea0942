"""What `tiedlm.diagnose` returns: fields for programs, `str()` for people. Free of torch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tiedlm.checkpoints.findings import Finding
from tiedlm.checkpoints.tie_flag import word

Relation = Literal["same parameter", "same storage", "equal values", "different", "not known"]
_LABEL = 18


@dataclass(frozen=True)
class Matrix:
    """One of the two as the module holds it; `adapter` says what PEFT put around it, "" where nothing."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    is_trained: bool
    adapter: str = ""

    def __str__(self) -> str:
        sizes = " x ".join(f"{size:,}" for size in self.shape)
        frozen = "" if self.is_trained else ", frozen"
        around = f", inside {self.adapter}" if self.adapter else ""
        return f"{self.name}, {sizes} {self.dtype} on {self.device}{frozen}{around}"


@dataclass(frozen=True)
class OptimizerUse:
    """A parameter group that holds a matrix: which of the two, how often, with which rate and decay."""

    group: int
    side: Literal["input", "output", "both"]
    times: int
    learning_rate: float | None
    weight_decay: float | None

    def __str__(self) -> str:
        often = "once" if self.times == 1 else f"{self.times} times"
        which = "the shared matrix" if self.side == "both" else f"the {self.side} embedding"
        return f"group {self.group} holds {which} {often}: rate {self.learning_rate}, decay {self.weight_decay}"


@dataclass(frozen=True)
class GradientPaths:
    """How many paths lead from the logits back to each matrix, and along how many of them a gradient came.

    `input` and `output` count the same paths where the two are one. `arrived` is None where no backward pass could be
    made (meta tensors), `problem` says why nothing could be counted.
    """

    input: int | None = None
    output: int | None = None
    arrived: int | None = None
    problem: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """How the input and the output embedding of a module relate, and what could go wrong with it.

    `output` is None where no module of its own makes the scores. `view` says how one is laid over the other, where they
    share memory and not parameter. `flag` is its config's `tie_word_embeddings`. `stored_twice` has groups of keys that
    `state_dict()` gives for one memory. `optimizer` is None where none was given.
    """

    module: str
    found_by: str
    input: Matrix
    output: Matrix | None
    relation: Relation
    view: Literal["", "transposed", "viewed"]
    flag: bool | None
    stored_twice: tuple[tuple[str, ...], ...]
    gradient_paths: GradientPaths | None
    optimizer: tuple[OptimizerUse, ...] | None
    is_meta: bool
    is_distributed: bool
    findings: tuple[Finding, ...]

    @property
    def is_tied(self) -> bool:
        """Whether a step changes both at once: they are one parameter, or one memory."""
        return self.relation in ("same parameter", "same storage")

    def __str__(self) -> str:
        lines = [f"{self.module}: {self._relation_in_words()}"]
        lines += [f"{label.ljust(_LABEL)}{value}" for label, value in self._lines()]
        lines += [f"- {finding.message} {finding.way_out}".rstrip() for finding in self.findings]
        return "\n".join(lines)

    def _relation_in_words(self) -> str:
        if self.output is None:
            return "tied: the table also makes the scores" if self.is_tied else "no output embedding was found"
        said = {
            "same parameter": "tied: one parameter",
            "same storage": "one memory, two parameters",
            "equal values": "not tied: two parameters with equal values",
            "different": "not tied: two parameters",
            "not known": "two parameters whose values are not there",
        }[self.relation]
        return f"{said} ({self.view})" if self.view else said

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "input embedding", str(self.input)
        yield "output embedding", str(self.output or "none")
        yield "found by", self.found_by
        if self.flag is not None:
            yield "config", f"tie_word_embeddings: {word(self.flag)}"
        groups = "; ".join(map(" = ".join, self.stored_twice))
        yield "state_dict", f"one memory: {groups}" if groups else "each key is a memory of its own"
        if self.gradient_paths is not None:
            yield "gradient paths", self._paths_in_words(self.gradient_paths)
        for use in self.optimizer or ():
            yield "optimizer", str(use)
        if self.is_distributed:
            yield "distributed", "DTensor: the local parts were compared"

    def _paths_in_words(self, paths: GradientPaths) -> str:
        if paths.problem:
            return f"not counted: {paths.problem}"
        arrived = "" if paths.arrived is None else f"; a gradient came along {paths.arrived}"
        if self.relation == "same parameter" or self.output is None:
            return f"{paths.input}{arrived}"
        return f"{paths.input} to the input, {paths.output} to the output{arrived}"
