"""What is wrong with a call is said in words of Python, before anything is done."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tiedlm
from tests.support.finished_runs import example_comparison
from tests.support.small_runs import small_config, small_run
from tiedlm.comparison.comparison import store_comparison
from tiedlm.errors import RunError
from tiedlm.run.folder import RunFolder

CONFIG = "quickstart"
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no config": (lambda: tiedlm.compare("nothing"), "nothing: no such file"),
    "an unknown key": (lambda: tiedlm.compare(CONFIG, {"training.step": 3}), "did you mean training.steps?"),
    "no key": (lambda: tiedlm.compare(CONFIG, "steps"), "overrides: 'steps' is not key=value"),
    "an object": (lambda: tiedlm.compare(CONFIG, {"model.dim": object()}), "model.dim: a value of type object"),
    "a number": (lambda: tiedlm.compare(3), "3: must be a config"),  # type: ignore[arg-type]
    "a number to count": (lambda: tiedlm.count_params(3), "3: must be a config"),  # type: ignore[arg-type]
    "no folders": (lambda: tiedlm.compare([]), "an empty list: give one config, or folders of runs alone"),
    "two configs": (lambda: tiedlm.compare(["tied", "untied"]), "tied, untied: give one config"),
    "no runs": (lambda: tiedlm.compare("empty"), "empty: no run is there"),
    "training none again": (lambda: tiedlm.compare(CONFIG, fresh=True, train=False), "fresh=True: starts"),
    "a device": (lambda: tiedlm.compare(CONFIG, device="tpu"), "training.device: "),
    "a size": (lambda: tiedlm.compare(CONFIG, smallest_worthwhile=0.0), "smallest_worthwhile: 0"),
    "a baseline": (lambda: tiedlm.compare(CONFIG, baseline="tide"), "baseline: 'tide' is not one of"),
    "no variant": (lambda: tiedlm.train(CONFIG), "variant: name one of tied, untied"),
    "no part": (lambda: tiedlm.train("small.yaml", {"budgets": [1, 2]}), "part: name one of budget-1, budget-2"),
    "a seed": (lambda: tiedlm.train(CONFIG, variant="tied", seed=-1), "seed: -1: must be a whole number from 0"),
    "no folder": (lambda: tiedlm.load_comparison("nothing"), "nothing: no such folder"),
    "nothing in it": (lambda: tiedlm.load_comparison("empty"), "empty: no run is there"),
    "no run": (lambda: tiedlm.load_run("empty"), "empty holds no run"),
    "where to count": (lambda: tiedlm.count_params(CONFIG, device="tpu"), "device: 'tpu' is not one of"),
    "overrides of folders": (lambda: tiedlm.compare("begun/small", {"a": 1}), "overrides: needs a config"),
    "a baseline of folders": (lambda: tiedlm.compare("begun/small", baseline="x"), "baseline: 'x' is not one of tied"),
    "another run": (lambda: _other_run(), "fresh=True starts that run again, another name or runs_dir keeps it"),
    "windows": (lambda: _begun().evaluate(seq_len=0), "seq_len: 0: must be a whole number of at least 1"),
    "a split": (lambda: _begun().evaluate("tests"), "split: 'tests' is not one of train"),  # type: ignore[arg-type]
    "a checkpoint": (lambda: _begun().evaluate(checkpoint="x"), "checkpoint: 'x' is not"),  # type: ignore[arg-type]
    "no tokens": (lambda: _begun().generate(num_tokens=0), "num_tokens: 0: must be a whole number of at least 1"),
    "half a token": (lambda: _begun().generate(num_tokens=0.5), "num_tokens: 0.5: must"),  # type: ignore[arg-type]
    "a temperature": (lambda: _begun().generate(temperature=-1.0), "temperature: -1.0: must be a finite number"),
    "a frame": (lambda: _shown().to_frame("all"), "of: 'all' is not one of variants"),  # type: ignore[arg-type]
    "a variant": (lambda: _shown().run("tide"), "variant: 'tide' is not one of tied, untied"),
    "another seed": (lambda: _shown().run("tied", 99), "seed: 99 is not one of 0, 1"),
}


def _begun() -> tiedlm.TrainedRun:
    return tiedlm.load_run("begun/small/tied/seed-0")


def _other_run() -> object:
    return tiedlm.compare("small.yaml", {"model.dim": 32}, runs_dir="begun")


def _shown() -> tiedlm.Comparison:
    loaded = tiedlm.load_comparison("shown")
    assert isinstance(loaded, tiedlm.Comparison)
    return loaded


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, an experiment with one run that was begun, and a stored comparison."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "empty").mkdir()
    small_config(folder)
    run = small_run(folder, runs="begun")
    RunFolder(run.directory).claim(run.config)
    store_comparison(example_comparison(), folder / "shown")
    return folder


@pytest.mark.parametrize("wrong", WRONG)
def test_it_is_refused_in_one_line_and_nothing_is_printed(
    wrong: str, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    call, said = WRONG[wrong]
    monkeypatch.chdir(home)
    before = sorted(home.rglob("*"))
    with pytest.raises(tiedlm.ConfigError) as caught:
        call()
    assert said in str(caught.value)
    assert "--" not in str(caught.value) and "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "") and sorted(home.rglob("*")) == before


def test_a_fault_of_the_program_does_not_speak_of_options_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RunError("unexpected", "unexpected error (--debug shows the traceback)")

    monkeypatch.setattr("tiedlm.api.count_params.count_configs", fail)
    with pytest.raises(tiedlm.RunError, match="the cause of this exception shows the traceback"):
        tiedlm.count_params("quickstart")
