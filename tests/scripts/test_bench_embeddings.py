"""Every measure of embeddings has a line with its time, its memory and its figure beside the one by chance."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("bench_embeddings")


def test_each_measure_has_a_line(bench: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    bench.main(["--vocab", "3000", "--dim", "24", "--queries", "500"])
    first, header, *rows = capsys.readouterr().out.splitlines()
    assert "V=3,000, D=24" in first and len({len(line) for line in (header, *rows)}) == 1 and len(header) <= 80
    lines = {cells[0]: cells for cells in map(str.split, rows)}
    assert len(lines) == 10
    for name in ("isotropy", "rank", "distance"):
        assert float(lines[name][-2]) == pytest.approx(float(lines[name][-1]), rel=0.03)
    for name in ("identity", "orthogonal", "linear", "cka", "symmetry", "neighbours", "frequency"):
        assert abs(float(lines[name][-2])) < 0.05


def test_a_measure_that_is_none_is_refused(bench: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["--vocab", "50", "--dim", "4", "--measures", "size"])
    assert "--measures size: not one of identity," in capsys.readouterr().err
