"""What is lacking is carried out, what failed is listed, what is there is compared."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import in_this_process
from tests.support.small_runs import (
    LONG,
    Heard,
    carry_out,
    has_trained,
    meanwhile,
    shared_cache,
    small_config,
    small_run,
    steps,
    wait_for,
)
from tiedlm.comparison.bootstrap import FEWEST_DOCUMENTS
from tiedlm.comparison.compare import compare
from tiedlm.comparison.comparison import Comparison, load_comparison
from tiedlm.comparison.gather import gather
from tiedlm.config.base import ConfigError
from tiedlm.errors import Interrupted
from tiedlm.experiment.carry_out import unfinished_runs
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan import pick, plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunResult
from tiedlm.talk import SILENT

WILD = "  wild: {model: {tying: {type: untied}}, training: {learning_rate: 1e20, max_grad_norm: null}}\n"
HUGE = "  huge: {model: {dim: 1048576, num_heads: 1}}\n"


def experiment_with(folder: Path, first: str, *settings: str) -> Experiment:
    """A variant before tied and untied."""
    return load_experiment(small_config(folder, "variants:\n", f"variants:\n{first}"), list(settings))


def compare_in(folder: Path, experiment: Experiment, shown: list[Comparison], talk: Heard | None = None) -> Comparison:
    runs, cache = folder / "runs", shared_cache()
    return compare(experiment, runs_dir=runs, cache_dir=cache, talk=talk or SILENT, show=shown.append)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Experiment, Comparison, list[Comparison], Heard]:
    """Two seeds of a variant that diverges; of the others all but tied with seed 0 was there before."""
    folder = tmp_path_factory.mktemp("compared")
    experiment = experiment_with(folder, WILD, "seeds=[0, 1]")
    for variant, seed in (("untied", 0), ("tied", 1), ("untied", 1)):
        carry_out(Run(pick(experiment, variant, seed), folder / "runs"))
    shown: list[Comparison] = []
    heard = Heard()
    with in_this_process(which=lambda run: run.config.variant == "wild"):
        return folder, experiment, compare_in(folder, experiment, shown, heard), shown, heard


def stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("*") if path.is_file()}


def test_m03_a_run_that_fails_is_listed_and_the_others_finish(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    _, _, comparison, _, heard = compared
    assert {variant.name: variant.seeds for variant in comparison.variants} == {"tied": [0, 1], "untied": [0, 1]}
    failed = [(failure.variant, failure.seed, failure.kind) for failure in comparison.failures]
    assert failed == [("wild", 0, "diverged"), ("wild", 1, "diverged")]
    assert all(f"step {failure.step}" in failure.message for failure in comparison.failures)
    assert comparison.pending == []
    assert [line for line in heard.lines if "failed" in line and "wild seed 0" in line]


def test_how_it_stands_is_shown_after_each_seed_that_leaves_others(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    _, _, comparison, (after_the_first,), _ = compared
    assert {variant.name: variant.seeds for variant in after_the_first.variants} == {"tied": [0, 1], "untied": [0, 1]}
    assert [(run.variant, run.seed) for run in after_the_first.pending] == [("wild", 1)]
    assert [failure.seed for failure in after_the_first.failures] == [0]
    assert comparison.pending == []


def test_runs_start_equal_in_processes_of_their_own_and_in_this_one(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    _, _, comparison, _, _ = compared
    (difference,) = (found for found in comparison.differences if found.split == "test")
    assert (difference.variant, difference.baseline) == ("tied", "untied")
    assert difference.pairing.level == "start+batches", difference.pairing.reasons


def test_a_second_call_starts_nothing_and_writes_nothing(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, experiment, comparison, _, _ = compared
    before = stamps(folder)
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process is started"))
    shown: list[Comparison] = []
    assert compare_in(folder, experiment, shown) == comparison
    assert (stamps(folder), shown) == (before, [])
    assert unfinished_runs(plan(experiment, folder / "runs")) == [], "what diverged would diverge again"


def test_what_is_stored_is_made_anew_when_a_result_changes(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    folder, experiment, comparison, _, _ = compared
    home, file = folder / "runs" / "small", folder / "runs" / "small" / "tied" / "seed-1" / "result.json"
    assert load_comparison(home) == comparison
    kept = file.read_text()
    changed = json.loads(kept)
    changed["splits"]["test"]["nll"] += 1
    try:
        file.write_text(json.dumps(changed))
        anew = compare_in(folder, experiment, [])
        assert anew.differences != comparison.differences
        assert load_comparison(home) == anew
        (home / "comparison.json").write_text('{"schema_version": 0}')
        assert compare_in(folder, experiment, []) == anew, "nor is one of another version a hindrance"
    finally:
        file.write_text(kept)
    assert compare_in(folder, experiment, []) == comparison


def test_a_run_is_lacking_again_when_its_result_is_gone(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    folder, experiment, _, _, _ = compared
    file = folder / "runs" / "small" / "untied" / "seed-1" / "result.json"
    kept = file.read_text()
    file.unlink()
    lacking = unfinished_runs(plan(experiment, folder / "runs"))
    file.write_text(kept)
    assert [run.label for run in lacking] == ["untied seed 1"]


def test_a_recipe_that_changed_is_refused_before_anything_trains(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    folder, _, _, _, _ = compared
    before = stamps(folder)
    other = experiment_with(folder, "  new: {model: {tying: {type: tied}}}\n", "training.batch_size=8")
    with pytest.raises(ConfigError, match="--fresh") as error:
        compare_in(folder, other, [])
    assert error.value.problems[0].key == "training.batch_size"
    assert stamps(folder) == before


def test_folders_are_compared_as_experiments_or_as_runs(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    folder, _, comparison, _, _ = compared
    home = folder / "runs" / "small"
    before = stamps(folder)
    runs = gather([home / "tied" / "seed-0", home / "untied" / "seed-0", home / "tied" / "seed-0"])
    assert stamps(folder) == before, "single runs leave no comparison behind"
    assert {variant.name: variant.seeds for variant in runs.variants} == {"tied": [0], "untied": [0]}
    assert runs.baseline == "untied"
    whole = gather([home])
    assert (whole.variants, whole.failures) == (comparison.variants, comparison.failures)
    turned = gather([home], baseline="tied")
    (ours,), (theirs,) = (
        [found.mean for found in some.differences if found.split == "test"] for some in (whole, turned)
    )
    assert ours is not None and theirs is not None
    assert ours == pytest.approx(-theirs)
    assert gather([home]) == turned, "until told otherwise"
    assert gather([home], baseline="untied") == whole


def test_the_intervals_over_documents_come_from_the_scores_of_the_runs(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    _, _, comparison, _, _ = compared
    for found in comparison.differences:
        assert found.num_documents is not None, found.text_reason
        assert (found.ci95_text is None) == (found.num_documents < FEWEST_DOCUMENTS)


def test_how_to_judge_is_kept_with_the_comparison_until_told_otherwise(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    folder, experiment, comparison, _, _ = compared
    home = folder / "runs" / "small"
    assert (comparison.primary, comparison.smallest_worthwhile) == ("wild", 0.01)
    told = gather([home], primary="tied", smallest_worthwhile=100.0)
    assert (told.primary, told.smallest_worthwhile) == ("tied", 100.0)
    assert {found.verdict for found in told.differences} == {"equal"}
    assert gather([home]) == told
    turned = gather([home], baseline="tied")
    assert (turned.primary, turned.smallest_worthwhile) == ("untied", 100.0)
    assert gather([home]) == turned
    assert compare_in(folder, experiment, []) == comparison, "a config says it itself"


def test_a_comparison_of_an_earlier_version_is_made_anew(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
) -> None:
    folder, experiment, comparison, _, _ = compared
    file = folder / "runs" / "small" / "comparison.json"
    old = json.loads(file.read_text())
    added = ("ci90_seeds", "num_documents", "text_reason", "is_primary", "p_difference", "p_equal", "num_corrected_for")
    old["schema_version"] = 1
    del old["primary"], old["smallest_worthwhile"]
    for difference in old["differences"]:
        for key in added:
            del difference[key]
    file.write_text(json.dumps(old))
    with pytest.raises(ConfigError, match=r"schema_version.*`tiedlm compare` makes it anew"):
        load_comparison(file.parent)
    assert gather([file.parent]).smallest_worthwhile == 0.01
    file.write_text(json.dumps(old))
    assert compare_in(folder, experiment, []) == comparison
    assert load_comparison(file.parent) == comparison


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"primary": "soft"}, "--primary"),
        ({"primary": "untied"}, "--primary"),
        ({"smallest_worthwhile": 0.0}, "--smallest-worthwhile"),
    ],
)
def test_a_way_to_judge_that_makes_no_sense_is_refused(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard], options: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        gather([compared[0] / "runs" / "small"], **options)
    assert caught.value.problems[0].key == key


@pytest.mark.parametrize(
    ("paths", "baseline", "message"),
    [
        (["runs/small"], "soft", "not one of tied, untied, wild"),
        (["runs"], None, "no run is there"),
        (["nowhere"], None, "no run is there"),
        (["runs/small/wild/seed-0"], None, "finished"),
    ],
)
def test_what_cannot_be_compared_is_told(
    compared: tuple[Path, Experiment, Comparison, list[Comparison], Heard],
    paths: list[str],
    baseline: str | None,
    message: str,
) -> None:
    with pytest.raises(ConfigError, match=message):
        gather([compared[0] / path for path in paths], baseline)


def test_two_single_runs_of_one_experiment_are_compared(tmp_path: Path) -> None:
    """Files of their own, one variant each, as tied.yaml and untied.yaml."""
    results: list[RunResult] = []
    for variant, other in (("tied", "untied"), ("untied", "tied")):
        line = f"  {other}: {{model: {{tying: {{type: {other}}}}}}}\n"
        experiment = load_experiment(small_config(tmp_path, line, ""))
        assert list(experiment.variants) == [variant]
        results.append(carry_out(Run(pick(experiment), tmp_path / "runs")))
    comparison = gather([tmp_path / "runs" / "small"])
    assert [variant.name for variant in comparison.variants] == ["tied", "untied"]
    for shown, result in zip(comparison.variants, results, strict=True):
        assert shown.splits["test"].nll == result.splits["test"].nll
    assert len(comparison.differences) == 2
    assert unfinished_runs(plan(load_experiment(small_config(tmp_path)), tmp_path / "runs")) == []


def test_a_folder_that_cannot_be_written_to_can_still_be_compared(tmp_path: Path) -> None:
    for variant in ("tied", "untied"):
        carry_out(small_run(tmp_path, variant=variant))
    (tmp_path / "runs" / "small" / "comparison.json").mkdir()
    assert len(gather([tmp_path / "runs" / "small"]).variants) == 2


def test_m03_a_variant_that_no_memory_holds_leaves_the_others_alone_and_is_tried_again(tmp_path: Path) -> None:
    experiment = experiment_with(tmp_path, HUGE)
    carry_out(Run(pick(experiment, "untied"), tmp_path / "runs"))
    with in_this_process():
        comparison = compare_in(tmp_path, experiment, [])
    assert [(failure.variant, failure.kind) for failure in comparison.failures] == [("huge", "out_of_memory")]
    assert [variant.name for variant in comparison.variants] == ["tied", "untied"]
    assert [run.label for run in unfinished_runs(plan(experiment, tmp_path / "runs"))] == ["huge seed 0"]


def test_an_interrupt_stops_the_comparison_and_not_only_the_run(tmp_path: Path) -> None:
    experiment = load_experiment(small_config(tmp_path), [LONG])
    first, second = plan(experiment, tmp_path / "runs")

    def act() -> None:
        wait_for(lambda: has_trained(first, 3))
        os.kill(os.getpid(), signal.SIGINT)

    with meanwhile(act), pytest.raises(Interrupted) as stopped:
        compare_in(tmp_path, experiment, [])
    assert stopped.value.exit_code == 130
    assert len(steps(first)) >= 3
    assert not second.directory.exists()
    assert RunFolder(first.directory).failure() is None


def test_started_afresh_old_results_stand_in_no_interim_comparison(tmp_path: Path) -> None:
    """The second seed's results are of before, perhaps of another recipe."""
    old = load_experiment(small_config(tmp_path, "  tied: {model: {tying: {type: tied}}}\n", ""), ["seeds=[0, 1]"])
    for run in plan(old, tmp_path / "runs"):
        carry_out(run)
    other = load_experiment(tmp_path / "small.yaml", ["seeds=[0, 1]", "training.learning_rate=2e-3"])
    shown: list[Comparison] = []
    runs, cache = tmp_path / "runs", shared_cache()
    with in_this_process():
        final = compare(other, runs_dir=runs, cache_dir=cache, fresh=True, show=shown.append)
    assert [(variant.name, variant.seeds) for variant in shown[0].variants] == [("untied", [0])]
    assert [variant.seeds for variant in final.variants] == [[0, 1]]
    assert all(RunFolder(run.directory).config() == run.config for run in plan(other, tmp_path / "runs"))


def test_seeds_of_one_name_that_are_not_one_variant_are_refused(tmp_path: Path) -> None:
    """From two experiments whose variants are called alike but were trained otherwise."""
    one = small_run(tmp_path, runs="one", seed=0)
    other = small_run(tmp_path, "training.learning_rate=5e-4", runs="other", seed=1)
    for run in (one, other):
        carry_out(run)
    with pytest.raises(ConfigError, match=r"training\.learning_rate.*not seeds of one variant"):
        gather([one.directory, other.directory])
