"""What a run's training made of each token: how often it was seen, what it is, how far its rows moved."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.small_runs import carry_out, small_run
from tiedlm.data.batches import IGNORED, Batches
from tiedlm.data.kinds import Shape
from tiedlm.data.prepare import prepare
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunResult
from tiedlm.run.row_movement import row_movement
from tiedlm.run.setup import Setup, set_up
from tiedlm.run.token_types import BINS, TokenTypes, bins_of
from tiedlm.training.trainer import Trainer

V = 257
RATE, DECAY, MOMENTUM = 0.5, 0.2, 0.9
SGD = (
    "training.optimizer=sgd",
    f"training.momentum={MOMENTUM}",
    f"training.learning_rate={RATE}",
    "training.schedule=constant",
    "training.max_grad_norm=null",
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, RunResult]:
    run = small_run(tmp_path_factory.mktemp("types"), variant="untied")
    return run, carry_out(run)


def trained(folder: Path, num_steps: int, *settings: str, variant: str = "untied") -> tuple[Setup, Trainer]:
    """A small model after some steps."""
    config = small_run(folder, *settings, variant=variant).config
    setup = set_up(config, prepare(config.data, folder / "cache"))
    ids = setup.data.split("train").ids
    batches = Batches(ids, config.data.seq_len, config.training.batch_size, config.seed)
    training = Trainer(
        setup.model,
        batches,
        config.training,
        setup.machine,
        num_steps=10**6,
        micro_batch_size=config.training.batch_size,
        seed=config.seed,
    )
    for _ in range(num_steps):
        training.advance()
    return setup, training


def seen(training: Trainer, num_steps: int) -> np.ndarray:
    """How often each token was an input."""
    return training.batches.counts(num_steps, V)[1]


def test_bins_are_those_of_the_powers_of_ten() -> None:
    counts = [0, 1, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000, 10**9]
    named = [BINS[index] for index in bins_of(np.array(counts))]
    assert named == ["0", *["1-9"] * 2, *["10-99"] * 2, *["100-999"] * 2, *["1k-9.9k"] * 2, *["10k+"] * 2]


def test_a_run_leaves_the_counts_of_its_own_batches(finished: tuple[Run, RunResult]) -> None:
    run, result = finished
    types = TokenTypes.load(RunFolder(run.directory).vocabulary_file)
    assert types.targets.sum() == types.inputs.sum() == result.tokens_seen
    setup, training = trained(run.directory.parents[3], 0)
    expected = np.zeros(V, np.int64)
    for step in range(result.steps):
        targets = training.batches.batch(step)[1]
        expected += np.bincount(targets[targets != IGNORED], minlength=V)
    assert (types.targets == expected).all()
    assert types.end_of_text == setup.data.end_of_text == V - 1
    assert types.shapes is not None
    assert Shape(int(types.shapes[ord("P")])) == Shape.LETTERS and Shape(int(types.shapes[V - 1])) == Shape.SPECIAL
    assert set(types.moved) == {"input", "output"} and all(moved.shape == (V,) for moved in types.moved.values())


def test_the_mass_of_all_bins_is_the_tokens_of_each_document(finished: tuple[Run, RunResult]) -> None:
    run, result = finished
    for split in ("validation", "test"):
        with np.load(RunFolder(run.directory).evaluation_file(split)) as stored:
            mass, document = stored["mass"], stored["document"]
        assert mass.dtype == np.float64 and mass.shape == (result.splits[split].documents, len(BINS))
        np.testing.assert_allclose(mass.sum(1), np.bincount(document), rtol=1e-6)


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    counts = draws.integers(0, 20_000, (2, 7))
    moved = {side: draws.random(7).astype(np.float32) for side in ("input", "output")}
    moved["output"][3] = np.nan
    TokenTypes(counts[0], counts[1], 6, moved).save(tmp_path / "types.npz")
    again = TokenTypes.load(tmp_path / "types.npz")
    assert (again.targets == counts[0]).all() and (again.inputs == counts[1]).all()
    assert again.end_of_text == 6 and again.shapes is None
    for side, rows in moved.items():
        np.testing.assert_array_equal(again.moved[side], rows)
    assert (again.bins_seen == bins_of(counts.max(axis=0))).all()


def test_nothing_has_moved_before_the_first_step(tmp_path: Path) -> None:
    for variant in ("tied", "untied"):
        setup, _ = trained(tmp_path, 0, "embedding_draw=1", variant=variant)
        assert all((moved == 0).all() for moved in row_movement(setup).values())


def test_rows_of_absent_tokens_move_by_decay_alone_where_they_are_only_looked_up(tmp_path: Path) -> None:
    """SGD adds decay to the gradient, so momentum carries it on: v = m v + d x, x = x - r v from x = 1, v = 0."""
    num_steps = 6
    setup, training = trained(tmp_path, num_steps, *SGD, f"training.embedding_weight_decay={DECAY}")
    row, velocity = 1.0, 0.0
    for _ in range(num_steps):
        velocity = MOMENTUM * velocity + DECAY * row
        row -= RATE * velocity
    absent = seen(training, num_steps) == 0
    moved = row_movement(setup)
    assert absent.sum() > 100
    np.testing.assert_allclose(moved["input"][absent], 1 - row, rtol=1e-5)
    assert (moved["output"][absent] != moved["input"][absent]).all(), "the softmax pushes every row, absent or not"


def test_without_decay_absent_tokens_stay_where_they_started_on_the_input_side_alone(tmp_path: Path) -> None:
    for variant, stays in (("untied", True), ("tied", False)):
        setup, training = trained(tmp_path, 4, *SGD, variant=variant)
        absent = seen(training, 4) == 0
        moved = row_movement(setup)
        assert (moved["input"][absent] == 0).all() == stays
        assert (moved["input"][~absent] > 0).all() and (moved["output"] > 0).all()
        assert np.array_equal(moved["input"], moved["output"]) == (variant == "tied")


def test_momentum_carries_a_row_on_after_its_token_was_last_seen(tmp_path: Path) -> None:
    """Seen in the first step alone, it goes 1 + m + m^2 + .. times as far as that step took it."""
    setup, training = trained(tmp_path, 1, *SGD, "training.batch_size=1")
    after_one, once = row_movement(setup)["input"], seen(training, 1)
    for _ in range(3):
        training.advance()
    stale = (once > 0) & (seen(training, 4) == once)
    assert stale.any()
    factor = sum(MOMENTUM**step for step in range(4))
    np.testing.assert_allclose(row_movement(setup)["input"][stale], factor * after_one[stale], rtol=1e-4)


def test_rows_that_start_at_zero_have_no_relative_movement(tmp_path: Path) -> None:
    setup, _ = trained(tmp_path, 1, "variants.untied.model.tying.output_init=zero")
    moved = row_movement(setup)
    assert np.isnan(moved["output"]).all() and np.isfinite(moved["input"]).all()


@pytest.mark.parametrize("only_in_training", ["embedding_dropout=0.5", "embedding_noise=1.0"])
def test_what_happens_to_input_vectors_in_training_alone_is_no_movement(tmp_path: Path, only_in_training: str) -> None:
    setup, training = trained(tmp_path, 1, f"model.tying.{only_in_training}")
    again, _ = trained(tmp_path, 0, f"model.tying.{only_in_training}")
    assert all((moved == 0).all() for moved in row_movement(again).values())
    expected = row_movement(setup)
    training.training_step.train()
    assert all(np.array_equal(moved, expected[side]) for side, moved in row_movement(setup).items())
    assert setup.model.tying.training, "and the model's mode is as before"
