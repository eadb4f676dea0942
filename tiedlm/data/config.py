"""What text, how it is cut into tokens, and how long the windows are."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tiedlm.config.base import Config, Count, FileName, FromList, OptionalFileName, Size, check
from tiedlm.config.problems import shown

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
WIKITEXT_REVISION = "b08601e04326c79dfdd32d625aee71d232d685c3"
Documents = Literal["paragraphs", "lines", "articles", "file"]
"""What a document is in plain text: blank-line separated, one a line, WikiText title rows, or the whole file."""


class WikitextCorpus(Config):
    """WikiText (Merity et al. 2016) through `datasets`; -v1 has words with <unk>, -raw-v1 the original text."""

    type: Literal["wikitext"]
    """WikiText through `datasets`."""
    name: Literal["wikitext-103-v1", "wikitext-103-raw-v1", "wikitext-2-v1", "wikitext-2-raw-v1"] = "wikitext-103-v1"
    """Which WikiText: -v1 has words with <unk>, -raw-v1 the original text."""
    revision: str = WIKITEXT_REVISION
    """Commit of the data set on the hub."""


def _one_file(value: object) -> object:
    wanted = "must be one file; join several into one, with a blank line between documents"
    check(not isinstance(value, list), f"{shown(value)}: {wanted}")
    is_address = isinstance(value, str) and "://" in value
    check(not is_address, f"{shown(value)} is an address, a file here is wanted: download it first")
    return value


TextPath = Annotated[OptionalFileName, BeforeValidator(_one_file)]


class TextCorpus(Config):
    """Files of UTF-8 text (also .gz): one a split, or one `file` cut by `fractions` of whole documents."""

    type: Literal["text"]
    """Files of UTF-8 text."""
    train: TextPath = None
    """File of the train split (.txt, .gz), relative to the config file that says it."""
    validation: TextPath = None
    """File of the validation split."""
    test: TextPath = None
    """File of the test split."""
    file: TextPath = None
    """One file for all splits, cut by `fractions`."""
    fractions: Annotated[tuple[float, float, float], FromList] = (0.9, 0.05, 0.05)
    """Parts of `file` for train, validation and test, in whole documents; they sum to 1."""
    documents: Documents = "paragraphs"
    """What one document is: separated by blank lines, one a line, WikiText title rows, or the whole file."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        splits = (self.train, self.validation, self.test)
        whole = self.file is not None and splits == (None, None, None)
        check(whole or (self.file is None and None not in splits), "give train, validation and test, or file alone")
        untouched = self.fractions == type(self).model_fields["fractions"].default
        check(whole or untouched, "fractions cut `file`; beside a file for each split they mean nothing")
        check(min(self.fractions) > 0 and abs(sum(self.fractions) - 1) < 1e-9, "fractions must be above 0, sum 1")
        return self


def _dataset_id(name: str) -> str:
    """Without a namespace, `datasets` would read files that lie here: `text` and `json` are its own words for that."""
    is_id = name == "wikitext" or re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", name)
    check(bool(is_id), f"{shown(name)}: must be the id of a data set (namespace/name)")
    return name


class HubCorpus(Config):
    """Any text data set of the hub: its id, config, one slice a split (`train[:95%]` works) and the text column."""

    type: Literal["hub"]
    """Any text data set of the Hugging Face hub."""
    id: Annotated[str, AfterValidator(_dataset_id)]
    """Its id, namespace/name."""
    config: str | None = None
    """Its config (subset); null: the default one."""
    revision: str | None = None
    """Its branch, tag or commit; null: the newest."""
    column: str = "text"
    """The column that holds the text."""
    train: str = "train"
    """Slice of the train split; `train[:95%]` works."""
    validation: str = "validation"
    """Slice of the validation split."""
    test: str = "test"
    """Slice of the test split."""


class PythonDocsCorpus(Config):
    """The English that every CPython carries: help topics and the docstrings of the standard library."""

    type: Literal["python-docs"]
    """The English that every CPython carries: help topics and docstrings of the standard library."""


Corpus = Annotated[WikitextCorpus | TextCorpus | HubCorpus | PythonDocsCorpus, Field(discriminator="type")]


class BpeTokenizer(Config):
    """Byte-level BPE trained on the train split; `vocab_size` counts the end of text and the 256 bytes too."""

    type: Literal["bpe"]
    """Byte-level BPE trained on the train split."""
    vocab_size: Annotated[Size, Field(ge=257)]
    """Number of types, with the end of text and the 256 bytes."""


class WordTokenizer(Config):
    """White-space words of the train split seen at least `min_count` times, the most frequent `vocab_size` of them.

    `vocab_size` counts <eos> and <unk> too; null keeps all.
    """

    type: Literal["word"]
    """White-space words of the train split."""
    vocab_size: Annotated[Size, Field(ge=3)] | None = None
    """Number of types, the most frequent first, with <eos> and <unk>; null keeps all."""
    min_count: Count = 1
    """How often a word must be in the train split to be a type."""


class ByteTokenizer(Config):
    """One token a byte of UTF-8, and one for the end of text: V = 257."""

    type: Literal["byte"]
    """One token a byte of UTF-8: V = 257."""


class FileTokenizer(Config):
    """Any tokenizer.json; `end_of_text` names the token that stands between documents (null: looked for)."""

    type: Literal["file"]
    """Any tokenizer.json."""
    path: FileName
    """The tokenizer.json, relative to the config file that says it."""
    end_of_text: str | None = None
    """The token that stands between documents; null: looked for."""


Tokenizer = Annotated[BpeTokenizer | WordTokenizer | ByteTokenizer | FileTokenizer, Field(discriminator="type")]


class DataConfig(Config):
    """Corpus, tokenizer, and `seq_len`, the number of tokens T the model sees at once."""

    corpus: Corpus
    """The text, by `type`."""
    tokenizer: Tokenizer
    """How the text is cut into tokens, by `type`."""
    seq_len: Annotated[Size, Field(ge=2)]
    """Context length T: tokens in a training window."""
