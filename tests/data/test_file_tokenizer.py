"""Tokenizer files whose model has the end of text among its words, and paths that are none."""

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Library

from tests.support.tokenizers import DOCUMENTS, library_file, stream, tokenizer_config, trained
from tiedlm.config.base import ConfigError
from tiedlm.data.build_tokenizer import load_tokenizer
from tiedlm.data.documents import Row, rows_of

WORDS = ["the", "cat", "<", "eos", ">", "/s", "▁the", "▁cat", "▁", "a", "e", "o", "s", "/", "[SEP]", "<unk>", "<pad>"]
ENDS = ["<eos>", "</s>", "[SEP]", "<|endoftext|>"]


def whole_word_file(folder: Path, kind: str, end: str, is_added: bool = True) -> Path:
    """A tokenizer.json whose model has the end of text among its words."""
    words = [word for word in WORDS if word not in ("<unk>", end)]
    vocabulary = {word: index for index, word in enumerate(["<unk>", end, *words])}
    if kind == "Unigram":
        tokenizer = Library(models.Unigram([(word, -float(index)) for word, index in vocabulary.items()], unk_id=0))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    else:
        model = models.WordLevel if kind == "WordLevel" else models.WordPiece
        tokenizer = Library(model(vocabulary, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if is_added:
        tokenizer.add_special_tokens([AddedToken(end, special=True)])
    tokenizer.save(str(folder / "words.json"))
    return folder / "words.json"


@pytest.mark.parametrize("is_added", [True, False])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", ["WordLevel", "Unigram", "WordPiece"])
def test_an_end_of_text_that_a_document_spells_is_text_whatever_the_model(
    tmp_path: Path, kind: str, end: str, is_added: bool
) -> None:
    path = whole_word_file(tmp_path, kind, end, is_added)
    tokenizer = trained({"type": "file", "path": str(path), "end_of_text": end})
    assert tokenizer.vocab_size == Library.from_file(str(path)).get_vocab_size()
    assert tokenizer.end_of_text == 1
    documents = [f"the {end} cat\n", f"{end}\n", f"the{end}cat {end} {end}the\n"]
    ids = stream(tokenizer, [row for document in documents for row in rows_of(document)])
    assert ids.count(tokenizer.end_of_text) == len(documents)
    assert tokenizer.end_of_text not in tokenizer.encode(end)
    ordinary = Library.from_file(str(path)).encode("the cat", add_special_tokens=False).ids
    assert tokenizer.encode("the cat") == ordinary
    tokenizer.save(tmp_path)
    again = load_tokenizer(tokenizer_config({"type": "file", "path": str(path), "end_of_text": end}), tmp_path)
    assert stream(again) == stream(tokenizer) and again.spellings() == tokenizer.spellings()
    assert tokenizer.decode([2, tokenizer.end_of_text]) == tokenizer.decode([2])


def test_a_word_of_the_name_of_the_end_of_text_is_lost_and_counted_where_it_has_no_other_token(tmp_path: Path) -> None:
    path = whole_word_file(tmp_path, "WordLevel", "<eos>")
    tokenizer = trained({"type": "file", "path": str(path)})
    (spelled,) = tokenizer.encode_rows([Row("the <eos> cat\n", True)])
    assert spelled.ids.tolist() == [2, 0, 3, 1] and spelled.num_lost == 1


def test_the_token_for_unknown_text_cannot_be_the_end_of_a_text(tmp_path: Path) -> None:
    for kind in ("WordLevel", "Unigram"):
        path = whole_word_file(tmp_path, kind, "<eos>")
        with pytest.raises(ConfigError, match=r"end_of_text: '<unk>' of .*words.json stands for unknown text"):
            trained({"type": "file", "path": str(path), "end_of_text": "<unk>"})


def test_byte_level_bpe_may_call_its_end_of_text_unknown_too(tmp_path: Path) -> None:
    """GPT-2's is one token for both; no text is unknown to it."""
    path = library_file(tmp_path)
    raw = json.loads(path.read_text())
    raw["model"]["unk_token"] = "<|endoftext|>"
    path.write_text(json.dumps(raw))
    tokenizer = trained({"type": "file", "path": str(path)})
    assert stream(tokenizer).count(tokenizer.end_of_text) == len(DOCUMENTS)


def test_a_bpe_of_characters_that_makes_unknown_text_its_end_of_text_is_refused(tmp_path: Path) -> None:
    tokenizer = Library(models.BPE({"<eos>": 0, "a": 1, "b": 2, "\n": 3}, [], unk_token="<eos>"))
    tokenizer.save(str(tmp_path / "characters.json"))
    mine = trained({"type": "file", "path": str(tmp_path / "characters.json")})
    assert stream(mine, [Row("ab\n", True)]) == [1, 2, 3, 0]
    with pytest.raises(ConfigError, match=r"end_of_text: this tokenizer makes its end of text of what stands in"):
        stream(mine, [Row("abc\n", True)])


def test_a_folder_in_the_place_of_a_tokenizer_file_names_the_file_in_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data.tokenizer.path: .* is a folder; there is no tokenizer.json in it"):
        trained({"type": "file", "path": str(tmp_path)})
    path = library_file(tmp_path)
    with pytest.raises(ConfigError) as caught:
        trained({"type": "file", "path": str(tmp_path)})
    assert str(caught.value) == f"data.tokenizer.path: {tmp_path} is a folder; give the file in it: {path}"
