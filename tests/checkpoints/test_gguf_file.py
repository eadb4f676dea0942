"""GGUF files, written by the library of llama.cpp: a missing output.weight is tied."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.planted_checkpoints import D, V, matrices
from tiedlm.checkpoints.audit import audit_path
from tiedlm.errors import ConfigError

gguf = pytest.importorskip("gguf", reason="needs the extra gguf")


def write(path: Path, **matrices: np.ndarray) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    for name, matrix in matrices.items():
        writer.add_tensor(f"{name}.weight", matrix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_without_a_head_it_is_tied_and_with_one_the_bytes_decide(tmp_path: Path) -> None:
    first, second = matrices()
    cases = {
        "tied": ({"token_embd": first}, None),
        "untied": ({"token_embd": first, "output": second}, False),
        "untied_equal": ({"token_embd": first, "output": first.copy()}, True),
    }
    for verdict, (stored, equal) in cases.items():
        audit = audit_path(write(tmp_path / f"{verdict}.gguf", **stored))
        assert (audit.verdict, audit.document()["equal"], audit.flag) == (verdict, equal, None)
        assert audit.pair.input and (audit.pair.input.shape, audit.pair.input.dtype) == ((V, D), "F32")


def test_two_formats_are_two_matrices(tmp_path: Path) -> None:
    first, _ = matrices()
    audit = audit_path(write(tmp_path / "model.gguf", token_embd=first, output=first.astype(np.float16)))
    assert (audit.verdict, audit.document()["equal"], audit.findings) == ("untied", None, ())
    assert audit.document()["equal_in_words"] == "not comparable"


def test_a_damaged_file_is_refused_in_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", token_embd=matrices()[0])
    whole = path.read_bytes()
    for raw in (b"", b"GGUF", whole[:40], whole[:-100], b"FUGG" + whole[4:], whole[:8] + b"\xff" * 16 + whole[24:]):
        path.write_bytes(raw)
        with pytest.raises(ConfigError, match=r"too few|is damaged|ends before|no GGUF") as caught:
            audit_path(path)
        assert len(str(caught.value).splitlines()) == 1


def test_where_the_package_is_absent_the_line_that_installs_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "model.gguf", token_embd=matrices()[0])
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ConfigError, match=r"pip install 'tiedlm\[gguf\]'"):
        audit_path(path)
