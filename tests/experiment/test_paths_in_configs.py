"""A path in a config means one file, wherever the command is started and however the path is spelled."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import TINY
from tiedlm.config.base import ConfigError, parse
from tiedlm.config.written import Written, written_in
from tiedlm.config.yaml_core import dump_yaml, load_yaml
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import experiment_from, load_experiment
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder, raw_config


def corpus(path: Path, *settings: str, variant: str = "tied") -> Any:
    return load_experiment(path, settings).variants[variant].data.corpus


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with texts and configs in it; the commands are started in another one, beside it."""
    for name in ("texts/deep", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "texts" / "base.yaml").write_text(TINY % "book.txt")
    return tmp_path / "texts"


def test_a_text_is_relative_to_the_file_that_names_it(folder: Path) -> None:
    base, top = folder / "base.yaml", folder / "deep" / "top.yaml"
    assert corpus(base).file == str(folder / "book.txt")
    assert corpus(Path("../texts/base.yaml")).file == str(folder / "book.txt")
    top.write_text("extends: ../base.yaml\nname: top\n")
    assert corpus(top).file == str(folder / "book.txt"), "said by the one below"
    top.write_text("extends: ../base.yaml\nname: top\ndata: {corpus: {file: other.txt}}\n")
    assert corpus(top).file == str(folder / "deep" / "other.txt"), "said by itself"
    top.write_text("extends: ../base.yaml\nvariants: {tied: {data: {corpus: {file: ../v.txt}}}, untied: {}}\n")
    assert corpus(top).file == str(folder / "v.txt"), "said in a variant"
    assert corpus(top, variant="untied").file == str(folder / "book.txt")


def test_a_setting_is_relative_to_the_working_folder(folder: Path) -> None:
    said = corpus(folder / "base.yaml", "data.corpus.file=mine.txt")
    assert said.file == str(folder.parent / "elsewhere" / "mine.txt")
    splits = "data.corpus={type: text, train: a, validation: ../b, test: /c}"
    said = corpus(folder / "base.yaml", splits)
    assert (said.train, said.validation, said.test) == (
        str(folder.parent / "elsewhere" / "a"),
        str(folder.parent / "b"),
        "/c",
    )


def test_texts_that_a_packaged_config_names_lie_where_the_command_is_started(folder: Path) -> None:
    here = folder.parent / "elsewhere"
    assert corpus(Path("press-wolf-small")).train == str(here / "ptb" / "ptb.train.txt")
    (folder / "mine.yaml").write_text("extends: press-wolf-small\nname: mine\n")
    assert corpus(folder / "mine.yaml").test == str(here / "ptb" / "ptb.test.txt")


def test_a_tokenizer_file_is_found_the_same_way(folder: Path) -> None:
    (folder / "base.yaml").write_text((TINY % "book.txt").replace("{type: byte}", "{type: file, path: t.json}"))
    data = load_experiment(folder / "base.yaml").variants["untied"].data
    assert data.tokenizer.model_dump()["path"] == str(folder / "t.json")


def test_slices_of_a_data_set_are_no_paths(folder: Path) -> None:
    said = corpus(folder / "base.yaml", "data.corpus={type: hub, id: a/b, train: 'train[:5%]'}")
    assert (said.train, said.test) == ("train[:5%]", "test")


def test_the_home_folder_and_names_that_cannot_be(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert corpus(folder / "base.yaml", "data.corpus.file=~/x.txt").file == str(folder / "x.txt")
    (folder / "~draft.txt").write_text("")
    (folder / "base.yaml").write_text(TINY % "~draft.txt")
    assert corpus(folder / "base.yaml").file == str(folder / "~draft.txt")
    for value, words in (('"a\\0b"', "NUL"), ('""', "is empty"), ("3", "must be text")):
        with pytest.raises(ConfigError, match=f"data.corpus.file: .*{words}") as caught:
            corpus(folder / "base.yaml", f"data.corpus.file={value}")
        assert [problem.key for problem in caught.value.problems] == ["data.corpus.file"]


def test_spellings_of_one_path_are_one_run(folder: Path) -> None:
    first = pick(load_experiment(folder / "base.yaml"), "tied")
    for spelled in ("./book.txt", "../texts/book.txt", str(folder / "book.txt")):
        (folder / "again.yaml").write_text(TINY % spelled)
        assert pick(load_experiment(folder / "again.yaml"), "tied") == first


def test_the_config_of_a_run_has_the_absolute_path_and_reads_back(folder: Path, tmp_path: Path) -> None:
    config = pick(load_experiment(folder / "base.yaml"), "tied")
    run = RunFolder(tmp_path / "run")
    run.claim(config)
    assert load_yaml(run.config_file.read_text(), "")["data"]["corpus"]["file"] == str(folder / "book.txt")
    assert run.config() == config
    assert experiment_from(raw_config(config)).variants["tied"] == config, "also as a config of its own"


def test_a_run_stored_with_a_relative_path_is_still_the_same_run(folder: Path, tmp_path: Path) -> None:
    """As earlier versions stored it; the folder that it was started in is not known any more."""
    config = pick(load_experiment(folder / "base.yaml"), "tied")
    raw = raw_config(config)
    raw["data"]["corpus"]["file"] = "book.txt"
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.config_file.write_text(dump_yaml(raw))
    run.check_identity(config)
    assert run.config() == parse(RunConfig, raw), "what is stored is no path from the folder of the run"
    with pytest.raises(ConfigError, match=r"data.corpus.file: .* was made with book.txt; .*other.txt is another"):
        run.check_identity(pick(load_experiment(folder / "base.yaml", ["data.corpus.file=other.txt"]), "tied"))
    run.checkpoints.joinpath("step-1").mkdir(parents=True)
    run.claim(config)
    assert run.config() == config, "once it goes on, its text is found from everywhere"


def test_a_text_keeps_the_folder_where_it_was_first_written(tmp_path: Path) -> None:
    first = written_in({"a": ["x", 1], "b": None}, tmp_path)
    again = written_in({**first, "c": "y"}, Path("/"))
    assert first == {"a": ["x", 1], "b": None}
    assert isinstance(again["a"][0], Written) and again["a"][0].folder == tmp_path
    assert again["c"].folder == Path("/")
    assert dump_yaml(again) == dump_yaml({"a": ["x", 1], "b": None, "c": "y"})
