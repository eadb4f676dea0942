"""Config files: the values of YAML 1.2, what is refused and where, extends, --set, and where a config is found."""

import math
import os
from pathlib import Path
from typing import Any

import pytest

from tiedlm.config.base import ConfigError, Problem
from tiedlm.config.copying import copy_config
from tiedlm.config.file import MAX_BYTES, apply_settings, read_config, read_text
from tiedlm.config.find import find_config, packaged_configs, which_one
from tiedlm.config.yaml_core import dump_yaml, load_yaml


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1e-4", 0.0001),
        ("6E+3", 6000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("-1.5e3", -1500.0),
        ("010", 10),
        ("+7", 7),
        ("1_000", 1000),
        ("1_000.5", 1000.5),
        ("0o17", 15),
        ("0x1F", 31),
        ("no", "no"),
        ("off", "off"),
        ("yes", "yes"),
        ("y", "y"),
        ("12:30", "12:30"),
        ("1:30.5", "1:30.5"),
        ("2001-01-01", "2001-01-01"),
        ("1e-", "1e-"),
        ("=", "="),
        ("true", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("'true'", "true"),
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("nil", "nil"),
        ("-.inf", -math.inf),
        ("[1, no, 1e1]", [1, "no", 10.0]),
        ("{a: {b: ~}}", {"a": {"b": None}}),
    ],
)
def test_a_plain_value_means_what_yaml_1_2_says(written: str, meant: object) -> None:
    value = load_yaml(f"key: {written}", "file")["key"]
    assert value == meant
    assert type(value) is type(meant)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: 1\nb: {c: 2, c: 3}", "file:2:11", "repeated key 'c'"),
        ("a: 1\na: 2", "file:2:1", "repeated key 'a'"),
        ("a: &x 1\nb: *x", "file:2:4", "aliases"),
        ("a: !!int 3", "file:1:4", "tags"),
        ("a: !!python/object/apply:os.system [x]", "file:1:4", "tags"),
        ("1: 2", "file:1:1", "must be text"),
        ("[a]: 2", "file:1:1", "must be text"),
        ("\ta: 1", "file:1:1", "\\t"),
        ("a: [1, 2", "file:1:9", "expected ',' or ']'"),
        ("a: 1\n---\nb: 2", "file:2:1", "single document"),
        ('a: "\\ud800"', "file:1:4", "surrogate"),
        ("a: \x00", "file", "#x0000"),
        ("a: " + "9" * 5000, "file", "digits"),
        ("[" * 100_000, "file", "nested too deeply"),
        ("{a: " * 20_000, "file", "nested too deeply"),
    ],
)
def test_what_is_no_config_is_refused_with_its_place(text: str, place: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_yaml(text, "file")
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{place}: ")
    assert words in line


def test_aliases_that_explode_are_refused_before_they_do() -> None:
    laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for one, other in zip("abcdefghij", "bcdefghijk", strict=True):
        laughs += f"{other}: &{other} [{', '.join([f'*{one}'] * 9)}]\n"
    with pytest.raises(ConfigError, match=r"file:2:8: aliases"):
        load_yaml(laughs, "file")


def test_a_mapping_that_merges_itself_is_an_ordinary_key() -> None:
    assert load_yaml("<<: {a: 1}", "file") == {"<<": {"a": 1}}


def test_a_byte_order_mark_and_crlf_are_read_over(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: x\r\nmodel:\r\n  dim: 16  # \xc4\x93\r\n")
    assert read_config(path) == {"name": "x", "model": {"dim": 16}}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a: \xff\xfe", "not UTF-8 text (byte 3)"),
        (b"\x80\x02}q\x00.", "not UTF-8 text (byte 0)"),
        (b"#" * (MAX_BYTES + 1), "larger than"),
        (b"- a\n- b\n", "must hold a mapping"),
        (b"", "must hold a mapping"),
    ],
)
def test_a_file_that_holds_no_config_is_one_line(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{path}: ")
    assert words in line


def test_a_folder_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder, not a config file"):
        read_text(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_text(tmp_path / "missing.yaml")


def test_extends_is_relative_to_the_file_that_says_it(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "base.yaml").write_text("a: 1\nb: {c: 2, d: 3}\n")
    (tmp_path / "deep" / "middle.yaml").write_text("extends: ../base.yaml\nb: {c: 4}\n")
    (tmp_path / "deep" / "er" / "top.yaml").write_text("extends: ../middle.yaml\ne: 5\n")
    assert read_config(tmp_path / "deep" / "er" / "top.yaml") == {"a": 1, "b": {"c": 4, "d": 3}, "e": 5}


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("extends: b.yaml", "extends: a.yaml", "goes in a circle: a.yaml -> b.yaml -> a.yaml"),
        ("extends: a.yaml", "", "goes in a circle: a.yaml -> a.yaml"),
        ("extends: c.yaml", "", "c.yaml does not exist"),
        ("extends: " + "c" * 5000, "", "File name too long"),
        ("extends: [b.yaml]", "", "must be the name of a file"),
    ],
)
def test_an_extends_that_leads_nowhere_is_an_error_at_that_key(
    tmp_path: Path, one: str, other: str, words: str
) -> None:
    (tmp_path / "a.yaml").write_text(one)
    (tmp_path / "b.yaml").write_text(other)
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / "a.yaml")
    assert [problem.key for problem in caught.value.problems] == ["extends"]
    assert words in str(caught.value)


def test_settings_are_read_as_a_file_is() -> None:
    raw = apply_settings(
        {"model": {"dim": 16, "tying": {"type": "untied", "init_std": 1.0}}, "seeds": [0]},
        ["model.dim=32", "model.tying.type=tied", "training.learning_rate=1e-4", "seeds=[1, 2]", "a=no", "b=", "c=d=e"],
    )
    assert raw == {
        "model": {"dim": 32, "tying": {"type": "tied", "init_std": 1.0}},
        "training": {"learning_rate": 0.0001},
        "seeds": [1, 2],
        "a": "no",
        "b": None,
        "c": "d=e",
    }


@pytest.mark.parametrize("setting", ["model.dim", "=3", "model..dim=3", ".=1", ""])
def test_a_setting_that_is_no_key_and_value_is_named(setting: str) -> None:
    with pytest.raises(ConfigError, match="is not key=value"):
        apply_settings({}, [setting])


def test_what_a_config_extends_is_no_setting() -> None:
    with pytest.raises(ConfigError, match="extends: is read in a file alone: write one that extends this config"):
        apply_settings({}, ["extends=soft"])


def test_a_setting_with_a_broken_value_names_the_setting() -> None:
    with pytest.raises(ConfigError, match=r"--set a\.b:1:3: "):
        apply_settings({}, ["a.b=[1"])


AWKWARD: dict[str, Any] = {
    "floats": [1e-4, 0.1, 1e22, 1e-308, 6e-4, 3.0, -0.0, math.inf, -math.inf],
    "whole": [0, -1, 10**20],
    "text": ["no", "off", "1e-4", ".5", "010", "1_000", "0o17", "0x1F", "12:30", "null", "~", "", "true", "TRUE", "="],
    "odd": ["a: b", "- a", "# a", "é", "日本", "\x85", "\u2028", "\ufeff", "a\nb", " a ", "*x", "&x", "!x", "%", "<<"],
    "long": "word " * 100,
    "null": None,
    "no": {"yes": True, "1": [False, {"12:30": []}], "deep": {}},
}


def test_what_is_written_reads_back_as_it_was() -> None:
    read = load_yaml(dump_yaml(AWKWARD), "dump")
    assert read == AWKWARD
    assert repr(read) == repr(AWKWARD)  # 3.0 and True are still no 3 and no 1


def test_the_same_values_are_written_the_same_way_in_block_style() -> None:
    assert dump_yaml({"b": 1e-5, "a": {"c": [1, 2]}}) == "b: 1e-05\na:\n  c:\n  - 1\n  - 2\n"


def test_a_config_is_a_path_first_and_a_packaged_name_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    packaged = packaged_configs()
    name = next(iter(packaged))
    (tmp_path / name.removesuffix(".yaml")).mkdir(parents=True)
    assert find_config(name) == packaged[name]
    assert find_config(name.removesuffix(".yaml")) == packaged[name], "a folder of that name is no config"
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("name: mine\n")
    assert find_config(name) == Path(name)


@pytest.mark.parametrize("what", ["folder", "script", "binary", "empty"])
def test_what_is_no_config_hides_no_packaged_one(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if what == "folder":
        Path("quickstart").mkdir()
    else:
        contents = {"script": b"#!/bin/sh\necho: [\n", "binary": b"\x7fELF\xff\0", "empty": b""}
        Path("quickstart").write_bytes(contents[what])
    packaged = packaged_configs()["quickstart.yaml"]
    assert find_config("quickstart") == packaged
    assert which_one("quickstart") == (
        None if what == "folder" else "quickstart is the packaged config; the file quickstart here holds no config"
    )
    Path("mine.yaml").write_text("extends: quickstart\nname: mine\n")
    assert read_config(Path("mine.yaml")) == {**read_config(packaged), "name": "mine"}


def test_which_of_two_configs_a_name_means_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert which_one("quickstart") is None
    Path("quickstart.yaml").write_text("name: mine\n")
    assert find_config("quickstart") == packaged_configs()["quickstart.yaml"]
    assert which_one("quickstart") == "quickstart is the packaged config; the file here is quickstart.yaml"
    assert which_one("quickstart.yaml") is None
    Path("quickstart").write_text("name: mine\n")
    assert find_config("quickstart") == Path("quickstart")
    assert which_one("quickstart") == "quickstart is the file here; the packaged config is quickstart.yaml"
    monkeypatch.chdir(packaged_configs()["quickstart.yaml"].parent)
    assert which_one("quickstart") is None, "they are one file"


def test_a_dead_link_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "dead.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(ConfigError, match=r"dead.yaml is a link to nowhere.yaml, which is not there"):
        find_config(tmp_path / "dead.yaml")
    (tmp_path / "mine.yaml").write_text("extends: dead.yaml\n")
    with pytest.raises(ConfigError, match=r"extends: .*dead.yaml is a link to nowhere.yaml, which is not there"):
        read_config(tmp_path / "mine.yaml")


@pytest.mark.parametrize("name", ["nothing-of-that-name", "../tied.yaml", "x" * 5000, "a\0b", ""])
def test_a_config_that_is_nowhere_lists_what_is_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    with pytest.raises(ConfigError) as caught:
        find_config(name)
    assert len(caught.value.problems) == 1


def test_problems_are_lines_with_their_source() -> None:
    error = ConfigError(Problem("a.b", "is required"), Problem("", "is empty"), source="x.yaml")
    assert str(error) == "x.yaml: a.b: is required\nx.yaml: is empty"


def test_a_config_can_extend_one_that_comes_with_the_package(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: quickstart\nname: mine\n")
    raw = read_config(mine)
    assert raw["name"] == "mine"
    assert raw["data"] == read_config(find_config("quickstart"))["data"]


def test_a_pipe_is_no_config(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ConfigError, match="no ordinary file"):
        read_config(tmp_path / "pipe.yaml")


def test_copying_a_config_that_extends_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "round.yaml").write_text("extends: round.yaml\n")
    with pytest.raises(ConfigError, match="circle"):
        copy_config(str(tmp_path / "round.yaml"), tmp_path / "copies" / "round.yaml")


def test_a_config_that_extends_a_packaged_one_is_copied_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: quickstart\nname: mine\n")
    written = copy_config(str(tmp_path / "mine.yaml"), tmp_path / "copy.yaml").configs
    assert [path.name for path in written] == ["copy.yaml"]
