"""The grid of settings to try: what it may name, how it is read, how its points are called."""

import json
from typing import Any

import pytest

from tests.support.experiment_file import EXPERIMENT
from tiedlm.config.base import ConfigError
from tiedlm.config.yaml_core import load_yaml
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.grid import settings_name, short_key
from tiedlm.experiment.reading import experiment_from
from tiedlm.experiment.search import Search

RATES = "tune={grid: {training.learning_rate: [1e-3, 2e-3]}, seeds: [100]}"


def experiment(*settings: str, text: str = EXPERIMENT) -> Experiment:
    return experiment_from(load_yaml(text, "file"), "file", settings)


def search(*settings: str, text: str = EXPERIMENT) -> Search:
    found = experiment(*settings, text=text).search
    assert found is not None
    return found


def problems(*settings: str, text: str = EXPERIMENT) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        experiment(*settings, text=text)
    assert caught.value.source == "file"
    return {problem.key: problem.message for problem in caught.value.problems}


def tune(grid: str, seeds: str = "[100]") -> str:
    return f"tune={{grid: {{{grid}}}, seeds: {seeds}}}"


def test_every_variant_gets_the_same_points_all_combinations_in_the_order_of_the_file() -> None:
    found = search(tune("training.learning_rate: [2e-3, 1e-3], model.dropout: [0, 0.1, 0.2]", "[100, 101]"))
    assert found.seeds == (100, 101)
    settings = {name: [candidate.settings for candidate in some] for name, some in found.candidates.items()}
    assert settings["tied"] == settings["untied"]
    assert settings["tied"] == [
        {"training.learning_rate": rate, "model.dropout": dropout} for rate in (2e-3, 1e-3) for dropout in (0, 0.1, 0.2)
    ]
    for candidate in found.candidates["untied"]:
        config = candidate.config
        assert (config.training.learning_rate, config.model.dropout) == tuple(candidate.settings.values())
        assert (config.variant, config.model.tying.type, config.training.steps) == ("untied", "untied", 10)


def test_until_they_are_chosen_the_variants_have_the_settings_of_the_first_point() -> None:
    text = EXPERIMENT.replace(", learning_rate: 1e-3", "")
    assert "training.learning_rate" in problems(text=text), "it is required, and only the grid gives it"
    it = experiment(tune("training.learning_rate: [4e-3, 1e-3]"), text=text)
    assert {config.training.learning_rate for config in it.variants.values()} == {4e-3}


def test_a_setting_that_others_hang_on_is_tried_as_if_it_stood_in_the_file() -> None:
    """What an optimizer fills in belongs to it: laid over a finished config it would be refused."""
    found = search(tune("training.optimizer: [sgd, adamw]")).candidates["tied"]
    assert [(one.config.training.momentum, one.config.training.betas) for one in found] == [
        (0.9, None),
        (None, (0.9, 0.95)),
    ]


def test_a_file_without_variants_can_be_tuned_too() -> None:
    raw = load_yaml(EXPERIMENT, "file")
    del raw["variants"]
    found = experiment_from(raw, settings=[RATES]).search
    assert found is not None and list(found.candidates) == ["tied"]


def test_the_command_line_reaches_into_the_grid_and_switches_it_off() -> None:
    other = search(RATES, "tune.grid.training.learning_rate=[5e-3]", "tune.seeds=[7]")
    assert [one.settings for one in other.candidates["tied"]] == [{"training.learning_rate": 5e-3}]
    assert other.seeds == (7,)
    off = experiment(RATES, "training.learning_rate=3e-3", "tune=null")
    assert off.search is None
    assert off.variants["tied"].training.learning_rate == 3e-3


@pytest.mark.parametrize(
    ("grid", "key", "words"),
    [
        ("", "tune.grid", "at least one setting"),
        ("training.learning_rate: 1e-3", "tune.grid.training.learning_rate", "0.001: must be a list"),
        ("training.learning_rate: []", "tune.grid.training.learning_rate", "must be a list"),
        ("training.learning_rate: [1e-3, x]", "tune.grid.training.learning_rate", '"x": must be a number'),
        ("training.learning_rate: [x, 1e-3]", "tune.grid.training.learning_rate", '"x": must be a number'),
        ("training.learning_rate: [1e-3, 0]", "tune.grid.training.learning_rate", "above 0"),
        ("training.learning_rate: [1e-3, 0.001]", "tune.grid.training.learning_rate", "more than once"),
        ("training.lerning_rate: [1e-3]", "tune.grid.training.lerning_rate", "did you mean training.learning_rate?"),
        ("training.min_learning_rate: [0, 1]", "tune.grid", "training.min_learning_rate: 1: training: min_learning"),
        ("training: [{learning_rate: 1}]", "tune.grid.training", "a single setting below it"),
        ("training.steps: [10, 20]", "tune.grid.training.steps", "length of training"),
        ("training.precision: [fp32, bf16]", "tune.grid.training.precision", "one for all runs"),
        ("training.device: [cpu, cuda]", "tune.grid.training.device", "how a run is carried out"),
        ("training.keep_last: [1, 2]", "tune.grid.training.keep_last", "how a run is carried out"),
        ("model.tying: [{type: tied}]", "tune.grid.model.tying", "tells the variants apart"),
        ("model.tying.type: [tied, untied]", "tune.grid.model.tying.type", "tells the variants apart"),
        ("model.tying.output_init: [copy, zero]", "tune.grid.model.tying.output_init", "unknown key"),
        ("seed: [1, 2]", "tune.grid.seed", "no setting of the model"),
        ("name: [a, b]", "tune.grid.name", "no setting of the model"),
        ("variants: [a, b]", "tune.grid.variants", "no setting of the model"),
        ("data.seq_len: [16, 32]", "tune.grid.data.seq_len", "losses could not be held against each other"),
        ("evaluation.stride: [8]", "tune.grid.evaluation.stride", "losses could not be held against each other"),
    ],
)
def test_what_cannot_be_tuned_fairly_is_refused_with_its_reason(grid: str, key: str, words: str) -> None:
    said = problems(tune(grid), "variants.tied.model.tying.type=tied")
    assert list(said) == [key]
    assert words in said[key]


@pytest.mark.parametrize(
    ("seeds", "words"),
    [("[]", "at least one"), ("[100, 100]", "more than once"), ("[100, 3]", "3 is a seed of the runs")],
)
def test_the_seeds_of_the_trials_are_others_than_those_of_the_runs(seeds: str, words: str) -> None:
    assert words in problems(tune("training.learning_rate: [1e-3]", seeds))["tune.seeds"]


def test_nothing_else_may_give_what_is_tuned() -> None:
    own = problems(RATES, "variants.tied.training.learning_rate=5e-3")
    assert list(own) == ["variants.tied.training.learning_rate"]
    assert list(problems(RATES, "training.learning_rate=5e-3")) == ["--set training.learning_rate"]
    assert list(problems(RATES, "training={learning_rate: 5e-3}")) == ["--set training.learning_rate"]
    experiment(RATES, "training.batch_size=8", "training={warmup: 2}")


def test_a_grid_that_would_never_end_is_refused() -> None:
    values = json.dumps([1e-5 * (1 + number) for number in range(40)])
    grid = f"training.learning_rate: {values}, training.weight_decay: {values}"
    assert "1,600 combinations" in problems(tune(grid))["tune.grid"]


def test_names_of_points_are_short_readable_and_their_own() -> None:
    assert short_key("training.learning_rate") == "learning_rate"
    assert short_key("model.tying.init_std") == "model.tying.init_std", "the body has one too"
    assert settings_name({"training.learning_rate": 1e-3, "model.dropout": 0.1}) == "learning_rate=0.001+dropout=0.1"
    different: list[dict[str, Any]] = [
        {"training.betas": [0.9, 0.95]},
        {"training.betas": [0.9, 0.99]},
        {"training.betas": "0.9_0.95"},
        {"training.betas": None},
        {f"model.{'x' * 200}": 1},
        {f"model.{'x' * 200}": 2},
    ]
    names = [settings_name(settings) for settings in different]
    assert len({*names}) == len(names)
    assert all(len(name) <= 100 for name in names)
    assert names == [settings_name(settings) for settings in different]
