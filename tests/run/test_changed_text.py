"""A run is that of a text, whatever the text's file is called: other content under the same name is another run."""

import gzip
import shutil
from pathlib import Path

import pytest

from tests.support.small_runs import Heard, carry_out, small_run, stop_at
from tiedlm.config.base import ConfigError
from tiedlm.data import identity, python_docs
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment.carry_out import train
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run

TEXT = "text.txt"


def rewrite(folder: Path) -> None:
    path = folder / TEXT
    path.write_text(path.read_text(encoding="utf-8").replace("too", "also"), encoding="utf-8")


def named(path: Path, folder: Path) -> Run:
    """The same run with its text under another path."""
    return small_run(folder, f"data.corpus.file={path}")


def refused(run: Run) -> str:
    with pytest.raises(ConfigError) as error:
        RunFolder(run.directory).check_identity(run.config)
    (problem,) = error.value.problems
    assert problem.key == "data.corpus.file"
    return problem.message


def test_a_finished_run_whose_text_was_written_over_is_not_printed_as_that_of_the_new_text(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    RunFolder(run.directory).check_identity(run.config)
    rewrite(tmp_path)
    message = refused(run)
    assert str(tmp_path / TEXT) in message and "changed" in message
    assert "--fresh" in message and "another name" in message
    experiment = load_experiment(tmp_path / "small.yaml")
    with pytest.raises(ConfigError, match="changed"):
        train(experiment, run, cache_dir=tmp_path / "cache")
    assert carry_out(run, fresh=True).hashes.corpus != ""
    RunFolder(run.directory).check_identity(run.config)


def test_what_an_older_version_stored_of_its_text_is_held_against_it_too(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    RunFolder(run.directory).data_file.unlink()
    RunFolder(run.directory).check_identity(run.config)
    rewrite(tmp_path)
    assert "changed" in refused(run)


def test_a_run_under_way_does_not_go_on_with_another_text(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    with pytest.raises(Interrupted):
        carry_out(run, talk=stop_at(3))
    rewrite(tmp_path)
    with pytest.raises(ConfigError, match="changed"):
        carry_out(run)
    RunFolder(run.directory).data_file.unlink()  # as a version before this file left it
    with pytest.raises(ConfigError, match="not those that"):
        carry_out(run)
    assert not RunFolder(run.directory).data_file.exists(), "the new text is not written down as the run's"


def test_a_failure_is_kept_also_where_the_text_was_written_over_meanwhile(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.learning_rate=1e16", "training.steps=50", "training.checkpoint_every=1")
    with pytest.raises(RunError, match="the loss of step"):
        carry_out(run, talk=Heard(lambda step: rewrite(tmp_path) if step == 1 else None))
    failure = RunFolder(run.directory).failure()
    assert failure is not None and failure.kind == "diverged"


def test_the_same_text_under_another_path_is_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    (tmp_path / "elsewhere").mkdir()
    copy = Path(shutil.copy(tmp_path / TEXT, tmp_path / "elsewhere" / "moved.txt"))
    packed = tmp_path / "moved.txt.gz"
    packed.write_bytes(gzip.compress(copy.read_bytes()))
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / TEXT).unlink()
    for path in (copy, Path("moved.txt"), Path("../elsewhere/moved.txt"), packed):
        other = named(path, tmp_path)
        RunFolder(run.directory).check_identity(other.config)
        assert carry_out(other).seconds == RunFolder(run.directory).result().seconds  # type: ignore[union-attr]


def test_other_content_under_another_path_is_another_run(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    kept = Path(shutil.copy(tmp_path / TEXT, tmp_path / "kept.txt"))
    rewrite(tmp_path)
    other = Path(shutil.move(tmp_path / TEXT, tmp_path / "other.txt"))
    message = refused(named(other, tmp_path))
    assert str(other) in message and "something else" in message
    RunFolder(run.directory).check_identity(named(kept, tmp_path).config)


def test_a_text_that_is_gone_is_no_reason_not_to_print(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    (tmp_path / TEXT).unlink()
    RunFolder(run.directory).check_identity(run.config)
    message = refused(named(tmp_path / "nowhere.txt", tmp_path))
    assert "not there to be compared" in message


def test_a_run_begun_by_an_older_version_is_told_by_its_path(tmp_path: Path) -> None:
    """It said nothing of its text that could be compared."""
    run = small_run(tmp_path)
    RunFolder(run.directory).claim(run.config)
    RunFolder(run.directory).check_identity(run.config)
    shutil.copy(tmp_path / TEXT, tmp_path / "copy.txt")
    assert "is another file" in refused(named(tmp_path / "copy.txt", tmp_path))


def test_one_file_and_three_files_of_the_same_splits_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    three = {name: str(tmp_path / TEXT) for name in ("train", "validation", "test")}
    files = ", ".join(f"{name}: {path}" for name, path in three.items())
    other = small_run(tmp_path, f"data.corpus={{type: text, {files}}}")
    with pytest.raises(ConfigError):
        RunFolder(run.directory).check_identity(other.config)


def test_the_documentation_of_another_python_is_another_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("data.corpus={type: python-docs}", "training.steps=2", "training.batch_size=1")
    run, files = small_run(tmp_path, *settings), python_docs._source_files
    few = [name for name in files(python_docs._standard_library()) if "/" not in name][:60]
    monkeypatch.setattr(python_docs, "_source_files", lambda root: few)
    carry_out(run, cache=tmp_path / "cache")
    monkeypatch.setattr("tiedlm.data.python_docs.platform.python_version", lambda: "3.99.1")
    RunFolder(run.directory).check_identity(run.config)  # another Python, the same text
    monkeypatch.setattr(python_docs, "_source_files", lambda root: few[1:])
    identity._sha256_of_text.cache_clear()  # no Python changes while it runs
    with pytest.raises(ConfigError, match=r"data\.corpus: .*documentation of Python .*3\.99\.1.*--fresh"):
        RunFolder(run.directory).check_identity(run.config)
