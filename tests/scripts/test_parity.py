"""What bf16 costs either arm, and one more than the other, follows from the runs by paired statistics."""

import importlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.support.finished_runs import effective, hashes, run_result, store_run
from tiedlm.errors import RunError
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan import plan
from tiedlm.run.result import RunResult

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
T_97_5_OF_2 = 4.302652729911275
"""The 97.5 % quantile of Student's t with two degrees of freedom: 0.95 / sqrt(2 * 0.975 * 0.025)."""
NATS = {
    ("tied", "fp32"): (5.31, 5.27, 5.29),
    ("tied", "bf16"): (5.313, 5.275, 5.289),
    ("untied", "fp32"): (5.15, 5.16, 5.12),
    ("untied", "bf16"): (5.151, 5.159, 5.122),
}


@pytest.fixture
def parity(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("parity")


def runs(nats: Mapping[tuple[str, str], tuple[float, ...]]) -> dict[tuple[str, str], list[RunResult]]:
    return {
        (tying, precision): [
            run_result(f"{tying}-{precision}", seed, value, effective=effective(precision=precision[:4]))
            for seed, value in enumerate(values)
        ]
        for (tying, precision), values in nats.items()
    }


def half_width(values: Sequence[float]) -> float:
    return T_97_5_OF_2 * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def test_the_quantile_is_that_of_its_closed_form() -> None:
    p = 0.975
    assert pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p))) == T_97_5_OF_2


def test_each_difference_has_its_mean_and_its_interval(parity: ModuleType) -> None:
    said = "\n".join(parity.lines(runs(NATS)))
    table = {key: np.array(values) for key, values in NATS.items()}
    tied = table["tied", "bf16"] - table["tied", "fp32"]
    untied = table["untied", "bf16"] - table["untied", "fp32"]
    in_bf16 = table["tied", "bf16"] - table["untied", "bf16"]
    for words, values in (
        ("bf16 - fp32, tied", tied),
        ("bf16 - fp32, untied", untied),
        ("tied - untied in bf16", in_bf16),
        ("difference of the differences", tied - untied),
    ):
        centre, half = values.mean(), half_width(values)
        assert f"{words}: {centre:+.5f} nats (95 % interval {centre - half:+.5f} to {centre + half:+.5f})" in said
    assert "holds 0" in said
    assert max(map(len, said.splitlines())) <= 100


def test_the_difference_of_the_differences_is_the_same_from_both_sides(parity: ModuleType) -> None:
    """How much more bf16 costs tied than untied is how much further tied is from untied in bf16."""
    row = next(line for line in parity.lines(runs(NATS)) if line.startswith("tied - untied  seed 0"))
    fp32, bf16, last = map(float, row.split()[-3:])
    assert (fp32, bf16) == pytest.approx((0.16, 0.162))
    assert last == pytest.approx(bf16 - fp32, abs=1e-5) and last == pytest.approx(0.003 - 0.001, abs=1e-5)


def test_the_same_numbers_in_both_precisions_are_no_difference(parity: ModuleType) -> None:
    same = {(tying, name): NATS[tying, "fp32"] for tying, name in NATS}
    said = list(parity.lines(runs(same)))
    assert "difference of the differences: +0.00000 nats (95 % interval +0.00000 to +0.00000)" in said


def test_an_arm_that_bf16_costs_more_is_named(parity: ModuleType) -> None:
    worse = {**NATS, ("tied", "bf16"): tuple(value + 0.1 for value in NATS["tied", "fp32"])}
    assert "leaves 0 out: bf16 costs the tied arm more" in list(parity.lines(runs(worse)))[-1]


def test_what_rounding_alone_changes_stands_beside_it(parity: ModuleType) -> None:
    halves = {(tying, parity.CONTROL): tuple(value - 0.002 for value in NATS[tying, "fp32"]) for tying in parity.TYINGS}
    said = "\n".join(parity.lines(runs({**NATS, **halves})))
    assert "fp32 in two micro-batches - fp32, untied: -0.00200 nats (95 % interval -0.00200 to -0.00200)" in said
    assert "two micro-batches" not in "\n".join(parity.lines(runs(NATS)))


def test_a_single_seed_has_no_interval(parity: ModuleType) -> None:
    said = "\n".join(parity.lines(runs({key: values[:1] for key, values in NATS.items()})))
    assert "difference of the differences: +0.00200 nats (one seed: no interval)" in said
    assert "holds 0" not in said and "leaves 0 out" not in said


def written(parity: ModuleType, folder: Path, *, control: bool = False) -> Experiment:
    path, settings = folder / "parity.yaml", ["training.steps=7"]
    experiment: Experiment = parity.write_experiment("quickstart", path, 2, settings, control=control)
    return experiment


def test_the_control_takes_half_of_the_batch_at_a_time(parity: ModuleType, tmp_path: Path) -> None:
    variants = written(parity, tmp_path, control=True).variants
    assert len(variants) == 6
    for tying in ("tied", "untied"):
        plain, halves = (variants[f"{tying}-{name}"].training for name in ("fp32", "fp32-halves"))
        assert (halves.precision, halves.micro_batch_size) == ("fp32", plain.batch_size // 2)
        assert halves.model_copy(update={"micro_batch_size": "auto"}) == plain


def test_the_experiment_differs_in_tying_and_precision_alone(parity: ModuleType, tmp_path: Path) -> None:
    experiment = written(parity, tmp_path)
    assert experiment.seeds == (0, 1) and len(experiment.variants) == 4
    rest = set()
    for name, config in experiment.variants.items():
        assert name == f"{config.model.tying.type}-{config.training.precision}"
        assert config.training.steps == 7
        alike = config.model_copy(
            update={
                "variant": "any",
                "model": config.model.model_copy(update={"tying": None}),
                "training": config.training.model_copy(update={"precision": "auto"}),
            }
        )
        rest.add(str(alike))
    assert len(rest) == 1


def test_runs_in_another_precision_or_on_other_batches_are_refused(parity: ModuleType, tmp_path: Path) -> None:
    experiment = written(parity, tmp_path)
    with pytest.raises(RunError, match="has no result"):
        parity.finished_runs(experiment, tmp_path)
    for run in plan(experiment, tmp_path):
        store_run(run, np.random.default_rng(0))  # all of them in fp32
    with pytest.raises(RunError, match="tied-bf16 seed 0 was carried out in fp32"):
        parity.finished_runs(experiment, tmp_path)
    for run in plan(experiment, tmp_path):
        path = run.directory / "result.json"
        result = RunResult.model_validate_json(path.read_bytes())
        precision = run.config.training.precision
        changes = {"effective": effective(precision=precision)}
        path.write_text(result.model_copy(update=changes).model_dump_json())
    assert [len(own) for own in parity.finished_runs(experiment, tmp_path).values()] == 4 * [2]
    path.write_text(result.model_copy(update={**changes, "hashes": hashes(1, batches="e1" * 32)}).model_dump_json())
    with pytest.raises(RunError, match="seed 1: start and batches were not the same"):
        parity.finished_runs(experiment, tmp_path)
