"""How far a run is, shown as it trains: a writer of its journal."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tiedlm.errors import RunError
from tiedlm.run.folder import RunFolder
from tiedlm.run.journal import Record
from tiedlm.run.layout import Run
from tiedlm.talk import Silence, Talk, Update
from tiedlm.training.record import StepRecord
from tiedlm.training.trainer import Trainer


@dataclass(frozen=True)
class Earlier:
    """The validation curve of a finished run with the same seed: nats per token by step, and its variant.

    `is_first_pair`: no other pair of the two variants has finished, so what this one says on the way is news.
    """

    variant: str
    curve: Mapping[int, float]
    is_first_pair: bool


def find_earlier(run: Run, siblings: Sequence[Run]) -> Earlier | None:
    """The first of a run's siblings that has finished and was validated on the way."""
    others = (folder for folder in run.layout.run_dirs() if folder.parent == run.directory.parent)
    have_finished = any(RunFolder(folder).result_file.is_file() for folder in others if folder != run.directory)
    is_first_pair = not run.config.is_tuning_run and not have_finished
    for sibling in siblings:
        if sibling.config.part != run.config.part:  # of another recipe or budget
            continue
        try:
            result = RunFolder(sibling.directory).result()
        except RunError:  # a damaged file of another run: told where that run is read, and no reason to end this one
            continue
        if result is not None and len(result.validation_curve) > 1:
            curve = {point.step: point.nats_per_token for point in result.validation_curve}
            return Earlier(sibling.config.variant, curve, is_first_pair)
    return None


class ProgressWriter:
    """Shows every step with its loss, the newest score of the validation split and the speed so far.

    The score in nats per token, as the loss, and beside it that of an `earlier` run at the same step: what the two say
    before this one has ended. In a pipe it also is a line of its own. Of the first pair the difference is said too.
    """

    def __init__(self, show: Update, trainer: Trainer, talk: Talk, label: str, earlier: Earlier | None = None) -> None:
        self.show, self.trainer, self.talk, self.label, self.earlier = show, trainer, talk, label, earlier
        self.step = 0
        self.loss = self.validation = ""

    def add(self, record: Record) -> None:
        """Show a step, or the score of a validation."""
        if isinstance(record, StepRecord):
            self.step, self.loss = record.step, f"loss {record.loss:.3f}"
        elif record.nats_per_token is not None:
            self.validation = f"validation {record.nats_per_token:.3f}{self._beside(record.step)}"
            first_look = self._first_look(record.step, record.nats_per_token)
            if first_look:
                self.talk.say_wrapped(f"{self.label}: {first_look}")
            else:
                self.talk.now(f"{self.label}  {self.validation} after step {record.step:,}")
        self._show(self.validation)

    def flush(self) -> None:
        """Nothing to do: nothing is kept."""

    def close(self, ended_well: bool) -> None:
        """Nothing to do."""

    def validating(self) -> Talk:
        """What shows how far a validation is in the place of its score."""
        return _Validating(self)

    def show_validating(self, share: float) -> None:
        """Show that the validation split is being scored."""
        self._show(f"scoring validation {100 * share:.0f}%")

    def _first_look(self, step: int, nats: float) -> str | None:
        """What the first pair says while it trains: "validation 0.030 nats per token above tied after step 150"."""
        other = self.earlier.curve.get(step) if self.earlier and self.earlier.is_first_pair else None
        if self.earlier is None or other is None or step >= self.trainer.num_steps:
            return None
        side = f"{abs(nats - other):.3f} nats per token {'above' if nats > other else 'below'}"
        return f"validation {nats:.3f} after step {step:,}, {side} {self.earlier.variant} at that step"

    def _beside(self, step: int) -> str:
        """ " (tied 5.221)", where that is known."""
        nats = self.earlier.curve.get(step) if self.earlier else None
        return "" if self.earlier is None or nats is None else f" ({self.earlier.variant} {nats:.3f})"

    def _show(self, validation: str) -> None:
        progress = self.trainer.progress
        speed = f"{progress.steady_tokens / progress.steady_seconds:,.0f} tokens/s" if progress.steady_seconds else ""
        self.show(self.step, "  ".join(filter(None, [self.loss, validation, speed])))


class _Validating(Silence):
    """Hands the progress of a task to the progress that is shown already."""

    def __init__(self, writer: ProgressWriter) -> None:
        super().__init__()
        self.writer = writer

    @contextmanager
    def progress(self, label: str, total: float) -> Iterator[Update]:
        """Show the share that is done."""
        yield lambda done, words: self.writer.show_validating(done / total if total else 1.0)
