"""Paths as users write them: home folders, names that cannot be, and why the system refuses one."""

import errno
import os
from pathlib import Path

import pytest

from tiedlm.errors import ConfigError, RunError
from tiedlm.files import remove, write_atomic
from tiedlm.paths import absolute, check_file, check_folder, may_be_same, reason, user_path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, and another one to work in."""
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home"


def test_a_tilde_is_the_home_folder(home: Path) -> None:
    assert user_path("~") == home
    assert user_path("~/a/b") == user_path(Path("~/a/b")) == home / "a" / "b"
    assert user_path("~root/x") == Path("~root").expanduser() / "x"
    assert user_path("a/~/b") == Path("a/~/b"), "at the start alone"
    assert user_path("./~/b") == Path("~/b"), "the way to a folder that is called so"


def test_a_file_whose_name_starts_with_a_tilde_is_that_file(home: Path) -> None:
    assert user_path("~draft.txt") == Path("~draft.txt"), "nobody is called so"
    Path("~root").write_text("a file")
    assert user_path("~root") == Path("~root")
    assert user_path("~root", base=home) == Path("~root").expanduser(), "there it is not"


def test_without_a_home_the_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    with pytest.raises(ConfigError, match=r"^--runs-dir: ~/r: no home folder is known, HOME is not set") as caught:
        user_path("~/r", "--runs-dir")
    assert caught.value.problems[0].key == "--runs-dir"
    assert user_path("r", "--runs-dir") == Path("r")


@pytest.mark.parametrize(("name", "words"), [("a\0b", "NUL"), ("\ud800", "which has no")])
def test_what_can_be_no_name_is_refused_by_its_key(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        user_path(name, "data.corpus.file")
    assert caught.value.problems[0].key == "data.corpus.file"


def test_spellings_of_a_path_are_one_absolute_path(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    for spelled in ("a.txt", "./a.txt", ".//a.txt", "real/../a.txt", str(tmp_path / "a.txt")):
        assert absolute(spelled, tmp_path) == str(tmp_path / "a.txt")
    assert absolute("link/../a.txt", tmp_path) == str(tmp_path / "real" / "a.txt"), "as the system reads it"
    (tmp_path / "current.txt").symlink_to("a.txt")
    assert absolute("current.txt", tmp_path) == str(tmp_path / "current.txt"), "the name that was chosen stays"


def test_a_path_that_no_config_could_hold_is_refused(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    with pytest.raises(ConfigError, match="no text in utf-8"):
        absolute("a.txt", folder)
    with pytest.raises(ConfigError, match="is empty"):
        absolute("", tmp_path)


@pytest.mark.parametrize(
    ("stored", "asked", "same"),
    [
        ("/x/a.txt", "/x/a.txt", True),
        ("/x/a.txt", "/y/a.txt", False),
        ("a.txt", "/y/a.txt", True),
        ("./d/../a.txt", "/y/a.txt", True),
        ("d/a.txt", "/y/a.txt", False),
        ("d/a.txt", "/y/d/a.txt", True),
        ("../a.txt", "/y/a.txt", True),
        ("b.txt", "/y/a.txt", False),
        ("..", "/y/a.txt", False),
        ("a.txt", "d/a.txt", False),
    ],
)
def test_a_relative_path_of_earlier_versions_may_be_any_that_ends_so(stored: str, asked: str, same: bool) -> None:
    assert may_be_same(stored, asked) is same
    assert may_be_same(asked, stored) is same


def test_what_stands_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "dead").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    for path, words in (
        (tmp_path / "file", "is a file, not a folder"),
        (tmp_path / "file" / "x" / "y", f"{tmp_path}/file is a file, not a folder"),
        (tmp_path / "dead", "dead is a link to nowhere, which is not there"),
        (tmp_path / "dead" / "x", "dead is a link to nowhere, which is not there"),
        (tmp_path / "round", "Too many levels of symbolic links"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(ConfigError, match=f"^--runs-dir: .*{words}"):
            check_folder(path, "--runs-dir")
    check_folder(tmp_path / "new" / "folder")
    check_folder(tmp_path)
    with pytest.raises(ConfigError, match="is a folder, not a file"):
        check_file(tmp_path)
    check_file(tmp_path / "file")
    check_file(Path("/dev/null").parent / "new")


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_a_full_disk_is_suspected_where_the_system_says_so_alone(tmp_path: Path, number: int) -> None:
    said = reason(OSError(number, os.strerror(number)), tmp_path / "x")
    assert said.startswith(os.strerror(number))
    assert said.endswith("?)") is (number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def test_a_file_that_cannot_be_written_has_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError) as caught:
        write_atomic(tmp_path / "file" / "x", "")
    assert str(caught.value) == f"{tmp_path}/file/x could not be written: {tmp_path}/file is a file, not a folder"


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").write_text("")
    for target in ("folder", "folder/kept", "nowhere"):
        (tmp_path / "link").symlink_to(target)
        remove(tmp_path / "link")
        assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "kept").exists()
    remove(tmp_path / "folder")
    remove(tmp_path / "folder")
    assert not list(tmp_path.iterdir())
