"""Agreement with people on pairs of words: as cosines rank them, over the pairs whose words are tokens."""

import re
from pathlib import Path

import pytest
import torch

from tests.support.planted import D, normal, planted_pair
from tiedlm.config.base import ConfigError
from tiedlm.embeddings.analyze import analyze_models
from tiedlm.embeddings.asked import Asked
from tiedlm.embeddings.matrix import Matrix
from tiedlm.embeddings.word_pairs import WordPair, agreement, read_word_pairs

NAMES = [f"Ġw{row}" for row in range(50)]
PLACES = {name: row for row, name in enumerate(NAMES)}


def scored(rows: torch.Tensor, by: float) -> list[WordPair]:
    """Pairs of words with a score that goes up with the cosine of their centred rows, or down."""
    centred = rows - rows.mean(0)
    cosines = torch.nn.functional.cosine_similarity(centred[:25], centred[25:])
    return [WordPair(f"w{row}", f"w{row + 25}", by * float(cosine)) for row, cosine in enumerate(cosines)]


def test_scores_that_go_with_the_cosines_agree_whatever_all_rows_have_in_common() -> None:
    rows = normal(50).double()
    for shift in (0, 100):
        for by in (1, -3):
            found = agreement(Matrix(rows + shift), PLACES, scored(rows, by))
            assert found.spearman == pytest.approx(1 if by > 0 else -1) and found.num_pairs == 25


def test_independent_rows_do_not_agree() -> None:
    found = agreement(Matrix(normal(50, D, 8)), PLACES, scored(normal(50), 1))
    assert found.spearman is not None and abs(found.spearman) < 0.6


def test_a_word_is_the_token_with_the_space_before_it_where_there_is_one() -> None:
    rows = normal(50).double()
    places = {**PLACES, "w0": 40, "w3": 7}
    assert agreement(Matrix(rows), places, scored(rows, 1)).spearman == pytest.approx(1)


def test_pairs_whose_words_are_no_tokens_are_counted_and_too_few_have_no_figure() -> None:
    rows = normal(50)
    unknown = [WordPair("w1", "nothing", 1), WordPair("nothing", "w2", 2), *scored(rows, 1)[:2]]
    model = planted_pair(rows, normal(50, seed=1), tokens=NAMES)
    found = analyze_models([model], Asked(frozenset({"rank"}), word_pairs=tuple(unknown)))
    for each in found.matrices:
        assert each.word_pairs is not None and (each.word_pairs.num_pairs, each.word_pairs.num_given) == (2, 4)
        reason = "both words of 2 of 4 pairs are one token: at least 3 that differ are needed"
        assert each.absent == {"word_pairs.spearman": reason}


@pytest.mark.parametrize("form", ["{}\t{}\t{}", "{},{},{}", "{} ; {} ; {}", "{} {} {}", "{}\t{}\tA\t{}\t9.5"])
def test_a_file_is_read_with_or_without_a_head(tmp_path: Path, form: str) -> None:
    """WordSim-353 has commas and a head, SimLex-999 tabs, a part of speech before the score, and more behind it."""
    pairs = [WordPair("tiger", "cat", 7.35), WordPair("book", "paper", -0.5), WordPair("king", "cabbage", 0.23)]
    lines = [form.format(*pair) for pair in pairs]
    file = tmp_path / "pairs.txt"
    for head in ([], ["Word 1,Word 2,Human (mean)"]):
        file.write_text("\n".join([*head, "# a remark", *lines, ""]), encoding="utf-8")
        assert read_word_pairs(file) == tuple(pairs)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b 1\nc d\n", "line 2: 'c d' is no two words and a number"),
        ("a b 1\nc d 2\n", "holds 2 pairs: at least 3 are needed"),
        ("", "holds 0 pairs"),
        (None, "cannot be read: No such file"),
    ],
)
def test_what_is_no_file_of_pairs_is_refused_with_its_place(tmp_path: Path, text: str | None, words: str) -> None:
    file = tmp_path / "pairs.txt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(words)) as caught:
        read_word_pairs(file)
    assert caught.value.problems[0].key == "--pairs"
