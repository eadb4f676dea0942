"""Kinds of tokens: what a token is a piece of, whichever tokenizer cut it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tiedlm.config.base import parse
from tiedlm.data.build_tokenizer import train_tokenizer
from tiedlm.data.config import DataConfig
from tiedlm.data.documents import rows_of
from tiedlm.data.kinds import KINDS, Shape, kinds_of, shape_of, shapes_of
from tiedlm.data.tokenizer import Tokenizer

TEXT = "The thing, 42 things(that) went.\nAnother 7th thing — ünder way…\n"
LETTERS_OF_A_WORD = {"word start", "continuation"}


def trained(config: dict[str, Any], text: str = TEXT * 3) -> Tokenizer:
    raw = {"corpus": {"type": "python-docs"}, "tokenizer": config, "seq_len": 8}
    return train_tokenizer(parse(DataConfig, raw).tokenizer, list(rows_of(text)))


def kinds(tokenizer: Tokenizer, text: str) -> list[tuple[str, str]]:
    """What each token of a text adds, and its kind."""
    spellings, ids = tokenizer.spellings(), tokenizer.encode(text)
    assert spellings is not None and len(spellings) == tokenizer.vocab_size
    found = kinds_of(shapes_of(spellings), np.array(ids), np.array([tokenizer.end_of_text, *ids[:-1]]))
    return [(spellings[index], KINDS[kind]) for index, kind in zip(ids, found, strict=True)]


def tokenizer_file(folder: Path, model: str) -> Tokenizer:
    """A file as SentencePiece (spaces as part of a word) or WordPiece (pieces that go on are marked) would have it."""
    special = ["[UNK]", "</s>"]
    if model == "metaspace":
        library = Library(models.BPE(unk_token="[UNK]"))
        library.pre_tokenizer, library.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer: Any = trainers.BpeTrainer(vocab_size=80, special_tokens=special, show_progress=False)
    else:
        library = Library(models.WordPiece(unk_token="[UNK]"))
        library.normalizer, library.decoder = normalizers.Lowercase(), decoders.WordPiece(cleanup=False)
        library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=60, special_tokens=special, show_progress=False)
    library.train_from_iterator([TEXT] * 3, trainer)
    path = folder / "tokenizer.json"
    library.save(str(path))
    return trained({"type": "file", "path": str(path)})


@pytest.mark.parametrize(
    ("spelling", "shape"),
    [
        ("the", Shape.LETTERS),
        (" the", Shape.SPACED_LETTERS),
        ("é", Shape.LETTERS),
        ("\u0301", Shape.LETTERS),
        ("日本", Shape.LETTERS),
        (" 42", Shape.DIGITS),
        ("½", Shape.DIGITS),
        ("7th", Shape.LETTERS),
        (".", Shape.PUNCTUATION),
        (" (", Shape.PUNCTUATION),
        ("+", Shape.PUNCTUATION),
        ("\n", Shape.SPACE),
        (" \t", Shape.SPACE),
        ("\ufffd", Shape.FRAGMENT),
        (" \ufffd", Shape.FRAGMENT),
        ("", Shape.SPECIAL),
    ],
)
def test_the_shape_of_a_type_is_that_of_its_characters(spelling: str, shape: Shape) -> None:
    assert shape_of(spelling) == shape


def test_there_is_a_kind_for_each_shape() -> None:
    assert len(KINDS) == len(Shape)
    alone = np.arange(len(Shape), dtype=np.uint8)
    after_a_letter = kinds_of(alone, alone, np.full(len(alone), Shape.LETTERS))
    assert [KINDS[kind] for kind in after_a_letter] == list(KINDS)


@pytest.mark.parametrize("before", list(Shape))
def test_letters_go_on_with_a_word_only_where_letters_stand_before_them(before: Shape) -> None:
    shapes = np.arange(len(Shape), dtype=np.uint8)
    (kind,) = kinds_of(shapes, np.array([Shape.LETTERS]), np.array([before]))
    goes_on = before in (Shape.LETTERS, Shape.SPACED_LETTERS)
    assert KINDS[kind] == ("continuation" if goes_on else "word start")


@pytest.mark.parametrize("config", [{"type": "bpe", "vocab_size": 290}, {"type": "byte"}])
def test_every_word_has_one_start_wherever_it_stands(config: dict[str, Any]) -> None:
    """After a space, after a bracket, at the start of a line and of the text; seven words of ASCII letters."""
    tokenizer = trained(config)
    found = kinds(tokenizer, "The thing (that) went.\nAnother thing way")
    assert sum(kind == "word start" for _, kind in found) == 7
    for spelling, kind in found:
        assert any(symbol.isalpha() for symbol in spelling) == (kind in LETTERS_OF_A_WORD)
    assert ("\n", "white space") in found and (".", "punctuation") in found
    assert {kind for _, kind in kinds(tokenizer, "42")} == {"digits"}


def test_bytes_of_other_characters_are_parts_of_one_and_the_end_of_text_is_special() -> None:
    tokenizer = trained({"type": "byte"})
    assert [kind for _, kind in kinds(tokenizer, "aé")] == ["word start", "byte fragment", "byte fragment"]
    shapes = shapes_of(tokenizer.spellings() or [])
    assert np.flatnonzero(shapes == Shape.SPECIAL).tolist() == [tokenizer.end_of_text]
    bpe = trained({"type": "bpe", "vocab_size": 270})
    assert np.flatnonzero(shapes_of(bpe.spellings() or []) == Shape.SPECIAL).tolist() == [bpe.end_of_text]


def test_words_start_words_and_the_end_of_a_row_is_special() -> None:
    tokenizer = trained({"type": "word"}, "one two 3 , <unk> @-@\n")
    found = [kind for _, kind in kinds(tokenizer, "one two 3 , unheard @-@\n")]
    assert found == ["word start", "word start", "digits", "punctuation", "special", "punctuation", "special"]


@pytest.mark.parametrize("model", ["metaspace", "wordpiece"])
def test_files_say_it_in_their_own_way_and_it_comes_to_the_same(tmp_path: Path, model: str) -> None:
    tokenizer = tokenizer_file(tmp_path, model)
    found = kinds(tokenizer, "the wayanother went")
    assert sum(kind == "word start" for _, kind in found) == 3
    assert {kind for _, kind in found} == LETTERS_OF_A_WORD
    assert kinds(tokenizer, "42")[0][1] == "digits"


def test_a_tokenizer_that_does_not_show_its_pieces_has_no_kinds(tmp_path: Path) -> None:
    """Its decoder strips the very letter that stands in front."""
    library = Library(models.WordLevel({"a": 0, "b": 1, "</s>": 2}, unk_token="a"))
    library.decoder = decoders.Strip(content="a", left=1, right=0)
    path = tmp_path / "tokenizer.json"
    library.save(str(path))
    assert trained({"type": "file", "path": str(path)}).spellings() is None
