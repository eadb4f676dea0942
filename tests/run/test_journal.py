"""The journal: every writer takes every record, and is closed however the run ends."""

from typing import Any

import pytest

from tiedlm.run.journal import Journal, Record, ValidationRecord
from tiedlm.training.record import StepRecord

STEP = StepRecord(step=1, loss=2.0, learning_rate=1.0, gradient_norm=3.0, tokens=64, seconds=0.1)
VALIDATION = ValidationRecord(step=1, tokens=64, seconds=0.1, nll=30.0, num_tokens=12)


class Notebook:
    """A writer that keeps everything it is given."""

    def __init__(self) -> None:
        self.notes: list[Any] = []

    def add(self, record: Record) -> None:
        self.notes.append(record)

    def flush(self) -> None:
        self.notes.append("flushed")

    def close(self, ended_well: bool) -> None:
        self.notes.append("ended well" if ended_well else "broke off")


def test_every_writer_takes_everything_and_is_closed_also_when_a_run_breaks_off() -> None:
    books = [Notebook(), Notebook()]
    with pytest.raises(KeyboardInterrupt), Journal(books) as journal:
        journal.add(STEP)
        journal.add(VALIDATION)
        journal.flush()
        raise KeyboardInterrupt
    assert books[0].notes == books[1].notes == [STEP, VALIDATION, "flushed", "broke off"]
    with Journal(books):
        pass
    assert books[1].notes[-1] == "ended well"


def test_a_writer_of_a_while_takes_what_comes_then_and_is_not_closed() -> None:
    whole, part = Notebook(), Notebook()
    with Journal([whole]) as journal:
        with journal.also(part):
            journal.add(STEP)
        journal.add(VALIDATION)
    assert (whole.notes, part.notes) == ([STEP, VALIDATION, "ended well"], [STEP])


def test_a_split_without_a_token_has_no_mean() -> None:
    assert VALIDATION.nats_per_token == 2.5
    assert ValidationRecord(step=1, tokens=64, seconds=0.1, nll=0.0, num_tokens=0).nats_per_token is None
