"""A step's memory found on fake tensors: against torch's own tracker, formulas, and real processes."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.small_runs import small_experiment
from tiedlm.forecast.footprint import CATEGORIES, Footprint
from tiedlm.forecast.memory import Target, forecast_peak
from tiedlm.kernels import chunk_sizes
from tiedlm.kernels.tracing import traced_as
from tiedlm.model.config import TransformerConfig
from tiedlm.model.language_model import build_model
from tiedlm.run.probe import measure
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine
from tiedlm.training.memory import MAPPED_FROM
from tiedlm.training.optimizer import build_optimizer
from tiedlm.training.step import MicroBatchLoss, TrainingStep

V, D, T, B = 5000, 64, 32, 4
GB = 1 << 30


@cache
def predicted(tying: str = "tied", *, target: Target | None = None, vocab_size: int = V, **keys: Any) -> Footprint:
    recipe = {key: keys.pop(key) for key in list(keys) if key in TrainingConfig.model_fields}
    model = TransformerConfig.model_validate(
        {"num_layers": 2, "dim": D, "num_heads": 4, "tying": {"type": tying}, **keys}
    )
    training = TrainingConfig.model_validate({"steps": 1, "batch_size": B, "learning_rate": 1e-3, **recipe})
    where = target or Target("cpu", "fp32", training.batch_size)
    found = forecast_peak(model, training, where, vocab_size=vocab_size, seq_len=T, max_seq_len=T)
    assert found.reason is None
    return found


def peak(footprint: Footprint) -> int:
    assert footprint.peak_bytes is not None
    return footprint.peak_bytes


def persistent(footprint: Footprint) -> int:
    assert footprint.persistent_bytes is not None
    return footprint.persistent_bytes


@pytest.mark.parametrize(
    ("recipe", "values"),
    [
        ({"optimizer": "adamw"}, 4),
        ({"optimizer": "sgd"}, 3),
        ({"optimizer": "sgd", "momentum": 0.0}, 2),
    ],
)
def test_untied_holds_for_good_one_more_matrix_with_its_gradient_and_its_moments(
    recipe: dict[str, Any], values: int
) -> None:
    tied, untied = predicted("tied", **recipe), predicted("untied", **recipe)
    assert persistent(untied) - persistent(tied) == values * 4 * V * D


@pytest.mark.parametrize(
    ("tying", "micro_batch_size", "precision"), [("soft", B, "bf16"), ("untied", B, "fp32"), ("untied", 1, "fp32")]
)
def test_the_peak_is_that_of_torchs_own_tracker(tying: str, micro_batch_size: int, precision: Any) -> None:
    tracker_module = pytest.importorskip("torch.distributed._tools.mem_tracker")
    from torch._subclasses.fake_tensor import FakeTensorMode

    config = TransformerConfig.model_validate({"num_layers": 2, "dim": D, "num_heads": 4, "tying": {"type": tying}})
    training = TrainingConfig(steps=1, batch_size=B, learning_rate=1e-3)
    machine = Machine(torch.device("cpu"), precision, compile=False)
    with FakeTensorMode():
        model = build_model(config, V, T)
        optimizer = build_optimizer([{"params": list(model.parameters())}], training, machine)
        for parameter in model.parameters():
            parameter.grad = torch.empty_like(parameter)
        optimizer.step()
        optimizer.zero_grad()
        step = TrainingStep(model, machine)
        batch = torch.empty(B, T, dtype=torch.long), torch.empty(B, T, dtype=torch.long)
        tracker = tracker_module.MemTracker()
        tracker.track_external(step, optimizer, *batch)
        with traced_as("cpu"), tracker:
            for index in range(2 if micro_batch_size < B else 1):
                rows = slice(index * micro_batch_size, (index + 1) * micro_batch_size)
                share, _ = step(MicroBatchLoss(batch[0][rows], batch[1][rows], B * T, 1))
                share.backward()
                del share
                tracker.reset_mod_stats()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        theirs = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"]
    ours = peak(predicted(tying, target=Target("cpu", precision, micro_batch_size)))
    steps_of_adam = 4 * len(list(model.parameters()))
    assert abs(ours - theirs) <= steps_of_adam + 64, "some scalars aside"


def test_categories_add_up_to_the_peak_and_the_vocabulary_is_a_part_of_each() -> None:
    found = predicted("untied")
    assert set(found.categories) == set(CATEGORIES)
    assert sum(found.categories.values()) == peak(found)
    assert found.vocabulary is not None
    assert all(0 <= found.vocabulary[name] <= found.categories[name] for name in CATEGORIES)
    assert found.vocabulary["parameters"] == 2 * 4 * V * D
    assert found.vocabulary["optimizer_state"] == 4 * 4 * V * D


def test_where_the_vocabulary_is_as_large_as_the_model_is_wide_its_share_is_not_told() -> None:
    assert predicted(vocab_size=D).vocabulary is None


def test_nor_is_it_where_it_is_as_large_as_a_chunk_of_the_head_is_long() -> None:
    rows = 64 * T
    assert predicted(vocab_size=rows // 4, batch_size=64).vocabulary is None, "four chunks"
    assert predicted(vocab_size=rows // 4 + 1, batch_size=64).vocabulary is not None


def test_the_chunks_that_a_trace_leaves_out_change_no_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    few = predicted(batch_size=64)  # 2,048 rows: eight chunks
    monkeypatch.setattr(chunk_sizes, "TRACED_CHUNKS", 100)
    assert predicted(batch_size=64) == few


def test_a_smaller_micro_batch_needs_less_and_holds_the_gradients_beside_its_activations() -> None:
    whole, halves = predicted(batch_size=64), predicted(batch_size=64, target=Target("cpu", "fp32", 32))
    assert peak(halves) < peak(whole)
    assert halves.persistent_bytes == whole.persistent_bytes


def test_a_limit_on_the_output_path_takes_at_most_one_more_gradient_of_a_shared_matrix_and_a_cap_none() -> None:
    """Between micro-batches the head's gradient stands beside the lookup's; two matrices have two anyway.

    On a CPU that of the lookup is a few rows.
    """
    for device, tying, matrices in (("cuda", "tied", 1), ("cuda", "untied", 0), ("cpu", "tied", 0)):
        ones = Target(device, "fp32", 1)
        plain, limited = predicted(tying, target=ones), predicted(tying, target=ones, output_max_grad_norm=1.0)
        assert 0 <= peak(limited) - peak(plain) <= matrices * 4 * V * D
        assert (peak(limited) > peak(plain)) == bool(matrices)
        assert persistent(limited) == persistent(plain)
    assert peak(predicted(logit_softcap=30.0)) == peak(predicted())


def test_the_full_head_takes_all_scores_more() -> None:
    full, lean = predicted(batch_size=64, head="full"), predicted(batch_size=64)
    assert peak(full) - peak(lean) > 4 * 64 * T * V
    assert persistent(full) == persistent(lean)


def test_another_device_and_precision_than_this_machines_are_predicted() -> None:
    """Dropout in attention: the CPU keeps (T, T) weights, fused attention on a GPU does not."""
    gpu, cpu = Target("cuda", "bf16", B), Target("cpu", "bf16", B)
    assert (predicted(target=gpu).device, predicted(target=gpu).precision) == ("cuda", "bf16")
    on_gpu, on_cpu = (peak(predicted(dropout=0.1, target=t)) - peak(predicted(target=t)) for t in (gpu, cpu))
    assert on_gpu < on_cpu
    assert peak(predicted(target=Target("cuda", "bf16", B), batch_size=64)) < peak(predicted(batch_size=64))


def test_a_gigantic_model_is_predicted_without_its_memory() -> None:
    assert peak(predicted(dim=8192, num_heads=64, vocab_size=250_000)) > 50 * GB


def test_without_a_prediction_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiedlm.forecast.memory.traced_as", None)
    config = TransformerConfig.model_validate({"num_layers": 1, "dim": 8, "num_heads": 1})
    training = TrainingConfig(steps=1, batch_size=1, learning_rate=1e-3)
    found = forecast_peak(config, training, Target("cpu", "fp32", 1), vocab_size=9, seq_len=4, max_seq_len=4)
    assert found.peak_bytes is None and found.persistent_bytes is None
    assert found.reason is not None and found.reason.startswith("TypeError")


@pytest.mark.parametrize("vocab_size", [50_000, 24_000])
def test_a_real_process_grows_by_about_what_was_predicted_and_untied_by_the_predicted_gap(
    tmp_path: Path, vocab_size: int
) -> None:
    """Matrices that malloc always gives back: of 48.8 MiB, and of 23.4 MiB, which it once kept in the heap."""
    width = 256
    assert 4 * vocab_size * width >= MAPPED_FROM
    experiment = small_experiment(tmp_path, f"model.dim={width}", "training.batch_size=16")
    foreseen, grown = {}, {}
    for name, variant in experiment.variants.items():
        found = forecast_peak(
            variant.model,
            variant.training,
            Target("cpu", "fp32", 16),
            vocab_size=vocab_size,
            seq_len=16,
            max_seq_len=16,
        )
        foreseen[name], taken = peak(found), measure(variant, 16, vocab_size, num_steps=2).host_growth_bytes
        if taken is None:
            pytest.skip("resident sizes are read from /proc")
        grown[name] = taken
        assert 0.8 < foreseen[name] / grown[name] < 1.1
    gap = (foreseen["untied"] - foreseen["tied"]) / (grown["untied"] - grown["tied"])
    assert 0.8 < gap < 1.2
