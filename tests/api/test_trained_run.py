"""A run's folder opened: its figures, model, tokenizer and embeddings are those that the run has."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiedlm
from tests.support.small_runs import carry_out, shared_cache, small_run, weights
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.reopen import generate_text

Opened = Callable[..., tiedlm.TrainedRun]
TYING = {
    "tied": "{type: tied, input_scale: sqrt_dim}",
    "untied": "{type: untied}",
    "factorized": "{type: factorized, width: 4}",
    "partial": "{type: partial_dimensions, shared: 5}",
    "projected": "{type: projected}",
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """One short run of each strategy."""
    runs = {}
    for name, tying in TYING.items():
        folder = tmp_path_factory.mktemp(name)
        settings = (f"variants.tied.model.tying={tying}", "training.steps=2", "training.keep_last=1")
        runs[name] = small_run(folder, *settings)
        carry_out(runs[name])
    return runs


@pytest.fixture(scope="module")
def opened(trained: dict[str, Run]) -> dict[str, tiedlm.TrainedRun]:
    return {name: tiedlm.load_run(str(run.directory)) for name, run in trained.items()}


def test_config_and_result_are_those_of_the_folder(trained: dict[str, Run]) -> None:
    run = tiedlm.load_run(trained["tied"].directory)
    assert run.config == trained["tied"].config
    assert run.result == RunFolder(run.path).result()
    assert run.figures is not None and run.result is not None
    stored, shown = run.result.splits["test"], run.figures.splits["test"]
    assert shown.token_perplexity == pytest.approx(np.exp(stored.nll / stored.tokens))
    assert repr(run) == "<tiedlm.TrainedRun small: tied, seed 0>"


def test_a_run_of_a_recipe_says_of_which(tmp_path: Path) -> None:
    begun = small_run(tmp_path)
    RunFolder(begun.directory).claim(begun.config.model_copy(update={"part": "unscaled"}))
    assert repr(tiedlm.load_run(begun.directory)) == "<tiedlm.TrainedRun small: unscaled, tied, seed 0, not finished>"


def test_a_run_that_has_not_finished_says_so(tmp_path: Path) -> None:
    begun = small_run(tmp_path)
    RunFolder(begun.directory).claim(begun.config)
    run = tiedlm.load_run(begun.directory)
    assert (run.result, run.figures, run._repr_html_()) == (None, None, None)
    assert repr(run).endswith("seed 0, not finished>")
    with pytest.raises(tiedlm.RunError, match="holds no valid checkpoint"):
        run.model  # noqa: B018


def test_the_model_has_the_weights_of_the_checkpoint(
    trained: dict[str, Run], opened: dict[str, tiedlm.TrainedRun]
) -> None:
    for name, run in opened.items():
        stored = weights(trained[name])
        state = run.model.state_dict()
        assert {*state} == {*stored}
        assert all(np.array_equal(state[key].numpy(), stored[key]) for key in stored)
        assert run.model is run.model and not run.model.training


def test_the_embeddings_score_and_embed_as_the_model_does(opened: dict[str, tiedlm.TrainedRun]) -> None:
    """Their rows, put through the formula of each strategy, are what the model computes."""
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    for name, run in opened.items():
        pair, tying = run.embeddings(), run.model.tying
        vocab_size, dim = 257, 16
        assert pair.input.shape == (vocab_size, dim), name
        assert pair.output.shape == (vocab_size, 4 if name == "factorized" else dim), name
        assert {matrix.dtype for matrix in pair[:2]} == {np.dtype("float32")}
        scale = dim**0.5 if name == "tied" else 1.0
        torch.testing.assert_close(torch.from_numpy(pair.input)[ids] * scale, tying.embed(ids).detach())
        with torch.no_grad():
            hidden = tying.project(run.model(ids))
            torch.testing.assert_close(hidden @ torch.from_numpy(pair.output).T, run.model.logits(ids))
        is_one = np.array_equal(pair.input, pair.output)
        assert is_one == (name in ("tied", "projected"))


def test_the_embeddings_are_copies_and_come_with_the_counts_of_training(opened: dict[str, tiedlm.TrainedRun]) -> None:
    run = opened["tied"]
    pair = run.embeddings()
    pair.input[:] = 0
    again = run.embeddings()
    assert again.input.any() and run.result is not None
    assert again.counts is not None and again.counts.sum() == run.result.tokens_seen
    spaces, letters, none = (again.counts[run.tokenizer.encode(letter)[0]] for letter in (" ", "P", "@"))
    assert spaces > letters > none == 0


def test_the_tokenizer_is_that_of_the_run(opened: dict[str, tiedlm.TrainedRun]) -> None:
    tokenizer = opened["tied"].tokenizer
    assert tokenizer.vocab_size == 257 and tokenizer.decode(tokenizer.encode("ē, too")) == "ē, too"


def test_it_generates_and_scores_as_the_commands_do(opened: dict[str, tiedlm.TrainedRun]) -> None:
    run = opened["untied"]
    given: dict[str, Any] = {"num_tokens": 8, "temperature": 1.0, "top_k": 5, "seed": 3}
    assert run.generate("Par", **given) == generate_text(run.path, "Par", cache_dir=shared_cache(), **given)
    assert run.result is not None
    for split in ("validation", "test"):
        assert run.evaluate(split)["nll"] == run.result.splits[split].nll
    assert run.evaluate("test", seq_len=8, stride=4)["stride"] == 4


def test_nothing_is_printed_but_progress(trained: dict[str, Run], capfd: Any) -> None:
    for progress in (False, True):
        run = tiedlm.load_run(trained["tied"].directory, progress=progress)
        run.embeddings()
        run.evaluate("test", checkpoint="best")
        out, err = capfd.readouterr()
        assert out == "" and ("the best in validation" in err) == progress
    assert not tiedlm.load_run(trained["tied"].directory).model.training


def test_a_damaged_file_of_counts_is_named(trained: dict[str, Run]) -> None:
    run = tiedlm.load_run(trained["partial"].directory)
    file = run.path / "evaluation" / "vocabulary.npz"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(tiedlm.RunError, match=r"vocabulary\.npz cannot be read"):
        run.embeddings()
    file.unlink()
    assert run.embeddings().counts is None


def test_a_folder_alone_has_all_but_the_text_to_score(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.steps=2")
    carry_out(run)
    copied = Path(shutil.copytree(run.directory, tmp_path / "a copy"))
    here, text = tiedlm.load_run(run.directory).embeddings(), tmp_path / "text.txt"
    moved = text.rename(tmp_path / "moved.txt")
    there = tiedlm.load_run(copied, cache_dir=tmp_path / "new")
    assert not there.model.training and there.tokenizer.decode(there.tokenizer.encode("ē")) == "ē"
    assert np.array_equal(there.embeddings().input, here.input) and there.generate("P", num_tokens=3)
    assert not (tmp_path / "new").exists()
    with pytest.raises(tiedlm.ConfigError, match=r"overrides data\.corpus\.file=PATH says where it lies now"):
        there.evaluate("test")
    assert there.result is not None
    for overrides in ({"data.corpus.file": moved}, [f"data.corpus.file={moved}"]):
        assert there.evaluate("test", overrides=overrides)["nll"] == there.result.splits["test"].nll
    with pytest.raises(tiedlm.ConfigError, match=r"overrides model\.dim: a trained run keeps its settings"):
        there.evaluate("test", overrides={"model.dim": 8})
