"""Every head that is raced computes the same, and the table of the race has a row for each."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
CPU = torch.device("cpu")


@pytest.fixture
def heads(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("heads")


def test_the_reference_is_the_cross_entropy_of_full_float64_logits(heads: ModuleType) -> None:
    inputs = heads.Inputs.draw(300, 8, 31, CPU)
    hidden, weight = (part.detach().double().requires_grad_() for part in (inputs.hidden, inputs.weight))
    loss = F.cross_entropy(F.linear(hidden, weight), inputs.targets)
    loss.backward()
    errors = heads.relative_errors(heads.reference(inputs), (loss.detach(), hidden.grad, weight.grad))
    assert max(errors) < 1e-12


@pytest.mark.parametrize(("precision", "most"), [("fp32", 2e-6), ("bf16", 3e-2)])
def test_every_way_forms_the_same_loss_and_gradients(heads: ModuleType, precision: str, most: float) -> None:
    """The chunk that a compiler is given among them, here without one; the last chunk is a short one."""
    inputs = heads.Inputs.draw(50, 16, 97, CPU)
    right = heads.reference(inputs)
    add = heads.add_wide if precision == "fp32" else heads.add_rounded
    chunks = heads.ChunkByChunk(heads.chunk_errors, add)
    ways = heads.ways((16, 64), CPU, compiled=False)
    ways.append(heads.Way("chunk by chunk", lambda *arguments: chunks(*arguments, chunk_rows=16)))
    assert len(ways) >= 5
    for way in ways:
        found = way.gradients(inputs, precision)
        assert [part.dtype for part in found] == 3 * [torch.float32], way.name
        assert max(heads.relative_errors(found, right)) < most, way.name


def test_what_is_wrong_is_seen_in_the_errors(heads: ModuleType) -> None:
    inputs = heads.Inputs.draw(20, 8, 31, CPU)
    loss, hidden_grad, weight_grad = heads.reference(inputs)
    wrong = loss, hidden_grad * 1.5, torch.zeros_like(weight_grad)
    assert heads.relative_errors(wrong, (loss, hidden_grad, weight_grad)) == pytest.approx((0, 0.5, 1))


def test_the_table_has_a_row_for_every_way_and_the_rates_follow_from_the_times(
    heads: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = importlib.import_module("bench_head")
    bench.main(["--case", "tiny", "--precision", "fp32", "--rounds", "1", "--no-memory", "--device", "cpu"])
    first, _, _, header, product, *rows = capsys.readouterr().out.splitlines()
    assert torch.__version__ in first and "fp32" in first
    assert max(map(len, [header, *rows])) <= 100
    assert "matrix product" in product
    names = [way.name for way in heads.ways((128, 256, 512), CPU, compiled=False)]
    assert [row[6:29].strip() for row in rows] == names
    assert float(rows[0].split()[3]) == 1, "the ratio of full to itself"
    bench.main(["--case", "tiny", "--heads", "recomp", "--precision", "fp32", "--rounds", "1", "--no-memory"])
    (row,) = [line for line in capsys.readouterr().out.splitlines()[4:] if "matrix product" not in line]
    assert row[6:16] == "recomputed"


def test_the_growth_of_a_head_is_measured_in_a_process_of_its_own(heads: ModuleType) -> None:
    bench = importlib.import_module("bench_head")
    case = bench.Case(512, 8, 32_768)
    race = bench.Bench(CPU, (128,))
    full = next(way for way in race.ways if way.name == heads.FULL)
    grown = race.growth(case, full, case.draw(CPU), "fp32")
    logits = 4 * case.num_rows * case.vocab_size
    assert 1.9 * logits < grown < 4 * logits, "the logits and their gradient at least"
