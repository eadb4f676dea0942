"""What every corpus can do."""

from dataclasses import dataclass
from typing import Protocol

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.config import SPLITS
from tiedlm.data.counting import TextCounts
from tiedlm.data.documents import Text
from tiedlm.talk import Talk

Evidence = dict[str, object]
"""Plain values, fit for JSON: where they are equal, the text is the same."""
Details = dict[str, str | int | None]


@dataclass(frozen=True)
class CorpusRecord:
    """Where a text came from: `caption` is what a table says of it, `sha256` covers the text of all splits."""

    caption: str
    details: Details
    sha256: str


class Corpus(Protocol):
    """Where text comes from."""

    @property
    def label(self) -> str:
        """What to call it while it is read."""

    def check(self) -> None:
        """Raise ConfigError for what is wrong before any text is read: no file, no plain text, splits that overlap."""

    def evidence(self) -> Evidence | None:
        """What tells this text from any other, found quickly; None where only reading it can tell."""

    def read(self, talk: Talk) -> Text:
        """The text of every split. Raises ConfigError, or RunError where it cannot be had."""

    def caption(self, counts: TextCounts) -> str:
        """What a table says of the text, given what was counted in it."""

    def details(self, counts: TextCounts) -> Details:
        """Everything that names the source exactly."""


def refuse_empty(counts: TextCounts, label: str) -> None:
    """Raise ConfigError for a text with a split in which no word stands."""
    empty = [split for split in SPLITS if counts.splits[split].words == counts.splits[split].rows]
    if empty:
        raise ConfigError(Problem("data.corpus", f"{label} holds no text in its {' and '.join(empty)} split"))
