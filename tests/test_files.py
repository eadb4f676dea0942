"""Files are whole or not there."""

import os
import stat
import threading
from pathlib import Path

import pytest

from tiedlm.errors import RunError
from tiedlm.files import atomic_path, write_atomic


def test_what_is_written_is_there_under_its_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file.json"
    write_atomic(path, "ē\n")
    assert path.read_bytes() == "ē\n".encode()
    write_atomic(path, b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert [item.name for item in path.parent.iterdir()] == ["file.json"]


def test_a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, "old")
    with pytest.raises(ZeroDivisionError), atomic_path(path) as partial:
        partial.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path, seen, done = tmp_path / "file", set[bytes](), threading.Event()
    write_atomic(path, b"a" * 100_000)

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for letter in (b"b", b"c", b"d", b"e") * 3:
        write_atomic(path, letter * 100_000)
    done.set()
    reader.join()
    assert all(len(content) == 100_000 and len(set(content)) == 1 for content in seen)


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "file", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    path = tmp_path / "file" / "inside"
    with pytest.raises(RunError) as caught:
        write_atomic(path, "x")
    assert caught.value.kind == "disk"
    assert str(path) in str(caught.value)


def test_what_is_no_ordinary_file_is_left_alone(tmp_path: Path) -> None:
    """A rename onto a device or a pipe would do away with it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(RunError, match="no ordinary file"):
        write_atomic(pipe, "text")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_one_and_the_file_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
