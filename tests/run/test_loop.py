"""The loop of a run: what is done after which step, and in which order."""

import signal
from typing import Any

import pytest

from tests.support.trainings import training
from tiedlm.errors import Interrupted
from tiedlm.run.interrupt import StopSignal
from tiedlm.run.journal import Journal, Record, ValidationRecord
from tiedlm.run.loop import train
from tiedlm.training.record import StepRecord


class Course:
    """Carries out the loop on a small model, and notes what it does: a step, a validation, a flush, a save."""

    def __init__(self, num_steps: int, **every: Any) -> None:
        self.done: list[str] = []
        self.stop = StopSignal("tied seed 0")
        self.stop_while: str | None = None
        self.scores: list[float | None] = []
        self.trainer = training(num_steps=num_steps, **every)

    def run(self) -> list[str]:
        train(
            self.trainer,
            self.trainer.config,
            Journal([self]),
            self.stop,
            validate=self.validate,
            save=self.save,
        )
        return self.done

    def note(self, what: str) -> None:
        self.done.append(what)
        if what == self.stop_while:
            self.stop.received = signal.SIGTERM

    def add(self, record: Record) -> None:
        if isinstance(record, StepRecord):
            self.note(f"step {record.step}")

    def flush(self) -> None:
        self.note("flush")

    def close(self, ended_well: bool) -> None:
        """The loop does not close what it did not open."""
        self.note("closed")

    def validate(self) -> ValidationRecord:
        progress = self.trainer.progress
        self.note(f"validate {progress.step}")
        return ValidationRecord(progress.step, progress.tokens_seen, progress.seconds, 3.0 * progress.step, 3)

    def save(self, validation: ValidationRecord | None) -> None:
        self.note(f"save {self.trainer.progress.step}")
        self.scores.append(validation.nats_per_token if validation else None)


def test_without_intervals_the_last_step_alone_is_saved_and_none_is_validated() -> None:
    assert Course(3).run() == ["step 1", "step 2", "step 3", "flush", "save 3"]


def test_a_validation_comes_before_the_save_that_holds_its_score_and_the_last_step_is_not_validated() -> None:
    course = Course(4, evaluate_every=2, checkpoint_every=1)
    saved = ["flush", "save 1"], ["validate 2", "flush", "save 2"], ["flush", "save 3"], ["flush", "save 4"]
    assert course.run() == [each for step, rest in enumerate(saved, 1) for each in (f"step {step}", *rest)]
    assert course.scores == [None, 2.0, None, None]


@pytest.mark.parametrize("while_", ["step 2", "validate 2"])
def test_after_a_signal_the_step_is_saved_and_no_other_taken(while_: str) -> None:
    course = Course(4, evaluate_every=2)
    course.stop_while = while_
    with pytest.raises(Interrupted, match="tied seed 0: stopped after step 2, state saved"):
        course.run()
    assert course.done == ["step 1", "step 2", "validate 2", "flush", "save 2"]


def test_a_signal_that_comes_while_a_step_is_saved_waits_for_the_next_step() -> None:
    """What is said to be saved is saved."""
    course = Course(4, checkpoint_every=2)
    course.stop_while = "save 2"
    with pytest.raises(Interrupted, match="after step 3, state saved"):
        course.run()
    assert course.done[-3:] == ["step 3", "flush", "save 3"]


def test_a_signal_after_the_last_step_does_not_stop_what_is_done() -> None:
    course = Course(2)
    course.stop_while = "step 2"
    assert course.run() == ["step 1", "step 2", "flush", "save 2"]


class Late(StopSignal):
    """A signal that comes right after it was first asked for in a step."""

    def __init__(self) -> None:
        super().__init__("tied seed 0")
        self.asked = 0

    def __getattribute__(self, name: str) -> Any:
        if name != "received":
            return super().__getattribute__(name)
        self.asked += 1
        return signal.SIGTERM if self.asked > 1 else None


def test_a_signal_that_comes_between_two_questions_does_not_stop_a_step_that_was_not_saved() -> None:
    course = Course(4)
    course.stop = Late()
    with pytest.raises(Interrupted, match="after step 2, state saved"):
        course.run()
    assert course.done == ["step 1", "step 2", "flush", "save 2"]
