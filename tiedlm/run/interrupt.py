"""SIGINT and SIGTERM as a request to stop after the step under way."""

import signal
from types import FrameType, TracebackType
from typing import Self

from tiedlm.errors import Interrupted

_WATCHED = (signal.SIGINT, signal.SIGTERM)


class StopSignal:
    """Inside the block a first SIGINT or SIGTERM is only noted; a second one acts as it always did.

    `label` is what the run that is to stop is called.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in _WATCHED:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def interrupted(self, what: str) -> Interrupted:
        """The error that ends a run for the signal that was received; `what` says where it stopped."""
        assert self.received is not None
        return Interrupted(self.received, f"{self.label}: {what}")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._before.clear()
