"""Files of torch.save: the same verdicts, one memory under two names, and nothing in them is run."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.planted_checkpoints import INPUT, OUTPUT, D, Stored, V, llama, tensors, write_config
from tiedlm.checkpoints.audit import audit_path
from tiedlm.errors import ConfigError

VERDICTS = {
    (True, "input"): "tied",
    (True, "unequal"): "conflict",
    (False, "unequal"): "untied",
    (False, "input"): "head_missing",
}


@pytest.mark.parametrize(("flag", "stored"), VERDICTS)
def test_a_file_of_torch_gives_the_same_verdict(flag: bool, stored: Stored, tmp_path: Path) -> None:
    write_config(tmp_path, llama(flag))
    torch.save({name: torch.from_numpy(each) for name, each in tensors(stored).items()}, tmp_path / "pytorch_model.bin")
    assert audit_path(tmp_path).verdict == VERDICTS[flag, stored]


def test_one_memory_under_two_names_is_stored_once(tmp_path: Path) -> None:
    matrix = torch.randn(V, D)
    for legacy in (False, True):
        folder = tmp_path / str(legacy)
        write_config(folder, llama(True))
        shared = {INPUT: matrix, OUTPUT: matrix}
        torch.save(shared, folder / "pytorch_model.bin", _use_new_zipfile_serialization=not legacy)
        assert (audit_path(folder).verdict, audit_path(folder).findings) == ("tied", ())
        torch.save({INPUT: matrix, OUTPUT: matrix.clone()}, folder / "pytorch_model.bin")
        assert audit_path(folder).verdict == "tied_stored_twice"
        write_config(folder, llama(False))
        torch.save(shared, folder / "pytorch_model.bin")
        assert audit_path(folder).verdict == "untied_equal"


class _RunsCode:
    def __reduce__(self) -> Any:
        return print, ("run",)


def test_a_pickle_that_would_run_code_is_refused_and_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_config(tmp_path, llama(True))
    torch.save({INPUT: torch.zeros(V, D), "more": _RunsCode()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="could run code, so it is not read"):
        audit_path(tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("legacy", [False, True])
def test_a_damaged_file_of_torch_is_refused_in_a_line_or_read(legacy: bool, tmp_path: Path) -> None:
    draw, path = random.Random(0), tmp_path / "pytorch_model.bin"
    write_config(tmp_path, llama(True))
    weights = {name: torch.from_numpy(each) for name, each in tensors("unequal").items()}
    torch.save(weights, path, _use_new_zipfile_serialization=not legacy)
    sound = path.read_bytes()
    num_refused = 0
    for _ in range(100):
        raw = bytearray(sound[: draw.choice([len(sound), draw.randrange(len(sound))])])
        start = draw.randrange(max(len(raw) - 8, 1))
        raw[start : start + 8] = draw.randbytes(draw.randrange(9))
        path.write_bytes(raw)
        try:
            assert audit_path(tmp_path).verdict in ("conflict", "tied")
        except ConfigError as error:
            num_refused += 1
            assert len(str(error).splitlines()) == 1
    assert num_refused > 20


@pytest.mark.parametrize("kind", ["meta", "sparse"])
def test_a_matrix_whose_bytes_are_not_there_in_rows_is_refused(kind: str, tmp_path: Path) -> None:
    matrix = torch.empty(V, D, device="meta") if kind == "meta" else torch.ones(V, D).to_sparse()
    write_config(tmp_path, llama(True))
    torch.save({INPUT: matrix, OUTPUT: torch.zeros(V, D)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ConfigError, match=f"'{INPUT}' is .*{kind}.*: save it as an ordinary tensor"):
        audit_path(tmp_path)
    torch.save({INPUT: torch.zeros(V, D), "other": matrix}, tmp_path / "pytorch_model.bin")
    assert audit_path(tmp_path).verdict == "tied"
