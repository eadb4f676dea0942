"""Text files: rows, documents and counts of the original text."""

import gzip
from pathlib import Path
from typing import Any, get_args

import pytest

from tiedlm.config.base import ConfigError, parse
from tiedlm.data.config import SPLITS, DataConfig, Documents
from tiedlm.data.counting import count_text
from tiedlm.data.documents import Row, Text, is_title, mark_documents, rows_of
from tiedlm.data.open_corpus import open_corpus
from tiedlm.data.wikitext import KNOWN
from tiedlm.talk import SILENT

SMALL = "one\n\ntwo\nthree\n\n\nfour\n"


def text_of(corpus: dict[str, Any]) -> Text:
    config = parse(DataConfig, {"corpus": corpus, "tokenizer": {"type": "byte"}, "seq_len": 8})
    return open_corpus(config.corpus).read(SILENT)


def three_files(folder: Path, train: bytes, **more: Any) -> dict[str, Any]:
    files = {"train": train, "validation": b"other\n", "test": b"another\n"}
    for split, content in files.items():
        (folder / f"{split}.txt").write_bytes(content)
    return {"type": "text", **{split: str(folder / f"{split}.txt") for split in files}, **more}


def joined(rows: Any) -> str:
    return "".join(row.text for row in rows)


def documents_of(rows: Any) -> list[str]:
    found: list[str] = []
    for row in rows:
        if row.starts_document:
            found.append("")
        found[-1] += row.text
    return found


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("paragraphs", ["one\n\n", "two\nthree\n\n\n", "four\n"]),
        ("lines", ["one\n\n", "two\n", "three\n\n\n", "four\n"]),
        ("file", [SMALL]),
    ],
)
def test_documents_begin_where_their_rule_says(rule: Documents, expected: list[str]) -> None:
    assert documents_of(mark_documents(SMALL.splitlines(keepends=True), rule)) == expected


@pytest.mark.parametrize("rule", get_args(Documents))
def test_blank_lines_at_the_start_belong_to_the_first_document(rule: Documents) -> None:
    rows = list(mark_documents(["\n", " \n", "word\n"], rule))
    assert [row.starts_document for row in rows] == [True, False, False]


def test_an_article_has_a_title_row_with_a_blank_row_before_and_after() -> None:
    blank, title, section, text = " \n", " = A title = \n", " = = Section = = \n", " text \n"
    rows = [blank, title, blank, text, title, text, title, blank, section, blank, title, blank, text]
    starts = [index for index, row in enumerate(mark_documents(rows, "articles")) if row.starts_document]
    assert starts == [0, 10]  # row 4 has text on both sides, row 6 has text before it


def test_an_article_may_begin_at_the_very_start() -> None:
    rows = [" = One = \n", "\n", "text\n", "\n", " = Two = \n", "\n"]
    assert [row.starts_document for row in mark_documents(rows, "articles")] == [1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("row", "expected"),
    [(" = T = \n", True), (" = E = m c = \n", True), (" = = T = = \n", False), (" = \n", False), (" = = \n", False)],
)
def test_a_title_row_has_exactly_one_equals_sign_on_each_side(row: str, expected: bool) -> None:
    assert is_title(row) is expected


def test_words_count_one_end_of_line_a_row_and_bytes_are_those_of_the_text() -> None:
    rows = list(rows_of("a b\n\nē c\n"))
    counts = count_text({"train": rows, "validation": rows[:1], "test": [Row("x\n", True), Row("y\n", True)]})
    train, test = counts.splits["train"], counts.splits["test"]
    assert (train.words, train.rows, train.bytes, train.documents) == (4 + 3, 3, len("a b\n\nē c\n".encode()), 1)
    assert (test.words, test.rows, test.bytes, test.documents) == (4, 2, 4, 2)


def test_p05_the_test_split_of_wikitext_103_has_one_end_of_line_a_row_among_its_words() -> None:
    """As many rows and words as it has: 241,211 words without the ends of its 4,358 rows."""
    num_rows, num_words = 4_358, 241_211
    longer = num_words % num_rows
    rows = [Row("a " * (num_words // num_rows + (index < longer)) + "\n", index == 0) for index in range(num_rows)]
    counts = count_text({"train": rows[:1], "validation": rows[:1], "test": rows}).splits["test"]
    assert (counts.rows, counts.words) == (num_rows, 245_569)
    known = KNOWN["wikitext-103-v1"]
    assert (known["rows"][2], known["words"][2]) == (num_rows, 245_569)


def test_the_hash_of_a_text_tells_where_documents_and_splits_begin() -> None:
    together = [Row("a\n", True), Row("b\n", False)]
    apart = [Row("a\n", True), Row("b\n", True)]
    texts: list[Text] = [
        {"train": together, "validation": together, "test": together},
        {"train": apart, "validation": together, "test": together},
        {"train": together, "validation": [*together, *together], "test": []},
        {"train": together, "validation": together, "test": [Row("a\nb\n", True)]},
    ]
    assert len({count_text(text).sha256 for text in texts}) == len(texts)


def test_a_text_file_is_read_the_same_with_bom_crlf_gzip_and_without_a_last_newline(tmp_path: Path) -> None:
    plain = "ē one\n\ntwo \r three\n"
    forms = {
        "plain": plain.encode(),
        "bom": b"\xef\xbb\xbf" + plain.encode(),
        "crlf": plain.replace("\n", "\r\n").encode(),
        "open": plain.rstrip("\n").encode(),
        "gz": gzip.compress(plain.encode()),
    }
    for name, data in forms.items():
        (tmp_path / name).mkdir()
        text = text_of(three_files(tmp_path / name, data))
        assert joined(text["train"]) == plain, name
        assert joined(text["train"]) == plain, "a split can be read again"


def test_text_that_is_not_utf8_is_refused_with_file_byte_and_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        count_text(text_of(three_files(tmp_path, b"fine\nalso fine\ncaf\xe9\n")))
    assert str(caught.value) == (
        f"data.corpus.train: {tmp_path}/train.txt is not UTF-8 at byte 18 (line 3); convert it first"
    )


def test_a_gzip_file_cut_short_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(bytes(range(32, 127)) * 50)
    with pytest.raises(ConfigError, match=r"train.txt is no whole gzip file"):
        count_text(text_of(three_files(tmp_path, packed[:-20])))


def test_a_missing_file_is_named_by_key_and_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        count_text(text_of({"type": "text", "train": "a.txt", "validation": "b.txt", "test": "c.txt"}))
    said = f"data.corpus.train: {tmp_path}/a.txt cannot be read: No such file or directory"
    assert str(caught.value) == f"{said}; a.txt is stored, relative to where you start"


def test_one_file_is_cut_into_whole_documents_in_their_order(tmp_path: Path) -> None:
    documents = [f"document {number}\n\n" for number in range(20)]
    (tmp_path / "all.txt").write_text("".join(documents))
    corpus = {"type": "text", "file": str(tmp_path / "all.txt"), "fractions": [0.8, 0.05, 0.15]}
    text = text_of(corpus)
    assert documents_of(text["train"]) == documents[:16]
    assert documents_of(text["validation"]) == documents[16:17]
    assert documents_of(text["test"]) == documents[17:]


def test_each_split_of_one_file_gets_a_document_where_there_are_three(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("a\n\nb\n\nc\n")
    text = text_of({"type": "text", "file": str(tmp_path / "all.txt"), "fractions": [0.1, 0.8, 0.1]})
    assert [documents_of(text[split]) for split in SPLITS] == [["a\n\n"], ["b\n\n"], ["c\n"]]


def test_one_file_with_fewer_documents_than_splits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("a\n\nb\n")
    with pytest.raises(ConfigError, match=r"data.corpus.file: .*all.txt has 2 documents \(paragraphs\)"):
        text_of({"type": "text", "file": str(tmp_path / "all.txt")})
    (tmp_path / "all.txt").write_text("a\nb\n")
    with pytest.raises(ConfigError, match=r"has 1 document \(paragraphs\); .*; see data.corpus.documents"):
        text_of({"type": "text", "file": str(tmp_path / "all.txt")})


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("begin", ["", "\n\n"])
def test_wide_characters_without_a_bom_are_no_text_of_nul_characters(tmp_path: Path, encoding: str, begin: str) -> None:
    (tmp_path / "all.txt").write_bytes(f"{begin}one two\n\nthree\n\nfour\n".encode(encoding))
    with pytest.raises(ConfigError, match=r"data.corpus.file: .*all.txt is no UTF-8 text: .*UTF-16 .*convert it first"):
        text_of({"type": "text", "file": str(tmp_path / "all.txt")})


def test_a_nul_character_among_others_is_text(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_bytes(b"one \0two\n\nthree\n\nfour\n")
    assert joined(text_of({"type": "text", "file": str(tmp_path / "all.txt")})["train"]).startswith("one \0two")


@pytest.mark.parametrize("content", ["", "\n", " \n\n\t\n"])
def test_a_blank_file_is_refused_as_one_without_text(tmp_path: Path, content: str) -> None:
    (tmp_path / "all.txt").write_text(content)
    with pytest.raises(ConfigError, match=r"data.corpus.file: .*all.txt holds no text$"):
        text_of({"type": "text", "file": str(tmp_path / "all.txt")})


def test_lines_that_end_in_cr_alone_are_refused_but_a_cr_inside_a_line_is_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data.corpus.train: .*train.txt has CR alone at its ends of lines"):
        count_text(text_of(three_files(tmp_path, b"one\r\rtwo\r")))
    counts = count_text(text_of(three_files(tmp_path, b"one \r two\n")))
    assert (counts.splits["train"].rows, counts.splits["train"].words) == (1, 3)
