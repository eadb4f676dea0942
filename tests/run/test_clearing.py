"""What `--fresh` removes of a run, links in it, and what is left where it cannot."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.finished_runs import run_result
from tests.support.small_runs import carry_out, small_run
from tiedlm.config.base import ConfigError
from tiedlm.errors import RunError
from tiedlm.run.find import holds_runs
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Layout


@pytest.fixture
def finished(tmp_path: Path) -> RunFolder:
    """The folder of a finished run with a checkpoint."""
    run = small_run(tmp_path)
    store = RunFolder(run.directory)
    store.claim(run.config)
    store.finish(run_result())
    (store.checkpoints / "step-6").mkdir(parents=True)
    store.metrics_file.touch()
    return store


def content(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("name", ["checkpoint", "evaluation", "tensorboard", "wandb", "result.json", "metrics.jsonl"])
@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_links_are_removed_and_not_what_they_lead_to(finished: RunFolder, name: str, target: str) -> None:
    place, kept = finished.path / name, finished.path.parent / "elsewhere" / "kept"
    kept.parent.mkdir()
    kept.write_text("mine")
    shutil.rmtree(place, ignore_errors=True)
    place.unlink(missing_ok=True)
    place.symlink_to(f"../{target}")
    finished.clear()
    assert list(finished.path.iterdir()) == []
    assert kept.read_text() == "mine"


def test_where_one_thing_cannot_be_moved_all_is_as_it_was(finished: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder on a disk of its own cannot be: only the system call is put in its place."""
    before, rename = content(finished.path), Path.rename

    def busy(self: Path, target: Path) -> Path:
        if self == finished.metrics_file:
            raise OSError(16, "Device or resource busy", str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", busy)
    with pytest.raises(RunError, match=r"metrics.jsonl: Device or resource busy") as error:
        finished.clear()
    assert error.value.kind == "disk"
    assert "is as it was" in str(error.value)
    assert {path: data for path, data in content(finished.path).items() if ".part" not in path} == before


@pytest.mark.parametrize("calls", range(5))
def test_killed_at_any_moment_there_is_no_result_without_the_rest(
    finished: RunFolder, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    left = [calls]

    def counted(name: str) -> None:
        original = getattr(Path, name)

        def call(self: Path, *arguments: object, **named: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return original(self, *arguments, **named)

        monkeypatch.setattr(Path, name, call)

    for name in ("rename", "unlink"):
        counted(name)
    try:
        finished.clear()
    except KeyboardInterrupt:
        whole = finished.metrics_file.exists() and (finished.checkpoints / "step-6").exists()
        assert whole or not finished.result_file.exists()
        assert finished.config_file.exists(), "what is left still says whose it is"
    monkeypatch.undo()
    with finished.lock():
        assert not list(finished.path.glob(".*"))


@pytest.mark.parametrize("name", ["checkpoint", "evaluation"])
def test_a_dead_link_is_told_before_anything_trains_and_fresh_removes_it(tmp_path: Path, name: str) -> None:
    run = small_run(tmp_path)
    place = run.directory / name
    run.directory.mkdir(parents=True)
    place.symlink_to("nowhere")
    with pytest.raises(
        RunError, match=rf"{name} is a link to nowhere, which is not there; --fresh removes it"
    ) as error:
        carry_out(run)
    assert error.value.kind == "disk"
    assert "full" not in str(error.value)
    assert not (run.directory / "metrics.jsonl").exists()
    carry_out(run, fresh=True)
    assert not place.is_symlink() and place.is_dir()


def test_a_checkpoint_folder_that_leads_elsewhere_is_written_there(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    (tmp_path / "large-disk").mkdir()
    run.directory.mkdir(parents=True)
    (run.directory / "checkpoint").symlink_to(tmp_path / "large-disk")
    carry_out(run)
    assert [path.name for path in (tmp_path / "large-disk").iterdir()] == ["step-6"]
    RunFolder(run.directory).drop_checkpoints()
    assert not os.path.lexists(run.directory / "checkpoint")
    assert [path.name for path in (tmp_path / "large-disk").iterdir()] == ["step-6"]


def test_a_dead_link_in_place_of_the_run_is_named(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    run.directory.parent.mkdir(parents=True)
    run.directory.symlink_to("nowhere")
    with pytest.raises((RunError, ConfigError), match="seed-0 is a link to nowhere, which is not there"):
        carry_out(run)


def test_a_folder_holds_runs_by_what_lies_in_it(tmp_path: Path, finished: RunFolder) -> None:
    assert holds_runs(finished.path)
    assert holds_runs(finished.path.parent.parent)
    (tmp_path / "other" / "deep").mkdir(parents=True)
    assert not holds_runs(tmp_path / "other")
    Layout(tmp_path / "other").tuning_run_dir("tied", "lr", 0).mkdir(parents=True)
    assert holds_runs(tmp_path / "other")
