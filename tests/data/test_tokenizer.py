"""Tokenizers: what goes in comes out, and what stands in the text is text."""

import json
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Library
from tokenizers import models, pre_tokenizers

from tests.support.tokenizers import DOCUMENTS, ROWS, library_file, stream, tokenizer_config, trained
from tiedlm.config.base import ConfigError
from tiedlm.data.bpe_tokenizer import short_rows
from tiedlm.data.build_tokenizer import load_tokenizer, train_tokenizer
from tiedlm.data.documents import Row, rows_of
from tiedlm.data.tokenizer import PIECE_CHARS, pieces

LOSSLESS = [{"type": "bpe", "vocab_size": 300}, {"type": "byte"}]


@pytest.mark.parametrize("config", LOSSLESS)
def test_any_text_comes_back_exactly(config: dict[str, Any]) -> None:
    tokenizer = trained(config)
    for text in [*DOCUMENTS, "", " ", "\n", "\r\n", "\x00", "日本語", "  a", "not seen in training: zyx"]:
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("config", LOSSLESS)
def test_one_end_of_text_stands_after_each_document_and_nowhere_else(config: dict[str, Any]) -> None:
    tokenizer = trained(config)
    ids, expected = stream(tokenizer), list[int]()
    for document in DOCUMENTS:
        expected += [*tokenizer.encode(document), tokenizer.end_of_text]
    assert ids == expected
    assert ids.count(tokenizer.end_of_text) == len(DOCUMENTS)
    assert tokenizer.end_of_text not in tokenizer.encode("<|endoftext|>")


@pytest.mark.parametrize("config", [*LOSSLESS, {"type": "word"}])
def test_a_long_document_read_piece_by_piece_has_the_tokens_of_the_whole(config: dict[str, Any]) -> None:
    text = "".join(f"{'  ' * (n % 4)}line {n} it's here {n * n}{' ' * (n % 3)}\n" + "\n" * (n % 5) for n in range(2000))
    assert len(text) > 3 * PIECE_CHARS
    rows = list(rows_of(text))
    tokenizer = trained(config, rows)
    ends = [] if config["type"] == "word" else [tokenizer.end_of_text]
    assert stream(tokenizer, rows) == [*tokenizer.encode(text), *ends]


@pytest.mark.parametrize(
    "line",
    [
        " ".join(f"it's {n}  here,{n * n};" + "\t" * (n % 4) for n in range(3000)),
        "".join(chr(0x61 + n * n % 26) for n in range(50_000)),
        " " * 30_000 + "x" * 15_000 + " " * 15_000,
        "ē日本 " * 10_000,
    ],
    ids=["words", "one word", "blanks", "other scripts"],
)
def test_a_long_line_read_in_parts_has_the_tokens_of_the_whole(line: str) -> None:
    rows = [Row(f"{line}\n", True), Row("and another\n", False)]
    assert len(line) > 3 * PIECE_CHARS
    tokenizer = trained({"type": "bpe", "vocab_size": 400}, rows)
    assert stream(tokenizer, rows) == [*tokenizer.encode(f"{line}\nand another\n"), tokenizer.end_of_text]
    assert max(len(row.text) for row in short_rows(rows)) <= PIECE_CHARS
    assert "".join(row.text for row in short_rows(rows)) == f"{line}\nand another\n"


def test_a_document_too_long_for_a_tokenizer_file_is_refused_with_both_numbers(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(tokenizer_config({"type": "file", "path": str(library_file(tmp_path))}), ROWS)
    with pytest.raises(ConfigError, match="11,000,001 characters, above the 10,000,000"):
        list(tokenizer.encode_rows([Row("a" * 11_000_000 + "\n", True)]))


@pytest.mark.parametrize("config", [*LOSSLESS, {"type": "word"}])
def test_a_saved_tokenizer_is_the_same_again(config: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = trained(config)
    tokenizer.save(tmp_path)
    again = load_tokenizer(tokenizer_config(config), tmp_path)
    assert (again.vocab_size, again.end_of_text, again.label) == (
        tokenizer.vocab_size,
        tokenizer.end_of_text,
        tokenizer.label,
    )
    assert stream(again) == stream(tokenizer)


def test_bpe_of_a_small_text_says_that_it_has_fewer_types_than_asked() -> None:
    assert trained({"type": "bpe", "vocab_size": 260}).notes == []
    tokenizer = trained({"type": "bpe", "vocab_size": 30_000})
    assert tokenizer.vocab_size < 30_000
    assert tokenizer.notes == [f"asked for 30,000 types, the text gave {tokenizer.vocab_size:,}"]


def test_bpe_without_merges_has_each_byte_as_a_token() -> None:
    tokenizer = trained({"type": "bpe", "vocab_size": 257}, list(rows_of("a")))
    text = "".join(map(chr, [*range(0x800), 0x20AC, 0x1F600]))
    assert tokenizer.vocab_size == 257
    assert len(tokenizer.encode(text)) == len(text.encode())
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_bpe_merges_no_further_than_200_characters_in_a_text_without_spaces() -> None:
    text = "a" * 30_000 + " " * 3_000 + "7" * 3_000 + "\n"
    tokenizer = trained({"type": "bpe", "vocab_size": 300}, [*ROWS, Row(text, True)])
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    longest = max(len(tokenizer.decode([index])) for index in ids)
    assert 16 <= longest <= 200


def test_word_tokens_are_the_words_of_each_row_and_one_end_of_row() -> None:
    tokenizer = trained({"type": "word"})
    counted = sum(len(row.text.split()) + 1 for row in ROWS)
    ids = stream(tokenizer)
    assert len(ids) == counted
    assert ids.count(tokenizer.end_of_text) == len(ROWS)
    assert tokenizer.decode(ids).split() == " ".join(DOCUMENTS).split()


def test_word_types_are_those_of_explicit_counts_sorted_by_count_then_spelling() -> None:
    text = "b b b a a c c <unk> d\n"
    tokenizer = trained({"type": "word"}, list(rows_of(text)))
    counts = Counter(word for word in text.split() if word != "<unk>")
    expected = ["\n", "<unk>", *sorted(counts, key=lambda word: (-counts[word], word))]
    assert [tokenizer.decode([index]) for index in range(tokenizer.vocab_size)] == expected
    assert tokenizer.encode("<unk> never") == tokenizer.encode("never <unk>"), "<unk> in the text is the same type"
    assert tokenizer.encode("<eos>") != [tokenizer.end_of_text]


@pytest.mark.parametrize(
    ("limits", "kept"), [({"min_count": 2}, "b a c"), ({"vocab_size": 4}, "b a"), ({"vocab_size": 9}, "b a c d")]
)
def test_word_limits_keep_the_most_frequent(limits: dict[str, int], kept: str) -> None:
    tokenizer = trained({"type": "word", **limits}, list(rows_of("b b b a a c c d\n")))
    assert tokenizer.vocab_size == 2 + len(kept.split())
    assert tokenizer.decode(tokenizer.encode("b a c d")).split() == [
        word if word in kept.split() else "<unk>" for word in ["b", "a", "c", "d"]
    ]
    asked = limits.get("vocab_size", 0)
    assert bool(tokenizer.notes) == (asked > tokenizer.vocab_size)


def test_words_outside_the_vocabulary_are_counted_but_a_written_unk_is_not() -> None:
    tokenizer = trained({"type": "word", "vocab_size": 3}, list(rows_of("a a <unk> b\n")))
    lost = sum(tokens.num_lost for tokens in tokenizer.encode_rows(rows_of("a <unk> b c\n")))
    assert lost == 2
    assert tokenizer.words_reason(lost) == "2 words outside the vocabulary were read as <unk>"
    assert tokenizer.words_reason(0) is None
    assert tokenizer.bytes_reason(0)


def test_pieces_are_whole_rows_of_one_document() -> None:
    found = list(pieces(ROWS, max_chars=30))
    assert "".join(piece.text for piece in found) == "".join(DOCUMENTS)
    assert sum(piece.starts_document for piece in found) == sum(piece.ends_document for piece in found) == 3
    assert all(piece.text.endswith("\n") and (len(piece.text) <= 30 or piece.text.count("\n") == 1) for piece in found)


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("end", ["<|endoftext|>", "</s>", "<eos>"])
def test_a_tokenizer_file_reads_the_text_whole_and_finds_its_end_of_text(
    tmp_path: Path, end: str, special: bool
) -> None:
    tokenizer = trained({"type": "file", "path": str(library_file(tmp_path, end, special))})
    assert tokenizer.encode(end) and tokenizer.end_of_text not in tokenizer.encode(f"a {end} b")
    expected = [[*tokenizer.encode(document), tokenizer.end_of_text] for document in DOCUMENTS]
    assert stream(tokenizer) == list(chain.from_iterable(expected))
    assert tokenizer.decode(tokenizer.encode(DOCUMENTS[2])) == DOCUMENTS[2]
    assert tokenizer.words_reason(sum(tokens.num_lost for tokens in tokenizer.encode_rows(ROWS))) is None


def test_a_tokenizer_file_that_loses_text_says_so(tmp_path: Path) -> None:
    tokenizer = Library(models.WordLevel({"[UNK]": 0, "the": 1, "cat": 2, "</s>": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "words.json"))
    mine = trained({"type": "file", "path": str(tmp_path / "words.json")})
    lost = sum(tokens.num_lost for tokens in mine.encode_rows(rows_of("the dog\n")))
    assert mine.words_reason(lost) == mine.bytes_reason(lost) == "the tokenizer does not bring back 1 documents exactly"


def test_a_tokenizer_file_that_cannot_serve_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "no.json"
    with pytest.raises(ConfigError, match=r"data.tokenizer.path: .*no.json cannot be read"):
        trained({"type": "file", "path": str(missing)})
    missing.write_text("{}")
    with pytest.raises(ConfigError, match=r"data.tokenizer.path: .*is not a tokenizer.json"):
        trained({"type": "file", "path": str(missing)})
    without = library_file(tmp_path, end=None)
    with pytest.raises(ConfigError, match=r"data.tokenizer.end_of_text: say which token ends a text"):
        trained({"type": "file", "path": str(without)})
    with pytest.raises(ConfigError, match=r"data.tokenizer.end_of_text: '<stop>' is not a token"):
        trained({"type": "file", "path": str(without), "end_of_text": "<stop>"})


def test_a_tokenizer_file_with_ids_above_its_number_of_types_is_refused(tmp_path: Path) -> None:
    path = library_file(tmp_path)
    raw = json.loads(path.read_text())
    vocabulary = raw["model"]["vocab"]
    vocabulary[next(reversed(vocabulary))] = 99_999
    path.write_text(json.dumps(raw))
    with pytest.raises(ConfigError, match="an id of 99,999"):
        trained({"type": "file", "path": str(path)})


@pytest.mark.parametrize("config", [*LOSSLESS, {"type": "word"}])
def test_no_two_tokens_have_one_name(config: dict[str, Any]) -> None:
    rows = [*ROWS, *rows_of("a word that reads <eos> is a word\n")]
    tokenizer = trained(config, rows)
    names = tokenizer.names()
    assert len(names) == len({*names}) == tokenizer.vocab_size


def test_a_byte_has_one_name_in_a_model_of_bytes_and_in_bpe() -> None:
    bytewise, bpe = (trained(config).names() for config in ({"type": "byte"}, {"type": "bpe", "vocab_size": 300}))
    assert {*bytewise} <= {*bpe}
    one = trained({"type": "bpe", "vocab_size": 257})
    for symbol in ("a", " ", "\n", "\x00", "~"):
        (index,) = one.encode(symbol)
        assert one.names()[index] == bytewise[ord(symbol)]


def test_words_are_their_own_names() -> None:
    names = trained({"type": "word"}).names()
    assert names[:2] == ["\n", "<unk>"] and "cat" in names


@pytest.mark.parametrize("kind", ["BPE", "WordLevel"])
def test_the_tokens_of_a_file_have_the_names_that_it_gives_them(tmp_path: Path, kind: str) -> None:
    """Also its end of text, which has another name while text is read."""
    path = library_file(tmp_path)
    if kind == "WordLevel":
        library = Library(models.WordLevel({"<unk>": 0, "<|endoftext|>": 1, "a": 2}, unk_token="<unk>"))
        library.save(str(path))
    tokenizer = trained({"type": "file", "path": str(path)})
    expected = Library.from_file(str(path))
    assert tokenizer.names() == [expected.id_to_token(index) for index in range(tokenizer.vocab_size)]
    assert tokenizer.names()[tokenizer.end_of_text] == "<|endoftext|>"
