"""Strategies that carry a state of their own, in whole runs: stopped, resumed from files, opened again."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.small_runs import assert_same_outcome, carry_out, shared_cache, small_config, stop_at
from tiedlm.config.base import ConfigError
from tiedlm.errors import Interrupted
from tiedlm.experiment.carry_out import carry_out as carry_out_in_child
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.run_texts import RunTexts
from tiedlm.model.parameters import count_parameters
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.scores import score_split
from tiedlm.run.setup import open_run

TIE = "{type: progressive, penalty_from: 0.2, switch_at: 0.5}"
UNTIE = "{type: progressive, direction: untie, switch_at: 0.5}"
PARTIAL = "{type: partial_vocabulary, shared: 20}"


def small_run(folder: Path, tying: str, runs: str = "runs") -> Run:
    config = small_config(folder, "tied: {model: {tying: {type: tied}}}", f"mine: {{model: {{tying: {tying}}}}}")
    return Run(pick(load_experiment(config), "mine"), folder / runs)


@pytest.mark.parametrize(("tying", "stop"), [(TIE, 3), (UNTIE, 4), (PARTIAL, 2)])
def test_a_run_stopped_in_any_stage_goes_on_from_its_files_as_if_it_had_not(
    tying: str, stop: int, tmp_path: Path
) -> None:
    """Six steps: the switch comes before the fourth. The folder then holds the model that was scored."""
    stopped, straight = small_run(tmp_path, tying), small_run(tmp_path, tying, "straight")
    with pytest.raises(Interrupted):
        carry_out(stopped, talk=stop_at(stop))
    carry_out(stopped)
    result = carry_out(straight)
    assert_same_outcome(stopped, straight)
    setup = open_run(straight.directory, shared_cache())
    stored = np.load(RunFolder(straight.directory).evaluation_file("test"))["nll"]
    assert np.array_equal(score_split(setup, "test"), stored)
    assert count_parameters(setup.model, setup.config.data.seq_len) == result.parameters


@pytest.mark.parametrize(
    ("tying", "message"),
    [
        ("{type: partial_vocabulary, shared: 300}", "mine: tying.shared 300 is more than the 257 rows"),
        (
            "{type: progressive, direction: untie, switch_at: 0.9}",
            "mine: tying.switch_at 0.9 comes after the last of 6",
        ),
    ],
    ids=["rows", "steps"],
)
def test_what_does_not_fit_the_text_is_refused_before_its_siblings_train(
    tying: str, message: str, tmp_path: Path
) -> None:
    unfit = small_run(tmp_path, tying)
    experiment = load_experiment(tmp_path / "small.yaml")
    first = Run(pick(experiment, "untied"), tmp_path / "runs")
    with pytest.raises(ConfigError, match=message):
        carry_out_in_child(first, [unfit], texts=RunTexts(shared_cache()))
    assert not first.directory.exists() and not unfit.directory.exists()
