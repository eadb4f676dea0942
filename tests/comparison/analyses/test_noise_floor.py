"""A fresh draw of the embeddings alone, and what it says of a difference."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from cli.main import main
from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, compared, effective, hashes, runs
from tests.support.redrawn_runs import EXAMPLE, REDRAWN_NATS, redrawn
from tests.support.small_runs import carry_out, shared_cache, small_config
from tiedlm.comparison.analyses.noise_floor import NoiseFloor
from tiedlm.comparison.pairing import pair
from tiedlm.config.base import ConfigError
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.expand import expand
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.layout import Run
from tiedlm.run.result import RunResult


def whole_of(folder: Path, *settings: str) -> Experiment:
    return expand(load_experiment(small_config(folder), list(settings)), folder / "runs", folder / "cache")


def test_the_baseline_drawn_anew_joins_the_plan_last_where_it_is_asked_for(tmp_path: Path) -> None:
    asked = load_experiment(small_config(tmp_path), ["noise_floor=true", "baseline=tied"])
    experiment = whole_of(tmp_path, "noise_floor=true", "baseline=tied")
    assert list(whole_of(tmp_path).variants) == ["tied", "untied"]
    assert list(experiment.variants) == ["tied", "untied", "tied+redrawn"]
    assert list(experiment.variants_of_file) == list(asked.variants)
    redrawn = experiment.variants["tied+redrawn"]
    assert redrawn.added is not None
    assert (redrawn.added.role, redrawn.added.of, redrawn.embedding_draw) == ("noise_floor", "tied", 1)
    back = {"variant": "tied", "embedding_draw": 0, "added": None}
    assert redrawn.model_copy(update=back) == experiment.variants["tied"], "and nothing else differs"
    assert expand(experiment, tmp_path / "runs", tmp_path / "cache") == experiment


@pytest.mark.parametrize("taken", ["untied+redrawn", "Untied+Redrawn"])
def test_a_name_that_the_file_gives_itself_is_refused(tmp_path: Path, taken: str) -> None:
    line = f"variants:\n  {taken}: {{model: {{tying: {{type: tied}}}}}}\n"
    small_config(tmp_path, "variants:\n", line)
    experiment = load_experiment(tmp_path / "small.yaml", ["noise_floor=true"])
    with pytest.raises(ConfigError, match="give yours another") as error:
        expand(experiment, tmp_path / "runs", tmp_path / "cache")
    assert error.value.problems[0].key == f"variants.{taken}"


def test_a_name_with_no_room_for_what_is_added_is_refused(tmp_path: Path) -> None:
    name = "u" * 95
    small_config(tmp_path, "  untied:", f"  {name}:")
    experiment = load_experiment(tmp_path / "small.yaml", ["noise_floor=true", f"baseline={name}"])
    with pytest.raises(ConfigError, match="at most 100 characters"):
        expand(experiment, tmp_path / "runs", tmp_path / "cache")


@pytest.mark.parametrize("baseline", ["tied", "untied"])
def test_only_the_embeddings_start_from_other_values(tmp_path: Path, baseline: str) -> None:
    experiment = whole_of(tmp_path, "noise_floor=true", f"baseline={baseline}", "model.dropout=0.1")
    names = (baseline, f"{baseline}+redrawn")
    plain, redrawn = (carry_out(Run(pick(experiment, name), tmp_path / "runs")) for name in names)
    assert redrawn.hashes.input_embedding != plain.hashes.input_embedding
    for name in ("body", "batches", "corpus", "tokens"):
        assert getattr(redrawn.hashes, name) == getattr(plain.hashes, name), name
    assert redrawn.first_loss != plain.first_loss
    assert abs(redrawn.first_loss - math.log(257)) < 0.3
    found = pair(redrawn, plain)
    assert (found.level, found.reasons) == ("batches", ["the input embedding started from other values"])


def floor_of(*results: RunResult, baseline: str = "untied") -> NoiseFloor:
    floor = compared(*results, baseline=baseline).analysis(NoiseFloor)
    assert floor is not None
    return floor


def test_the_noise_is_the_root_mean_square_of_what_a_fresh_draw_changes() -> None:
    floor, changes = floor_of(*EXAMPLE), [0.006, -0.006, 0.007, 0.009, -0.007]
    assert (floor.variant, floor.of, floor.split, floor.seeds) == ("untied+redrawn", "untied", "test", [0, 1, 2, 3, 4])
    assert floor.per_seed == pytest.approx(changes, abs=1e-12)
    assert floor.noise == pytest.approx(math.sqrt(sum(change**2 for change in changes) / 5))
    low, high = stats.chi2.ppf([0.025, 0.975], 5)
    assert floor.noise_ci95 == pytest.approx(tuple(math.sqrt(251e-6 / end) for end in (high, low)))
    assert floor.mean == pytest.approx(0.0018)
    t_test = stats.ttest_1samp(changes, 0).confidence_interval(0.95)
    assert floor.ci95_seeds == pytest.approx((t_test.low, t_test.high))
    assert floor.sd == pytest.approx(math.sqrt((251e-6 - 5 * 0.0018**2) / 4))
    assert floor.reason is None


def test_each_difference_stands_beside_the_noise_with_what_pairing_buys() -> None:
    floor = floor_of(*EXAMPLE)
    (beside,) = floor.beside
    assert floor.noise is not None
    assert beside.variant == "tied"
    assert beside.times_noise == pytest.approx(0.0312 / floor.noise)
    assert beside.seed_correlation == pytest.approx(stats.pearsonr(TIED_NATS, UNTIED_NATS).statistic)
    welch = stats.ttest_ind(TIED_NATS, UNTIED_NATS, equal_var=False).confidence_interval(0.95)
    assert beside.unpaired_ci95 == pytest.approx((welch.low, welch.high))
    assert beside.unpaired_difference == pytest.approx(-0.0312)
    assert [beside.times_noise_reason, beside.seed_correlation_reason, beside.unpaired_reason] == [None] * 3


def test_the_interval_of_the_noise_covers_the_truth_95_times_in_100() -> None:
    """A change drawn with a known deviation over three seeds; 600 trials have a standard error of 0.9 points."""
    draw, covered, trials = random.Random(1), 0, 600
    base = runs("untied", (4.0, 4.0, 4.0))
    for _ in range(trials):
        floor = floor_of(*base, *redrawn([4.0 + draw.gauss(0, 0.01) for _ in range(3)]))
        assert floor.noise_ci95 is not None
        covered += floor.noise_ci95[0] <= 0.01 <= floor.noise_ci95[1]
    assert abs(covered / trials - 0.95) < 4 * math.sqrt(0.95 * 0.05 / trials)


def test_what_was_drawn_anew_is_judged_against_nothing() -> None:
    with_it, without = compared(*EXAMPLE), compared(*EXAMPLE[:10])
    assert (with_it.differences, with_it.verdict) == (without.differences, without.verdict)
    assert without.analysis(NoiseFloor) is None
    assert "untied+redrawn" in [variant.name for variant in with_it.variants]


def test_without_another_variant_the_noise_stands_alone() -> None:
    comparison = compared(*EXAMPLE[5:])
    floor = comparison.analysis(NoiseFloor)
    assert floor is not None
    assert (floor.beside, comparison.differences) == ([], [])
    assert "untied alone has finished" in comparison.verdict


def test_one_seed_gives_a_change_and_no_noise() -> None:
    comparison = compared(*(run for run in EXAMPLE if run.seed == 0))
    floor = comparison.analysis(NoiseFloor)
    assert floor is not None
    assert (floor.noise, floor.noise_ci95, floor.reason) == (None, None, "one seed says nothing of a spread")
    assert floor.mean == pytest.approx(0.006)
    (beside,) = floor.beside
    assert (beside.times_noise, beside.seed_correlation, beside.unpaired_ci95) == (None, None, None)
    assert all((beside.times_noise_reason, beside.seed_correlation_reason, beside.unpaired_reason))


def test_two_seeds_are_too_few_for_a_correlation_and_enough_for_the_rest() -> None:
    (beside,) = floor_of(*(run for run in EXAMPLE if run.seed < 2)).beside
    assert beside.times_noise and beside.unpaired_ci95
    assert (beside.seed_correlation, beside.seed_correlation_reason) == (
        None,
        "at least 3 seeds in common are needed",
    )


def test_a_draw_that_changes_nothing_is_no_measure() -> None:
    comparison = compared(*EXAMPLE[:10], *redrawn(UNTIED_NATS))
    floor = comparison.analysis(NoiseFloor)
    assert floor is not None
    assert (floor.noise, floor.beside[0].times_noise) == (0.0, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"effective": effective(precision="bf16")}, "precision differs"),
        ({"hashes": hashes(9, batches="x")}, "batches"),
    ],
)
def test_runs_that_differ_in_more_are_no_noise_floor(changes: dict[str, Any], reason: str) -> None:
    comparison = compared(*EXAMPLE[:10], *redrawn(REDRAWN_NATS, **changes))
    floor = comparison.analysis(NoiseFloor)
    assert floor is not None
    assert (floor.noise, floor.mean, floor.per_seed) == (None, None, [])
    assert floor.reason is not None and reason in floor.reason


def test_against_another_baseline_the_noise_is_still_of_what_was_drawn_anew() -> None:
    floor = floor_of(*EXAMPLE, baseline="tied")
    assert (floor.of, [beside.variant for beside in floor.beside]) == ("untied", ["untied"])


def test_a_against_a_through_the_command_is_exactly_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same config under two names, one carried out by the command in its own process, one in this."""
    again = "variants:\n  again: {model: {tying: {type: untied}}}\n"
    small_config(tmp_path, "variants:\n  tied: {model: {tying: {type: tied}}}\n", again)
    config, folder = tmp_path / "small.yaml", tmp_path / "runs"
    settings = ["noise_floor=true", "model.dropout=0.1"]
    experiment = expand(load_experiment(config, settings), folder, shared_cache())
    for variant in ("untied", "untied+redrawn"):
        carry_out(Run(pick(experiment, variant), folder))
    options = [word for setting in settings for word in ("--set", setting)]
    places = ["--runs-dir", str(folder), "--cache-dir", str(shared_cache())]
    assert main(["compare", str(config), *options, *places, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [variant["name"] for variant in document["variants"]] == ["again", "untied", "untied+redrawn"]
    for found in document["differences"]:
        assert (found["variant"], found["mean"], found["verdict"]) == ("again", 0.0, "no_difference")
    assert "there is no difference between again and untied" in document["verdict"]
    floor = document["noise_floor"]
    assert (floor["variant"], floor["of"], floor["seeds"]) == ("untied+redrawn", "untied", [0])
    assert floor["mean"] != 0
