"""`tiedlm configs explain`: a key by its whole name, by its last part, by the mapping above it, or all."""

import json
from typing import Any

import pytest

from cli.main import main
from tiedlm.experiment.file_schema import file_keys, schema_text

Captured = pytest.CaptureFixture[str]


def explained(capsys: Captured, *words: str) -> list[dict[str, Any]]:
    assert main(["configs", "explain", *words, "--json"]) == 0
    keys: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["keys"]
    return keys


def test_a_key_is_told_in_full(capsys: Captured) -> None:
    (key,) = explained(capsys, "training.warmup")
    assert key["key"] == "training.warmup"
    assert (key["default"], key["required"]) == ("0", False)
    assert key["type"] == "whole number, at least 0; or number, at least 0, below 1"
    assert key["source"].startswith("tiedlm/training/config.py:")
    assert main(["configs", "explain", "training.warmup"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert all(str(key[part]) in out for part in ("key", "meaning", "type", "default", "source"))


def test_a_choice_names_its_words_and_what_they_mean(capsys: Captured) -> None:
    (key,) = explained(capsys, "training.schedule")
    assert list(key["choices"]) == ["cosine", "constant", "wsd", "step"]
    (key,) = explained(capsys, "model.tying.type")
    assert key["choices"]["tied"] == "One matrix for both."
    assert key["required"]
    (key,) = explained(capsys, "model.type")
    assert (key["default"], key["required"]) == ("transformer", False)


def test_a_key_of_several_types_is_told_for_each(capsys: Captured) -> None:
    keys = explained(capsys, "model.tying.strength")
    assert [key["when"] for key in keys] == [
        [f"model.tying.type: {kind}"] for kind in ("soft", "projected", "progressive")
    ]
    assert [key["default"] for key in keys] == ["0.1", "null", "0.1 for tie"]
    assert [key["when"] for key in explained(capsys, "model.tying.init_std")] == [[]], "all types have it"


def test_a_last_part_means_its_key_and_lists_those_that_are_like_it(capsys: Captured) -> None:
    first, *others = explained(capsys, "learning_rate")
    assert first["key"] == "training.learning_rate"
    factors = ["training.embedding_learning_rate_factor", "training.output_learning_rate_factor"]
    assert [key["key"] for key in others] == ["training.min_learning_rate", *factors]
    assert {key["key"] for key in explained(capsys, "vocab_size")} == {"data.tokenizer.vocab_size", "model.vocab_size"}


def test_a_mapping_lists_the_keys_below_it(capsys: Captured) -> None:
    keys = explained(capsys, "evaluation")
    assert [key["key"] for key in keys] == [
        "evaluation",
        *(f"evaluation.{name}" for name in ("seq_len", "stride", "batch_size")),
    ]


@pytest.mark.parametrize("columns", ["50", "80", "200"])
def test_without_a_key_all_are_listed_in_any_width(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["configs", "explain"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= max(int(columns), 50)
    starts = {line.split()[0] for line in out.splitlines() if line and not line.startswith(" ")}
    assert {key.path for key in file_keys()} == starts


def test_what_is_no_key_is_told_with_what_it_may_mean(capsys: Captured) -> None:
    for word, meant in (("lr", "training.learning_rate"), ("training.learnig", "training.learning_rate")):
        assert main(["configs", "explain", word]) == 2
        assert capsys.readouterr().err == f"tiedlm: {word}: no key has this name; did you mean {meant}?\n"


def test_the_schema_is_printed_as_it_is_stored(capsys: Captured) -> None:
    for words in ([], ["--json"]):
        assert main(["configs", "schema", *words]) == 0
        assert capsys.readouterr().out == schema_text()
