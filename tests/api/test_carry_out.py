"""The functions that train and compare do what the commands do, in silence."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tiedlm
from cli.main import main
from tests.support.in_process import in_this_process
from tests.support.small_runs import Heard, small_config
from tiedlm.api.comparison import Comparison
from tiedlm.comparison.comparison import COMPARISON_FILE
from tiedlm.config.file import read_config

SEEDS = {"seeds": [0, 1]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the config of a small experiment, which is trained."""
    folder = tmp_path_factory.mktemp("home")
    config = small_config(folder)
    with in_this_process():
        tiedlm.compare(config, SEEDS, runs_dir=folder / "runs")
    yield folder


def printed(capsys: Any, *arguments: str | Path) -> Any:
    """The JSON that `tiedlm ARGUMENTS` prints."""
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_comparison_is_that_of_the_command(home: Path, capsys: Any) -> None:
    folder = home / "runs" / "small"
    again = tiedlm.compare(home / "small.yaml", SEEDS, runs_dir=home / "runs")
    loaded = tiedlm.load_comparison(folder)
    assert isinstance(loaded, tiedlm.Comparison)
    config: list[str | Path] = ["compare", home / "small.yaml", "--set", "seeds=[0, 1]", "--runs-dir", home / "runs"]
    assert printed(capsys, *config) == again.to_dict()
    assert printed(capsys, "compare", folder) == loaded.to_dict() == tiedlm.compare(folder).to_dict()
    assert loaded.verdict == again.verdict == str(again)
    assert (loaded.variants, loaded.baseline, loaded.pending) == (["tied", "untied"], "untied", [])


def test_counts_are_those_of_the_command(home: Path, capsys: Any) -> None:
    config = home / "small.yaml"
    assert tiedlm.count_params(config) == printed(capsys, "count-params", config)
    several = tiedlm.count_params(["tied", config], {"model.dim": 24})
    assert several == printed(capsys, "count-params", "tied", config, "--set", "model.dim=24")
    mapping = read_config(config)
    assert tiedlm.count_params(mapping) == tiedlm.count_params(config)
    assert tiedlm.count_params([mapping, "gpt2"])["models"][0]["name"] == "small/tied"


def test_a_mapping_is_a_config_and_may_extend_one(home: Path) -> None:
    mapping = read_config(home / "small.yaml") | {"seeds": (0, 1)}
    same = tiedlm.compare(mapping, runs_dir=home / "runs", train=False)
    assert same.to_dict() == tiedlm.load_comparison(home / "runs" / "small").to_dict()
    extended = {"extends": str(home / "small.yaml"), "model": {"num_layers": 2}}
    (tied, _) = tiedlm.count_params(extended)["models"]
    assert tied == tiedlm.count_params(home / "small.yaml", {"model.num_layers": 2})["models"][0]


def test_without_training_what_is_missing_is_pending(home: Path, tmp_path: Path) -> None:
    found = tiedlm.compare(home / "small.yaml", {"seeds": [0, 1, 7]}, runs_dir=home / "runs", train=False)
    assert found.pending == [("tied", 7), ("untied", 7)] and ", so far" in found.verdict
    with pytest.raises(tiedlm.ConfigError, match="no run of this experiment is finished"):
        tiedlm.compare(home / "small.yaml", runs_dir=tmp_path, train=False)
    assert [*tmp_path.iterdir()] == []
    tiedlm.compare(home / "small.yaml", SEEDS, runs_dir=home / "runs", train=False)  # as it was stored before


def test_a_stored_comparison_is_loaded_without_its_runs(home: Path, tmp_path: Path) -> None:
    (tmp_path / COMPARISON_FILE).write_bytes((home / "runs" / "small" / COMPARISON_FILE).read_bytes())
    loaded = tiedlm.load_comparison(tmp_path)
    assert isinstance(loaded, tiedlm.Comparison)
    assert loaded.to_dict() == tiedlm.load_comparison(home / "runs" / "small").to_dict()
    with pytest.raises(tiedlm.ConfigError, match="the run tied, seed 0, is not in"):
        loaded.run("tied")


def test_train_returns_the_run_and_trains_it_once(home: Path) -> None:
    with in_this_process():
        run = tiedlm.train(home / "small.yaml", variant="tied", seed=3, runs_dir=home / "trained")
    assert run.result is not None and run.result.seed == 3
    written = (run.path / "result.json").stat().st_mtime_ns
    again = tiedlm.train(home / "small.yaml", variant="tied", seed=3, runs_dir=home / "trained")
    assert again.result == run.result and (run.path / "result.json").stat().st_mtime_ns == written


def test_it_may_be_called_from_any_thread(home: Path) -> None:
    """Signals are for the main thread alone; a server calls from others. The run has a process of its own."""
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(tiedlm.train, home / "small.yaml", variant="tied", runs_dir=home / "thread").result()
    assert run.result is not None


@pytest.mark.parametrize("progress", [False, True])
def test_it_speaks_on_stderr_and_only_when_asked_to(progress: bool, tmp_path: Path, capfd: Any) -> None:
    config = small_config(tmp_path, "{type: byte}", "{type: bpe, vocab_size: 9_000}")
    comparison = tiedlm.compare(config, runs_dir=tmp_path / "runs", progress=progress)
    out, err = capfd.readouterr()
    assert isinstance(comparison, Comparison)
    assert out == "" and comparison.variants == ["tied", "untied"]
    assert ("asked for 9,000 types" in err) if progress else err == ""


def test_the_worker_of_a_silent_comparison_is_silent(home: Path, tmp_path: Path) -> None:
    quiet: list[bool] = []

    def killed(run: Any, **given: Any) -> None:
        quiet.append(given["quiet"])
        raise tiedlm.RunError("killed", "by a test")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tiedlm.experiment.carry_out.run_in_child", killed)
        patch.setattr("tiedlm.api.carry_out.Talk", Heard)
        for progress in (False, True):
            tiedlm.compare(home / "small.yaml", runs_dir=tmp_path, progress=progress)
    assert quiet == [True, True, False, False]
