"""Text as tokens: what training, evaluation and reports read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tiedlm.data.build_tokenizer import load_tokenizer
from tiedlm.data.config import SPLITS, Split
from tiedlm.data.config import Tokenizer as TokenizerConfig
from tiedlm.data.corpus import CorpusRecord
from tiedlm.data.counting import SplitCounts, SplitOverlap, TextCounts
from tiedlm.data.identity import DataRecord, sha256_of
from tiedlm.data.kinds import shapes_of
from tiedlm.data.tokenizer import Ids, Tokenizer
from tiedlm.data.tokenizer_files import tokenizer_files
from tiedlm.data.tokens import FREQUENCIES, TokensMeta, read_ids
from tiedlm.files import write_atomic


@dataclass(frozen=True)
class SplitTokens:
    """The tokens of one split, and the counts of its original text.

    `ids` (N + 1,) are a memory map; ids[0] is the end of text, so that the first token has a context too, and every
    ids[1:] is a target. `document_starts` (num_documents,) are offsets into ids[1:]. `words` count one end of line a
    row; `words_reason` and `bytes_reason` say why a figure per word or byte would not be one of the original text.
    """

    ids: Ids
    num_tokens: int
    document_starts: npt.NDArray[np.int64]
    words: int
    rows: int
    bytes: int
    documents: int
    words_reason: str | None
    bytes_reason: str | None

    def document_index(self) -> npt.NDArray[np.int32]:
        """The number of the document that each token belongs to, (N,)."""
        ends = np.append(self.document_starts[1:], self.num_tokens)
        return np.repeat(np.arange(len(ends), dtype=np.int32), ends - self.document_starts)


@dataclass(frozen=True)
class PreparedData:
    """Text as tokens, ready to train on. `tokens_sha256` covers V, the end of text and the ids of all splits.

    `overlap`: what of each held-out split stands in the train split; None where only `prepare` would measure it.
    """

    vocab_size: int
    end_of_text: int
    frequencies: npt.NDArray[np.int64]
    corpus: CorpusRecord
    tokenizer_label: str
    tokens_sha256: str
    notes: list[str]
    overlap: dict[Split, SplitOverlap] | None
    _splits: dict[Split, SplitTokens] = field(repr=False)
    _tokenizer_config: TokenizerConfig = field(repr=False)
    _folder: Path = field(repr=False)

    def split(self, name: Split) -> SplitTokens:
        """One split's tokens."""
        return self._splits[name]

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, with no end of text after it."""
        return self.tokenizer.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`."""
        return self.tokenizer.decode(ids)

    def shapes(self) -> npt.NDArray[np.uint8] | None:
        """What each type is a piece of (see tiedlm/data/kinds), (V,); None where its tokenizer does not show it."""
        spellings = self.tokenizer.spellings()
        return None if spellings is None else shapes_of(spellings)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the text was cut with."""
        return load_tokenizer(self._tokenizer_config, self._folder)

    def record(self) -> DataRecord:
        """What a run stores of its text and its tokenizer."""
        files = {name: sha256_of(self._folder / name) for name in tokenizer_files(self._tokenizer_config)}
        return DataRecord(
            corpus=self.corpus.sha256,
            tokens=self.tokens_sha256,
            details=self.corpus.details,
            tokenizer=files,
        )

    def save_tokenizer(self, folder: Path) -> None:
        """Write the files that `load_tokenizer` reads; raises RunError("disk")."""
        for name in tokenizer_files(self._tokenizer_config):
            write_atomic(folder / name, (self._folder / name).read_bytes())


def open_prepared(
    folder: Path,
    meta: TokensMeta,
    counts: TextCounts,
    corpus: CorpusRecord,
    tokenizer: TokenizerConfig,
    notes: list[str],
) -> PreparedData:
    """The tokens in `folder`, which `meta` says are whole, with the counts of their text."""
    return PreparedData(
        vocab_size=meta.vocab_size,
        end_of_text=meta.end_of_text,
        frequencies=np.fromfile(folder / FREQUENCIES, "<i8"),
        corpus=corpus,
        tokenizer_label=meta.label,
        tokens_sha256=meta.tokens_sha256,
        notes=[*meta.notes, *notes],
        overlap=counts.overlap,
        _splits={split: _split(folder, split, meta, counts.splits[split]) for split in SPLITS},
        _tokenizer_config=tokenizer,
        _folder=folder,
    )


def _split(folder: Path, split: Split, meta: TokensMeta, counts: SplitCounts) -> SplitTokens:
    stored = meta.splits[split]
    return SplitTokens(
        ids=read_ids(folder / f"{split}.ids", meta.dtype),
        num_tokens=stored.num_tokens,
        document_starts=np.fromfile(folder / f"{split}.starts", "<i8"),
        words=counts.words,
        rows=counts.rows,
        bytes=counts.bytes,
        documents=counts.documents,
        words_reason=stored.words_reason,
        bytes_reason=stored.bytes_reason,
    )
