"""Finished runs are compared from where they lie, as they were compared before."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.support.finished_runs import store_run
from tests.support.small_runs import small_experiment
from tiedlm.comparison.analyses.noise_floor import NoiseFloor
from tiedlm.comparison.comparison import COMPARISON_FILE, Pending, load_comparison, store_comparison
from tiedlm.comparison.gather import gather
from tiedlm.config.base import ConfigError
from tiedlm.experiment.expand import expand
from tiedlm.experiment.plan import plan


def experiment_in(folder: Path, *settings: str) -> Path:
    """Three seeds with a noise floor, finished and not yet compared."""
    asked = small_experiment(folder, "seeds=[0, 1, 2]", "noise_floor=true", *settings)
    draw = np.random.default_rng(0)
    for run in plan(expand(asked, folder / "runs", folder / "cache"), folder / "runs"):
        store_run(run, draw)
    return folder / "runs" / "small"


@pytest.mark.parametrize(("baseline", "other"), [("tied", "untied"), ("untied", "tied")])
def test_what_was_added_comes_last_and_is_never_the_primary_comparison(
    tmp_path: Path, baseline: str, other: str
) -> None:
    """By name, tied+redrawn would stand between tied and untied."""
    comparison = gather([experiment_in(tmp_path, f"baseline={baseline}")], baseline)
    assert [variant.name for variant in comparison.variants] == ["tied", "untied", f"{baseline}+redrawn"]
    assert (comparison.baseline, comparison.primary) == (baseline, other)
    assert {found.variant for found in comparison.differences} == {other}
    floor = comparison.analysis(NoiseFloor)
    assert floor is not None
    assert (floor.of, len(floor.per_seed)) == (baseline, 3)


def test_the_baseline_stays_that_of_the_stored_comparison(tmp_path: Path) -> None:
    home = experiment_in(tmp_path, "baseline=tied")
    assert gather([home]).baseline == "untied", "where nothing is stored"
    told = gather([home], "tied")
    assert gather([home]) == told


def test_a_comparison_from_before_an_analysis_was_added_is_made_anew(tmp_path: Path) -> None:
    home = experiment_in(tmp_path)
    first = gather([home])
    stored = json.loads((home / COMPARISON_FILE).read_text())
    del stored["noise_floor"]
    (home / COMPARISON_FILE).write_text(json.dumps(stored))
    assert load_comparison(home).analysis(NoiseFloor) is None
    assert gather([home]) == load_comparison(home) == first
    assert first.analysis(NoiseFloor) is not None


def test_a_result_whose_config_is_gone_is_named_and_not_left_out(tmp_path: Path) -> None:
    home = experiment_in(tmp_path)
    lost = home / "tied" / "seed-1"
    (lost / "config.yaml").unlink()
    for folder in (home, lost):
        with pytest.raises(ConfigError, match=r"seed-1: has a result but no config\.yaml"):
            gather([folder])


@pytest.mark.parametrize("size", [0.0, -1.0, math.nan, math.inf])
def test_a_smallest_size_that_is_none_is_refused(tmp_path: Path, size: float) -> None:
    with pytest.raises(ConfigError, match=r"--smallest-worthwhile: .*: must be above 0 and finite"):
        gather([experiment_in(tmp_path)], smallest_worthwhile=size)


def test_what_was_begun_or_planned_and_is_not_finished_is_still_to_come(tmp_path: Path) -> None:
    """An experiment that was broken off in the middle has no verdict but the one so far."""
    home = experiment_in(tmp_path)
    whole_one = gather([home])
    assert (whole_one.pending, "so far" in whole_one.verdict) == ([], False)
    (home / "tied" / "seed-2" / "result.json").unlink()
    shutil.rmtree(home / "untied" / "seed-2")
    begun = gather([home])
    assert [(run.variant, run.seed) for run in begun.pending] == [("tied", 2)]
    assert "3 seeds, so far; " in begun.verdict
    planned = begun.model_copy(update={"pending": [*begun.pending, Pending(variant="untied", seed=2)]})
    store_comparison(planned, home)
    assert [(run.variant, run.seed) for run in gather([home]).pending] == [("tied", 2), ("untied", 2)]
