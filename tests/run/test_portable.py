"""A run's folder is all that it takes to use its model: it can be copied to where neither text nor cache is."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.small_runs import carry_out, small_config, small_run
from tiedlm.config.base import ConfigError
from tiedlm.errors import RunError
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.reopen import evaluate_run, generate_text

TOKENIZERS = {
    "byte": "{type: byte}",
    "bpe": "{type: bpe, vocab_size: 300}",
    "word": "{type: word, vocab_size: 60}",
    "file": "{type: file, path: %s, end_of_text: <|endoftext|>}",
}


def run_with(folder: Path, tokenizer: str, variant: str = "tied") -> Run:
    """A run that has finished, in folder/runs, its text prepared in folder/cache."""
    config = small_config(folder, "{type: byte}", TOKENIZERS["bpe"])
    if tokenizer == "file":
        trained = Run(pick(load_experiment(config), "tied"), folder / "other")
        carry_out(trained, cache=folder / "cache")
        shutil.copy(trained.directory / "tokenizer.json", folder / "their.json")
    written = TOKENIZERS[tokenizer].replace("%s", str(folder / "their.json"))
    run = Run(pick(load_experiment(small_config(folder, "{type: byte}", written)), variant), folder / "runs")
    carry_out(run, cache=folder / "cache")
    return run


def sample(folder: Path, cache: Path) -> str:
    return generate_text(folder, "Paragraph 7 says", cache_dir=cache, num_tokens=12, seed=3)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_a_copied_run_writes_on_without_text_tokenizer_file_and_cache(tmp_path: Path, tokenizer: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    run = run_with(here, tokenizer)
    before = sample(run.directory, here / "cache")
    moved = Path(shutil.copytree(run.directory, tmp_path / "there" / "a copy"))
    shutil.rmtree(here)
    assert sample(moved, tmp_path / "no cache") == before
    assert not (tmp_path / "no cache").exists()


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_to_score_it_again_needs_the_text_and_nothing_else(tmp_path: Path, tokenizer: str) -> None:
    run = run_with(tmp_path, tokenizer)
    result = RunFolder(run.directory).result()
    (tmp_path / "their.json").unlink(missing_ok=True)
    shutil.rmtree(tmp_path / "cache")
    scored = evaluate_run(run.directory, "test", cache_dir=tmp_path / "new")
    assert result is not None and scored["nll"] == result.splits["test"].nll
    (tmp_path / "text.txt").unlink()
    with pytest.raises(ConfigError, match=r"data\.corpus\.file.*cannot be read"):
        evaluate_run(run.directory, "test", cache_dir=tmp_path / "new")


def test_the_tokenizer_in_the_run_is_used_where_learning_it_again_gives_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a new version of the library may do."""
    run = run_with(tmp_path, "bpe")
    result = RunFolder(run.directory).result()
    shutil.rmtree(tmp_path / "cache")
    monkeypatch.setattr("tiedlm.data.build_tokenizer.version", lambda package: "another")
    monkeypatch.setattr("tiedlm.data.bpe_tokenizer._LONGEST", 3)
    monkeypatch.setattr("tiedlm.data.prepare.train_tokenizer", None)
    scored = evaluate_run(run.directory, "test", cache_dir=tmp_path / "new")
    assert result is not None and scored["nll"] == result.splits["test"].nll


def test_variants_that_look_at_frequencies_are_opened_without_the_text_too(tmp_path: Path) -> None:
    line = "  part: {model: {tying: {type: partial_vocabulary, shared: 0.5}}}\n"
    config = small_config(tmp_path, "variants:\n", f"variants:\n{line}")
    run = Run(pick(load_experiment(config), "part"), tmp_path / "runs")
    carry_out(run, cache=tmp_path / "cache")
    before = sample(run.directory, tmp_path / "cache")
    (tmp_path / "text.txt").unlink()
    assert sample(run.directory, tmp_path / "none") == before


def test_a_run_of_an_older_version_needs_its_text_or_the_cache(tmp_path: Path) -> None:
    run = run_with(tmp_path, "bpe")
    before = sample(run.directory, tmp_path / "cache")
    for name in ("data.json", "tokenizer.json"):
        (run.directory / name).unlink()
    assert sample(run.directory, tmp_path / "new") == before
    (tmp_path / "text.txt").unlink()
    with pytest.raises(ConfigError, match=r"data\.corpus\.file"):
        sample(run.directory, tmp_path / "new")


def test_a_tokenizer_that_was_changed_by_hand_is_named(tmp_path: Path) -> None:
    run = run_with(tmp_path, "word")
    words = run.directory / "words.txt"
    words.write_text(words.read_text().replace("Paragraph", "Chapter"))
    with pytest.raises(RunError, match=r"words\.txt is not what the run was trained with") as error:
        sample(run.directory, tmp_path / "cache")
    assert error.value.kind == "corrupt"


def test_what_a_run_was_made_with_stands_in_its_folder_before_it_trains(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.learning_rate=1e16", "training.steps=50")
    with pytest.raises(RunError, match="the loss of step"):
        carry_out(run)
    record = json.loads((run.directory / "data.json").read_text())
    assert {"corpus", "tokens", "details", "tokenizer"} == record.keys()
    assert not (run.directory / "result.json").exists()


def test_a_text_that_was_moved_is_named_where_the_run_is_scored_again(tmp_path: Path) -> None:
    run = run_with(tmp_path, "bpe")
    result = RunFolder(run.directory).result()
    moved = shutil.move(tmp_path / "text.txt", tmp_path / "moved.txt")

    def evaluated(*settings: str) -> float:
        return float(evaluate_run(run.directory, "test", cache_dir=tmp_path / "new", settings=settings)["nll"])

    assert result is not None and evaluated(f"data.corpus.file={moved}") == result.splits["test"].nll
    (tmp_path / "other.txt").write_text("Another text.\n\n" * 40)
    with pytest.raises(ConfigError, match="not those that tied seed 0 was trained on"):
        evaluated(f"data.corpus.file={tmp_path}/other.txt")
    with pytest.raises(ConfigError, match=r"--set model\.dim: a trained run keeps its settings"):
        evaluated("model.dim=8")
