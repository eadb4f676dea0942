"""The journal of a run: a record of every step and of every validation, taken by several writers. Free of torch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, Self

from tiedlm.evaluation.measures import nats_per_token
from tiedlm.training.record import StepRecord


@dataclass(frozen=True)
class ValidationRecord:
    """The validation split scored after `step`: `nll` is the sum in nats over its `num_tokens` targets.

    `tokens` and `seconds` are those of the step. `is_final`: it is the score of the finished model, which the result
    holds.
    """

    step: int
    tokens: int
    seconds: float
    nll: float
    num_tokens: int
    is_final: bool = False

    @property
    def nats_per_token(self) -> float | None:
        """The mean nll of a target; None where the split has none."""
        return nats_per_token(self.nll, self.num_tokens)


Record = StepRecord | ValidationRecord


class Writer(Protocol):
    """Takes the records of a run. Each raises RunError("disk") where it cannot write."""

    def add(self, record: Record) -> None:
        """Take a record; they come in the order of their steps, a validation after its step."""

    def flush(self) -> None:
        """Make sure that all records so far outlive this process."""

    def close(self, ended_well: bool) -> None:
        """Take no more records."""


class Journal:
    """Hands every record of a run to all writers; a context manager, which closes them."""

    def __init__(self, writers: Sequence[Writer]) -> None:
        self._writers = [*writers]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for writer in self._writers:
            writer.close(kind is None)

    @contextmanager
    def also(self, writer: Writer) -> Iterator[None]:
        """Inside, `writer` takes the records too, after the others."""
        self._writers.append(writer)
        try:
            yield
        finally:
            self._writers.remove(writer)

    def add(self, record: Record) -> None:
        """Hand a record to all writers."""
        for writer in self._writers:
            writer.add(record)

    def flush(self) -> None:
        """To be called before a checkpoint is saved, so that no checkpoint holds a step that a writer lacks."""
        for writer in self._writers:
            writer.flush()
