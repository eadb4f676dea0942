"""A model on a hub: only the parts that are read are transferred, and what cannot be had is told in a line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.support.loopback_hub import ModelHub
from tests.support.planted_checkpoints import INPUT, OUTPUT, llama, plant, plant_shards, write_config
from tiedlm.checkpoints.audit import Audit
from tiedlm.errors import ConfigError
from tiedlm.run.audit import audit_all
from tiedlm.talk import SILENT

ID = "org/model"


@pytest.fixture(autouse=True)
def no_hub_of_the_caller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The library reads its environment when it is imported: what it keeps of it is set here too."""
    from huggingface_hub import constants

    for name in ("HF_HUB_OFFLINE", "HF_TOKEN", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "home" / "token"))
    monkeypatch.chdir(tmp_path)


@contextmanager
def hub_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    """A hub whose one model has the files of a folder."""
    hub = ModelHub(ID, {path.name: path.read_bytes() for path in folder.iterdir()})
    with hub.serve() as endpoint:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        yield hub


def audited(path: str = ID, sample: int | None = None, revision: str | None = None) -> Audit:
    (audit,) = audit_all([path], sample=sample, revision=revision, talk=SILENT).audits
    return audit


def large(folder: Path, last: float) -> Path:
    """Two matrices of 4 MiB, equal but for the last entry."""
    first = np.zeros((2**14, 64), np.float32)
    second = first.copy()
    second[-1, -1] = last
    write_config(folder, llama(True))
    save_file({INPUT: first, OUTPUT: second}, folder / "model.safetensors")
    return folder


def test_two_different_matrices_cost_a_block_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = large(tmp_path / "model", 0)
    first, second = np.zeros((2**14, 64), np.float32), np.ones((2**14, 64), np.float32)
    save_file({INPUT: first, OUTPUT: second}, folder / "model.safetensors")
    with hub_of(folder, monkeypatch):
        audit = audited()
    header = int.from_bytes((folder / "model.safetensors").read_bytes()[:8], "little")
    config = (folder / "config.json").stat().st_size
    assert (audit.path, audit.verdict, audit.document()["equal"]) == (ID, "conflict", False)
    assert audit.transferred_bytes == config + 8 + header + 2 * 64 * 1024


def test_of_equal_ones_a_few_blocks_are_compared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_of(large(tmp_path / "model", 0), monkeypatch):
        audit = audited()
        assert (audit.verdict, audit.document()["equal"]) == ("tied_stored_twice", None)
        assert audit.document()["equal_in_words"] == "equal in 8 of 64 blocks"
        assert audit.transferred_bytes and audit.transferred_bytes < 2 * 8 * 65_536 + 1000
        assert audited(sample=64).document()["equal"] is True
    with hub_of(large(tmp_path / "other", 1), monkeypatch):
        assert audited(sample=2).verdict == "conflict"


def test_only_the_shards_of_the_two_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub_of(plant_shards(tmp_path / "model", "unequal", flag=False), monkeypatch) as hub:
        assert audited(revision="main").verdict == "untied"
    asked = {line.rpartition("/")[2] for line in hub.requests if "safetensors" in line}
    shards = {"model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"}
    assert asked == shards | {"model.safetensors.index.json"}


def test_what_cannot_be_had_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub_of(plant(tmp_path / "model", llama(True), "input"), monkeypatch) as hub:
        with pytest.raises(ConfigError, match=r"org/nothing: is no path here, and no model at .* that you may read"):
            audited("org/nothing")
        hub.ranges = False
        with pytest.raises(ConfigError, match="gives whole files only: download it"):
            audited()
        hub.ranges, hub.is_gated = True, True
        with pytest.raises(ConfigError, match=r"is gated: accept its terms at .* `hf auth login` or set HF_TOKEN"):
            audited()
    with hub_of(plant(tmp_path / "model", llama(True), "input"), monkeypatch) as hub:
        hub.files["model.safetensors"] = hub.files["model.safetensors"][:-9]
        with pytest.raises(ConfigError, match="it was not written or copied whole"):
            audited()


@pytest.mark.parametrize("name", ["no/such/path", "./model", "/nowhere/model", "a b", "..", "model.safetensors"])
def test_what_can_be_no_id_is_a_path_that_is_not_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ConfigError, match=r"no such file or folder|holds no weights|is no path here"):
        audited(name)


def test_offline_a_model_of_the_cache_is_read_and_another_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import snapshot_download

    with hub_of(plant(tmp_path / "model", llama(True), "input"), monkeypatch) as hub:
        import os

        snapshot_download(ID, endpoint=os.environ["HF_ENDPOINT"])
    num_requests = len(hub.requests)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    audit = audited()
    assert (audit.path, audit.verdict, audit.transferred_bytes) == (ID, "tied", 0)
    with pytest.raises(ConfigError, match="no model in the cache, and the hub is out of reach") as caught:
        audited("org/other")
    assert len(str(caught.value).splitlines()) == 1
    assert len(hub.requests) == num_requests
