"""A state carried from step to step: training reads streams as if in one go, wherever it is cut or stopped."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.small_runs import assert_same_outcome, carry_out, metrics, shared_cache, small_config, stop_at
from tiedlm.config.base import ConfigError, parse
from tiedlm.data.batches import Batches, build_batches
from tiedlm.errors import Interrupted
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.model.config import LstmConfig
from tiedlm.model.language_model import build_model
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.reopen import evaluate_run, generate_text
from tiedlm.talk import SILENT
from tiedlm.training import checkpoint
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import resolve_machine
from tiedlm.training.recurrent_state import RecurrentState
from tiedlm.training.trainer import Trainer

V, D, T, B, N = 97, 16, 8, 4, 130
IDS = np.random.default_rng(5).zipf(1.3, N + 1).clip(max=V - 1).astype(np.uint16)
STEPS_AN_EPOCH = 5
"""Streams of 33 tokens, in windows of 8."""


def training(*, micro: int = B, rate: float = 0.5, dropout: float = 0.0, carry: bool = True, **keys: Any) -> Trainer:
    recipe = {"steps": 40, "batch_size": B, "learning_rate": rate, "optimizer": "sgd", "momentum": 0.0}
    config = parse(TrainingConfig, {**recipe, "precision": "fp32", "device": "cpu", **keys})
    raw = {"num_layers": 2, "dim": D, "hidden_dim": 24, "dropout": dropout, "init_std": 0.5, "carry_state": carry}
    shape = parse(LstmConfig, raw)
    model = build_model(shape, V, T)
    model.initialize(0)
    batches = build_batches(IDS, T, B, 0, contiguous=shape.carries_state)
    return Trainer(model, batches, config, resolve_machine(config), num_steps=40, micro_batch_size=micro, seed=0)


def losses(some: Trainer, num_steps: int) -> list[float]:
    return [some.advance().loss for _ in range(num_steps)]


def standing_still(**keys: Any) -> Trainer:
    """At so small a rate that no weight changes in fp32."""
    return training(rate=1e-30, weight_decay=0.0, embedding_weight_decay=0.0, **keys)


@pytest.mark.parametrize("micro", [1, 3, B])
def test_the_losses_of_an_epoch_are_those_of_each_stream_read_in_one_go(micro: int) -> None:
    some = standing_still(micro=micro)
    found = losses(some, 2 * STEPS_AN_EPOCH)
    length = -(-N // B)
    rows: list[np.ndarray] = []
    for begin in range(0, N, length):
        stream = torch.from_numpy(IDS[begin : min(begin + length, N) + 1].astype(np.int64))[None]
        rows.append(some.model.eval().token_nll(stream[:, :-1], stream[:, 1:])[0].numpy())
    for step, loss in enumerate(found):
        window = slice(step % STEPS_AN_EPOCH * T, (step % STEPS_AN_EPOCH + 1) * T)
        assert loss == pytest.approx(float(np.concatenate([row[window] for row in rows]).mean()), rel=1e-5)


def test_without_a_carried_state_windows_are_shuffled_and_begin_from_nothing() -> None:
    some = standing_still(carry=False)
    ids, targets = (torch.from_numpy(array) for array in Batches(IDS, T, B, 0).batch(1))
    some.advance()
    expected = some.model.eval().token_nll(ids, targets).sum() / (targets >= 0).sum()
    assert some.advance().loss == pytest.approx(float(expected), rel=1e-5)
    assert some.snapshot().state is None


@pytest.mark.parametrize("stopped_after", [STEPS_AN_EPOCH + 2, 2 * STEPS_AN_EPOCH])
def test_resumed_from_disk_is_the_uninterrupted_run_bit_for_bit(stopped_after: int, tmp_path: Path) -> None:
    """In the middle of an epoch, where the state is part of the checkpoint, and between two, where there is none."""
    keys: dict[str, Any] = {"dropout": 0.3, "micro": 3}
    straight = training(**keys)
    expected = losses(straight, 20)[stopped_after:]
    first = training(**keys)
    losses(first, stopped_after)
    folder = checkpoint.save(tmp_path, first.snapshot(), keep_last=1)
    assert (folder / "state.safetensors").exists() == (stopped_after % STEPS_AN_EPOCH > 0)
    second = training(**keys)
    saved = checkpoint.load_newest(tmp_path, SILENT)
    assert saved is not None
    second.restore(saved)
    assert losses(second, 20 - stopped_after) == expected
    assert second.progress.batches_hash == straight.progress.batches_hash


def test_a_checkpoint_whose_state_is_missing_or_damaged_is_not_valid(tmp_path: Path) -> None:
    some = training()
    some.advance()
    folder = checkpoint.save(tmp_path, some.snapshot(), keep_last=1)
    assert checkpoint.whats_wrong(folder) is None
    file = folder / "state.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert "SHA-256 differs" in (checkpoint.whats_wrong(folder) or "")
    file.unlink()
    assert checkpoint.whats_wrong(folder) == "state.safetensors is missing"


def test_a_step_that_is_taken_again_goes_on_from_the_same_state() -> None:
    recurrent = RecurrentState(build_batches(IDS, T, B, 0, contiguous=True))

    def step(number: int, end: float) -> list[float | None]:
        began: list[float | None] = []
        for state in recurrent.begin(number, [slice(0, 2), slice(2, 4)]):
            assert state is not None
            began.append(None if state.value is None else float(state.value[0, 0]))
            state.value = torch.full((2, 1), end)
        return began

    assert step(0, 1.0) == [None, None]
    recurrent.keep()
    assert step(1, 2.0) == step(1, 3.0) == [1.0, 1.0], "not kept: an overflow of fp16"
    recurrent.keep()
    assert step(2, 4.0) == [3.0, 3.0]
    recurrent.keep()
    assert step(STEPS_AN_EPOCH, 5.0) == [None, None], "an epoch begins at the beginning of the text"


def recurrent_run(folder: Path, *settings: str, runs: str = "runs", variant: str = "tied") -> Run:
    model = "model: {type: lstm, num_layers: 2, dim: 16, hidden_dim: 24, dropout: 0.1}"
    config = small_config(folder, "model: {num_layers: 1, dim: 16, num_heads: 2}", model)
    return Run(pick(load_experiment(config, list(settings)), variant), folder / runs)


def test_a_run_is_stopped_and_goes_on_is_scored_again_and_continues_a_text(tmp_path: Path) -> None:
    whole = recurrent_run(tmp_path, "training.evaluate_every=2")
    result = carry_out(whole)
    assert result.splits["test"].state_carried and not result.effective.compile
    assert result.splits["test"].tokens > 0 and result.tokens_seen == 6 * 4 * 16
    parts = recurrent_run(tmp_path, "training.evaluate_every=2", runs="stopped")
    with pytest.raises(Interrupted):
        carry_out(parts, talk=stop_at(3))
    carry_out(parts)
    assert_same_outcome(whole, parts)
    assert [line["validation_nll"] for line in metrics(whole) if "validation_nll" in line]

    again = evaluate_run(whole.directory, "test", cache_dir=shared_cache())
    assert again["nll"] == result.splits["test"].nll
    with pytest.raises(ConfigError, match="--stride: 4: this model carries its state"):
        evaluate_run(whole.directory, "test", stride=4, cache_dir=shared_cache())
    text = generate_text(whole.directory, "Para", num_tokens=9, cache_dir=shared_cache())
    assert text == generate_text(whole.directory, "Para", num_tokens=9, cache_dir=shared_cache())


def test_windows_of_their_own_mean_nothing_to_a_carried_state(tmp_path: Path) -> None:
    for key in ("seq_len", "stride"):
        with pytest.raises(ConfigError, match=rf"evaluation\.{key} means nothing to a model that carries its state"):
            recurrent_run(tmp_path, f"evaluation.{key}=8")
    apart = recurrent_run(tmp_path, "evaluation.stride=8", "model.carry_state=false")
    assert not carry_out(apart).splits["test"].state_carried


def test_a_recurrent_body_is_not_compiled(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"compile: true means nothing to model\.type: lstm"):
        recurrent_run(tmp_path, "training.compile=true")


def test_the_stored_config_of_a_run_reads_back_as_it_was(tmp_path: Path) -> None:
    run = recurrent_run(tmp_path)
    folder = RunFolder(run.directory)
    folder.claim(run.config)
    assert folder.config() == run.config
