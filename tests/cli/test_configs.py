"""`tiedlm configs`: what comes with the package can be listed, read and taken along."""

import json
from pathlib import Path

import pytest

from cli.main import main
from tiedlm.config.base import ConfigError
from tiedlm.config.copying import copy_config, purpose
from tiedlm.config.file import read_config
from tiedlm.config.find import packaged_configs
from tiedlm.experiment.reading import is_shape, load_experiment, load_shape


def test_the_list_names_each_with_its_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["configs", "--json"], ["configs", "list", "--json"]):
        assert main(words) == 0
        listed = json.loads(capsys.readouterr().out)["configs"]
        assert [config["name"] for config in listed] == list(packaged_configs())
        assert all(config["purpose"] for config in listed)
    assert main(["configs"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in packaged_configs())


def test_a_purpose_is_a_whole_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("# For those who\n# want it. And others.\n# More.\nname: x  # not this\n")
    assert purpose(path) == "For those who want it. And others."
    path.write_text("name: x\n")
    assert purpose(path) == ""


def test_a_config_is_shown_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "show", "quickstart"]) == 0
    written = packaged_configs()["quickstart.yaml"].read_text(encoding="utf-8")
    assert capsys.readouterr().out == written
    assert main(["configs", "show", "quickstart", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == written


@pytest.mark.parametrize("name", packaged_configs())
def test_a_copy_means_what_the_original_means(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is used beside the copy: texts of the user's that a packaged config names lie where he starts."""
    monkeypatch.chdir(tmp_path)
    first, *_ = copy_config(name, tmp_path).configs
    assert first.parent == tmp_path
    assert read_config(first) == read_config(packaged_configs()[name])
    load = load_shape if is_shape(first) else load_experiment
    assert load(first) == load(name)


def test_a_copy_under_another_name_is_another_experiment(tmp_path: Path) -> None:
    (copied,) = copy_config("quickstart", tmp_path / "mine.yaml").configs
    original = packaged_configs()["quickstart.yaml"]
    assert read_config(copied) == {**read_config(original), "name": "mine"}
    assert purpose(copied) == purpose(original)
    (shape,) = copy_config("gpt2", tmp_path / "small.yaml").configs
    assert load_shape(shape) == load_shape("gpt2")


def test_a_copy_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "mine.yaml"
    assert main(["configs", "copy", "quickstart", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}\n"
    target.write_text("name: mine\n")
    assert main(["configs", "copy", "quickstart", str(target)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert target.read_text() == "name: mine\n"


def test_what_a_config_extends_comes_along_or_nothing_does(tmp_path: Path) -> None:
    (tmp_path / "from" / "deep").mkdir(parents=True)
    (tmp_path / "to").mkdir()
    (tmp_path / "from" / "a.yaml").write_text("extends: deep/b.yaml\nx: 1\n")
    (tmp_path / "from" / "deep" / "b.yaml").write_text("y: 2\n")
    (tmp_path / "from" / "deep" / "c.yaml").write_text("extends: ../a.yaml\n")
    copies = copy_config(str(tmp_path / "from" / "a.yaml"), tmp_path / "to").configs
    assert copies == [tmp_path / "to" / "a.yaml", tmp_path / "to" / "deep" / "b.yaml"]
    assert read_config(copies[0]) == {"y": 2, "x": 1}
    with pytest.raises(ConfigError, match="outside its folder"):
        copy_config(str(tmp_path / "from" / "deep" / "c.yaml"), tmp_path / "to")
    assert not (tmp_path / "to" / "c.yaml").exists()
