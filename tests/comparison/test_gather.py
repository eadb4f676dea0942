"""Finished runs are compared from where they lie, as they were compared before."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.finished_runs import store_run
from tests.support.small_runs import small_experiment, small_run
from tiedlm.comparison.analyses.noise_floor import NoiseFloor
from tiedlm.comparison.comparison import COMPARISON_FILE, Pending, load_comparison, store_comparison
from tiedlm.comparison.gather import gather
from tiedlm.config.base import ConfigError
from tiedlm.experiment.expand import expand
from tiedlm.experiment.plan import plan
from tiedlm.run.folder import RunFolder
from tiedlm.run.result import RunFailure


def experiment_in(folder: Path, *settings: str) -> Path:
    """Three seeds with a noise floor, finished and not yet compared."""
    asked = small_experiment(folder, "seeds=[0, 1, 2]", "noise_floor=true", *settings)
    draw = np.random.default_rng(0)
    for run in plan(expand(asked, folder / "runs", folder / "cache"), folder / "runs"):
        store_run(run, draw)
    return folder / "runs" / "small"


def test_where_no_run_is_finished_those_that_failed_are_named(tmp_path: Path) -> None:
    run = plan(small_experiment(tmp_path), tmp_path / "runs")[0]
    store = RunFolder(run.directory)
    store.claim(run.config)
    with pytest.raises(ConfigError, match=r"no run there is finished yet$"):
        gather([store.path])
    failure = RunFailure(variant=run.config.variant, seed=run.config.seed, kind="diverged", message="the loss is nan")
    store.fail(run.config, failure)
    label = f"{run.config.variant} seed {run.config.seed}"
    with pytest.raises(ConfigError, match=f"no run there is finished yet; {label} failed: the loss is nan$"):
        gather([store.path])


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


def test_names_come_from_the_configs_and_not_from_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies, links and renamed folders are the runs that they were."""
    home = experiment_in(tmp_path)
    before = gather([home])
    store_comparison(before, home)
    (home / "tied").rename(home / "old")
    (home / "untied" / "seed-1").rename(home / "untied" / "once more")
    after = gather([home.rename(tmp_path / "moved")])
    assert after == before.model_copy(update={"sources": after.sources})
    phantom = [Pending(variant="old", seed=seed) for seed in (0, 1, 2)]
    store_comparison(after.model_copy(update={"pending": phantom, "edition": 8, "sources": {}}), tmp_path / "moved")
    assert gather([tmp_path / "moved"]).pending == [], "an older version took the folder's name for a variant"
    (tmp_path / "copies").mkdir()
    copies = [tmp_path / "copies" / name for name in ("a", "b")]
    for copy, variant in zip(copies, ("old", "untied"), strict=True):
        shutil.copytree(tmp_path / "moved" / variant / "seed-0", copy)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "moved" / "old" / "seed-2")
    mixed = gather([*copies, link, tmp_path / "moved" / "untied" / "seed-2"])
    assert (mixed.experiment, mixed.pending) == ("small", [])
    assert {variant.name: variant.seeds for variant in mixed.variants} == {"tied": [0, 2], "untied": [0, 2]}
    monkeypatch.chdir(copies[0])
    alone = gather([Path()])
    assert [(alone.experiment, variant.name, variant.seeds) for variant in alone.variants] == [("small", "tied", [0])]


def experiment_of_recipes(folder: Path) -> Path:
    """Of two recipes with a run each, and without a comparison of both."""
    for recipe in ("plain", "other"):
        run = small_run(folder)
        of_recipe = replace(run, config=run.config.model_copy(update={"part": recipe}))
        store_run(of_recipe, np.random.default_rng(0))
    return folder / "runs" / "small"


def test_recipes_without_their_comparison_are_sent_to_their_config(tmp_path: Path) -> None:
    home = experiment_of_recipes(tmp_path)
    way_out = r"`tiedlm compare` with their config makes one; or name the folder of one of them"
    for damaged in (False, True):
        if damaged:
            (home / COMPARISON_FILE).write_text("{")
        with pytest.raises(ConfigError, match=f"small: holds other, plain, but no {COMPARISON_FILE}.*: {way_out}"):
            gather([home])
    with pytest.raises(ConfigError, match="name it alone"):
        gather([home, home / "plain"])


def test_runs_of_two_recipes_are_not_said_to_be_of_one(tmp_path: Path) -> None:
    home = experiment_of_recipes(tmp_path)
    with pytest.raises(ConfigError, match=r"other.tied.seed-0 both hold tied seed 0: give one of them"):
        gather([home / "plain", home / "other"])


def test_two_folders_with_one_run_are_both_named(tmp_path: Path) -> None:
    home = experiment_in(tmp_path)
    one, other = home / "tied" / "seed-0", home / "tied" / "seed-0-copy"
    shutil.copytree(one, other)
    for paths in ([home], [one, other]):
        with pytest.raises(ConfigError) as error:
            gather(paths)
        assert str(error.value) == f"{one} and {other} both hold tied seed 0: give one of them"
    link = tmp_path / "link"
    link.symlink_to(one)
    assert gather([one, link]).variants[0].seeds == [0], "a link is the folder itself"


def test_seeds_that_are_equal_within_and_not_with_each_other_make_no_figure(tmp_path: Path) -> None:
    """As when the text was written over between them, by a version of the program that did not look."""
    home = experiment_in(tmp_path)
    first = gather([home])
    for file in home.glob("*/seed-1/result.json"):
        document = json.loads(file.read_text())
        document["hashes"] |= {"corpus": "0ther" * 8, "tokens": "0ther" * 8}
        file.write_text(json.dumps(document))
    with pytest.raises(ConfigError, match=r"text: .*tied seed 0.* against .*tied seed 1.*--fresh"):
        gather([home])
    stored = json.loads((home / COMPARISON_FILE).read_text())
    assert stored["verdict"] == first.verdict, "what was stored before stays"
    alike = gather(sorted(home.glob("*/seed-[02]")))
    assert {tuple(variant.seeds) for variant in alike.variants} == {(0, 2)}
