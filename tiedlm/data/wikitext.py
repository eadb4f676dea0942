"""WikiText (Merity et al. 2016, arXiv:1609.07843): its articles, and whether a text is all of it."""

from collections.abc import Iterable, Iterator
from typing import Literal

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.config import SPLITS, HubCorpus, Split, WikitextCorpus
from tiedlm.data.corpus import Details, Evidence
from tiedlm.data.counting import SplitCounts, TextCounts
from tiedlm.data.documents import Row, Text, mark_documents
from tiedlm.data.hub import HubSource
from tiedlm.talk import Talk

ID = "Salesforce/wikitext"
ALIASES = (ID, "wikitext")

Unit = Literal["words", "documents", "rows"]
Totals = dict[Unit, tuple[int, int, int]]
"""By what is counted: train, validation, test."""

_ROWS_103: Totals = {"rows": (1_801_350, 3_760, 4_358)}
_ROWS_2: Totals = {"rows": (36_718, 3_760, 4_358)}
_ARTICLES_103: Totals = {"documents": (28_475, 60, 60)}
KNOWN: dict[str, Totals] = {
    "wikitext-103-v1": {"words": (103_227_021, 217_646, 245_569), **_ARTICLES_103, **_ROWS_103},
    "wikitext-103-raw-v1": {**_ARTICLES_103, **_ROWS_103},
    "wikitext-2-v1": {"words": (2_088_628, 217_646, 245_569), **_ROWS_2},
    "wikitext-2-raw-v1": _ROWS_2,
}
"""What the published splits hold; words with one end of line a row."""


class Wikitext:
    """WikiText of the hub; a document is an article."""

    def __init__(self, config: WikitextCorpus | HubCorpus) -> None:
        self._source = _source(config)
        self._name = self._source.config or ""
        self.label = self._source.label

    def check(self) -> None:
        """The slices, where it is read by its id."""
        self._source.check()

    def evidence(self) -> Evidence | None:
        """That of the library's cache."""
        return self._source.evidence()

    def read(self, talk: Talk) -> Text:
        """The rows as they are published, each ending in one newline."""
        return {split: _Articles(values) for split, values in self._source.load(talk).items()}

    def caption(self, counts: TextCounts) -> str:
        """WikiText by name only where everything known of it was counted."""
        title = f"WikiText-{self._name.split('-')[1]}"
        differences = [text for split in SPLITS for text in _differences(self._name, split, counts.splits[split])]
        if not differences:
            return f"{title} ({self._name})"
        return f"a text that is not {title} as published ({self._name}: {differences[0]})"

    def details(self, counts: TextCounts) -> Details:
        """The source, and which splits are as published."""
        same = [split for split in SPLITS if not any(_differences(self._name, split, counts.splits[split]))]
        return {**self._source.details(), "splits as published": ", ".join(same) or "none"}


def _source(config: WikitextCorpus | HubCorpus) -> HubSource:
    if isinstance(config, WikitextCorpus):
        published: dict[Split, str] = {split: split for split in SPLITS}
        return HubSource(ID, config.name, config.revision, published, config_key="data.corpus.name")
    if config.config not in KNOWN:
        message = f"{config.config!r} is not a config of {ID}; it has {', '.join(KNOWN)}"
        raise ConfigError(Problem("data.corpus.config", message))
    slices: dict[Split, str] = {"train": config.train, "validation": config.validation, "test": config.test}
    return HubSource(ID, config.config, config.revision, slices, config.column)


def _differences(name: str, split: Split, counts: SplitCounts) -> Iterator[str]:
    """Where a split's counts are not the published ones, in words."""
    for unit, totals in KNOWN[name].items():
        counted, known = getattr(counts, unit), totals[SPLITS.index(split)]
        if counted != known:
            yield f"{counted:,} {split} {'articles' if unit == 'documents' else unit} instead of {known:,}"


class _Articles:
    """The rows of a split with the beginnings of its articles."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Row]:
        return mark_documents((value.rstrip("\n") + "\n" for value in self._values), "articles")
