"""The text of a set of runs: opened once, and compared with its hashes before each of them."""

import os
from pathlib import Path

from tests.support.small_runs import Heard, small_config
from tiedlm.data.config import DataConfig
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.run_texts import RunTexts


def data_of(folder: Path, tokenizer: str = "{type: byte}") -> DataConfig:
    return load_experiment(small_config(folder, "{type: byte}", tokenizer)).variants["tied"].data


def flip_a_bit(file: Path) -> None:
    """As a disk may: neither the size nor the time of the file changes."""
    stat, content = file.stat(), bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_each_text_is_opened_once_and_what_is_to_be_known_of_it_is_told_for_every_run(tmp_path: Path) -> None:
    texts, few = RunTexts(tmp_path / "cache"), data_of(tmp_path, "{type: bpe, vocab_size: 5000}")
    first, notes = texts.for_run(few, Heard())
    again, notes_again = texts.for_run(few, Heard())
    assert again is first
    assert notes == notes_again and "5,000" in notes[0]
    other, _ = texts.for_run(data_of(tmp_path), Heard())
    assert other is not first and other.vocab_size == 257
    assert texts.for_run(few, Heard())[0] is first


def test_tokens_that_were_damaged_between_two_runs_are_made_again_before_the_second(tmp_path: Path) -> None:
    texts, config = RunTexts(tmp_path / "cache"), data_of(tmp_path)
    before, notes = texts.for_run(config, Heard())
    assert notes == []
    (ids,) = (tmp_path / "cache" / "tokens").glob("*/train.ids")
    content = ids.read_bytes()
    flip_a_bit(ids)
    after, notes = texts.for_run(config, Heard())
    assert ids.read_bytes() == content and after.tokens_sha256 == before.tokens_sha256
    assert len(notes) == 1 and "damaged" in notes[0]
    assert texts.for_run(config, Heard()) == (after, []), "that is said of the run that met it"


def test_a_text_that_was_changed_between_two_runs_is_read_again(tmp_path: Path) -> None:
    texts, config = RunTexts(tmp_path / "cache"), data_of(tmp_path)
    before, _ = texts.for_run(config, Heard())
    text = tmp_path / "text.txt"
    text.write_text(text.read_text(encoding="utf-8") + "\nOne paragraph more.\n", encoding="utf-8")
    after, _ = texts.for_run(config, Heard())
    assert after.tokens_sha256 != before.tokens_sha256
    assert texts.for_run(config, Heard())[0] is after
