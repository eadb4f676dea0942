"""From a path to two matrices: those that the model really uses, whatever its tying makes them of."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.support.small_runs import Heard, carry_out, shared_cache, small_run
from tests.support.stored_models import stored_model
from tests.support.strategies import STRATEGIES
from tiedlm.config.base import ConfigError
from tiedlm.embeddings.matrix import Matrix, MatrixPair
from tiedlm.embeddings.movement import movement
from tiedlm.embeddings.open import open_pair
from tiedlm.embeddings.pair import EmbeddingPair, UnknownStartError
from tiedlm.errors import RunError
from tiedlm.run.folder import RunFolder
from tiedlm.run.token_types import TokenTypes


@pytest.mark.parametrize("tying", STRATEGIES, ids=str)
def test_the_matrices_are_those_that_embed_and_score_without_scale(tmp_path: Path, tying: dict[str, Any]) -> None:
    path, model = stored_model(tmp_path, tying)
    pair = open_pair(path, shared_cache())
    ids = torch.arange(pair.vocab_size)
    with torch.no_grad():
        vectors = model.tying.embed(ids[None])[0]
        hidden = model.projected(ids[None, :16])
        scores = hidden @ pair.output.T
        bias = model.tying.output_bias()
        torch.testing.assert_close(scores if bias is None else scores + bias, model.logits(ids[None, :16]))
    torch.testing.assert_close(pair.input * model.tying.input_path.scale, vectors)
    has_two_later = tying["type"] == "progressive" and tying.get("direction") == "untie"
    assert pair.is_one_matrix == (tying["type"] in ("tied", "projected") or has_two_later)
    assert (pair.tying, pair.step) == (tying["type"], 7)


def test_the_newest_checkpoint_is_read_or_the_one_that_is_named(tmp_path: Path) -> None:
    stored_model(tmp_path, {"type": "untied"}, step=3)
    path, _ = stored_model(tmp_path, {"type": "untied"}, step=12)
    assert open_pair(path, tmp_path).step == 12
    assert open_pair(path / "checkpoint" / "step-3", tmp_path).step == 3
    with pytest.raises(RunError, match="no valid checkpoint of step 4"):
        open_pair(path / "checkpoint" / "step-4", tmp_path)


def test_the_body_and_the_optimizer_are_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = stored_model(tmp_path, {"type": "untied"})
    read: list[str] = []

    def watched(file: Path, framework: str) -> Any:
        opened = real(file, framework)
        get = opened.get_tensor

        class Watched:
            def __enter__(self) -> "Watched":
                return self

            def __exit__(self, *error: object) -> None:
                return None

            def keys(self) -> list[str]:
                return list(opened.keys())

            def get_tensor(self, name: str) -> torch.Tensor:
                read.append(name)
                tensor: torch.Tensor = get(name)
                return tensor

        return Watched()

    real: Callable[..., Any] = safe_open
    monkeypatch.setattr("tiedlm.training.checkpoint.safe_open", watched)
    optimizer = path / "checkpoint" / "step-7" / "optimizer.pt"
    optimizer.write_bytes(bytes(optimizer.stat().st_size))
    open_pair(path, tmp_path)
    assert sorted(read) == ["tying.input_embedding", "tying.output_embedding"]


def test_a_checkpoint_that_lost_a_part_is_passed_over(tmp_path: Path) -> None:
    stored_model(tmp_path, {"type": "untied"}, step=3)
    path, _ = stored_model(tmp_path, {"type": "untied"}, step=12)
    weights = path / "checkpoint" / "step-12" / "model.safetensors"
    whole, talk = weights.read_bytes(), Heard()
    for damaged, why in ((whole[:-10], "bytes instead of"), (bytes(len(whole)), "it cannot be read")):
        weights.write_bytes(damaged)
        assert open_pair(path, tmp_path, talk=talk).step == 3
        assert "step-12 is passed over: " in talk.lines[-1] and why in talk.lines[-1]


def test_what_is_no_model_is_refused_with_what_is_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(ConfigError, match="holds no model: give the folder of a run"):
            open_pair(path, tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    save_file({"wte.weight": torch.zeros(2, 2)}, tmp_path / "model.safetensors")
    with pytest.raises(ConfigError, match="is a Hugging Face folder, which is not read yet: give the folder of a run"):
        open_pair(tmp_path, tmp_path)


def test_an_unfinished_run_has_no_counts_and_says_why(tmp_path: Path) -> None:
    path, _ = stored_model(tmp_path, {"type": "untied"})
    pair = open_pair(path, tmp_path)
    assert pair.counts is None and "has not finished" in pair.absent["counts"]
    assert pair.tokens is not None and len({*pair.tokens}) == pair.vocab_size == 257
    assert pair.tokens[ord("P")] == "P" and pair.tokens[ord(" ")] == "Ġ"


def test_a_run_without_its_tokenizer_has_matrices_all_the_same(tmp_path: Path) -> None:
    path, model = stored_model(tmp_path, {"type": "untied"}, "model.vocab_size=257")
    (path / "data.json").unlink()
    pair = open_pair(path, tmp_path)
    assert pair.tokens is None and "stored no tokenizer" in pair.absent["tokens"]
    assert pair.input.equal(model.tying.input_weight())


STARTS = [
    {"type": "tied", "input_scale": "sqrt_dim"},
    {"type": "untied"},
    {"type": "partial_vocabulary", "shared": 0.5},
    {"type": "untied", "init": "by_frequency"},
]


@pytest.fixture(scope="module", params=STARTS, ids=lambda tying: "-".join(map(str, tying.values())))
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EmbeddingPair]:
    words = ", ".join(f"{key}: {value}" for key, value in request.param.items())
    run = small_run(tmp_path_factory.mktemp("start"), f"variants.tied.model.tying={{{words}}}", "seed=3")
    carry_out(run)
    return run.directory, open_pair(run.directory, shared_cache())


def test_the_start_drawn_again_is_the_one_that_the_run_recorded(finished: tuple[Path, EmbeddingPair]) -> None:
    path, pair = finished
    result = RunFolder(path).result()
    assert result is not None and pair.start_hash == result.hashes.input_embedding
    drawn = pair.start.input.contiguous().numpy()
    assert hashlib.sha256(drawn.data).hexdigest() == result.hashes.input_embedding


def test_the_distance_from_it_is_the_one_that_the_run_stored(finished: tuple[Path, EmbeddingPair]) -> None:
    path, pair = finished
    stored = TokenTypes.load(RunFolder(path).vocabulary_file)
    assert pair.counts is not None and np.array_equal(pair.counts.numpy(), stored.targets)
    for side in ("input", "output"):
        moved = movement(MatrixPair(Matrix(getattr(pair.start, side)), Matrix(getattr(pair, side)))).distance
        np.testing.assert_allclose(moved.numpy(), stored.moved[side], rtol=1e-5)


def test_a_start_that_hangs_on_a_text_that_is_gone_is_not_guessed(
    finished: tuple[Path, EmbeddingPair], tmp_path: Path
) -> None:
    path, pair = finished
    again = open_pair(path, tmp_path / "no cache")
    needs_text = pair.tying == "partial_vocabulary" or RunFolder(path).config().model.tying.init == "by_frequency"
    if not needs_text:
        assert again.start.input.equal(pair.start.input)
        return
    with pytest.raises(UnknownStartError, match="token frequencies"):
        _ = again.start


def test_another_start_than_was_recorded_is_refused(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    file = RunFolder(run.directory).result_file
    recorded = open_pair(run.directory, tmp_path).start_hash
    assert recorded is not None
    file.write_text(file.read_text().replace(recorded, "0" * 64))
    with pytest.raises(UnknownStartError, match="is not the one that it recorded"):
        _ = open_pair(run.directory, tmp_path).start


def test_only_a_run_knows_where_it_started() -> None:
    rows = torch.ones(2, 2)
    with pytest.raises(UnknownStartError, match="only a run"):
        _ = EmbeddingPair("a", "a", rows, rows).start


def test_weights_are_those_of_the_file(tmp_path: Path) -> None:
    path, _ = stored_model(tmp_path, {"type": "untied"})
    stored = load_file(path / "checkpoint" / "step-7" / "model.safetensors")
    assert open_pair(path, tmp_path).output.equal(stored["tying.output_embedding"])


def test_weights_of_another_model_are_refused_in_a_line(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
    path, _ = stored_model(tmp_path / "one", {"type": "tied"})
    other, _ = stored_model(tmp_path / "other", {"type": "untied"})
    (path / "checkpoint" / "step-7").rename(tmp_path / "away")
    (other / "checkpoint" / "step-7").rename(path / "checkpoint" / "step-7")
    with pytest.raises(RunError, match="step 7: the weights are not those of the model in the run's config") as caught:
        open_pair(path, tmp_path)
    assert "output_embedding" in str(caught.value) and "\n" not in str(caught.value)
