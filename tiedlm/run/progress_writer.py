"""How far a run is, shown as it trains: a writer of its journal."""

from tiedlm.run.journal import Record
from tiedlm.talk import Update
from tiedlm.training.record import StepRecord
from tiedlm.training.trainer import Trainer


class ProgressWriter:
    """Shows every step, with its loss, its learning rate and the speed so far."""

    def __init__(self, show: Update, trainer: Trainer) -> None:
        self.show, self.trainer = show, trainer

    def add(self, record: Record) -> None:
        """Show a step; a validation is not shown."""
        if isinstance(record, StepRecord):
            progress = self.trainer.progress
            speed = (
                f"{progress.steady_tokens / progress.steady_seconds:,.0f} tokens/s" if progress.steady_seconds else ""
            )
            self.show(record.step, f"loss {record.loss:.3f}  lr {record.learning_rate:.1e}  {speed}")

    def flush(self) -> None:
        """Nothing to do: nothing is kept."""

    def close(self, ended_well: bool) -> None:
        """Nothing to do."""
