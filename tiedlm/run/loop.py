"""The training loop of a run: advance, record, validate, save, stop."""

from collections.abc import Callable

from tiedlm.run.interrupt import StopSignal
from tiedlm.run.journal import Journal, ValidationRecord
from tiedlm.training.config import TrainingConfig
from tiedlm.training.trainer import Trainer


def train(
    trainer: Trainer,
    config: TrainingConfig,
    journal: Journal,
    stop: StopSignal,
    *,
    validate: Callable[[], ValidationRecord],
    save: Callable[[ValidationRecord | None], None],
    until: int | None = None,
) -> None:
    """Train to the last step, or to the step `until`, where the state is saved too.

    `validate` scores the validation split. `save` writes a checkpoint, with the score where one was taken at this step.
    Raises Interrupted after SIGINT or SIGTERM, with the state saved, and RunError.
    """
    while not trainer.done and trainer.progress.step != until:
        record = trainer.advance()
        journal.add(record)
        validation = None
        if _is_due(record.step, config.evaluate_every) and not trainer.done:  # the last step is scored afterwards
            validation = validate()
            journal.add(validation)
        stopping = stop.received is not None  # read once: a signal that comes later is for the next step
        if _is_due(record.step, config.checkpoint_every) or trainer.done or stopping or record.step == until:
            journal.flush()
            save(validation)
        if stopping and not trainer.done:
            raise stop.interrupted(f"stopped after step {record.step}, state saved")


def _is_due(step: int, every: int | None) -> bool:
    return every is not None and step % every == 0
