"""From `tune` in a file to candidates: the same draws for all variants, each within its space, and what is refused."""

import pytest

from tests.support.experiment_file import EXPERIMENT
from tiedlm.config.base import ConfigError
from tiedlm.config.yaml_core import load_yaml
from tiedlm.experiment.reading import experiment_from
from tiedlm.experiment.search import Search
from tiedlm.experiment.space import Range

RATE = "training.learning_rate: {low: 1e-4, high: 1e-2, log: true}"
OUTPUT = "training.output_learning_rate_factor"


def tune(space: str, method: str = "random", more: str = "") -> str:
    return f"tune={{method: {method}, space: {{{space}}}, trials: 5, seeds: [100]{more}}}"


def search(*settings: str) -> Search:
    found = experiment_from(load_yaml(EXPERIMENT, "file"), "file", settings).search
    assert found is not None
    return found


def problems(*settings: str) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        search(*settings)
    assert caught.value.source == "file"
    return {problem.key: problem.message for problem in caught.value.problems}


def test_candidates_are_numbered_and_their_configs_have_their_settings() -> None:
    found = search(tune(f"{RATE}, model: {{dropout: [0, 0.1]}}"))
    for name, candidates in found.candidates.items():
        assert [candidate.name for candidate in candidates] == [f"random-0{number}" for number in range(1, 6)]
        for candidate in candidates:
            config = candidate.config
            assert config.variant == name
            assert candidate.settings == {
                "training.learning_rate": config.training.learning_rate,
                "model.dropout": config.model.dropout,
            }
    tied, untied = ([one.settings for one in some] for some in found.candidates.values())
    assert tied == untied


def test_methods_share_their_draws_and_another_seed_has_others() -> None:
    def drawn(method: str, more: str = "") -> list[object]:
        return [one.settings for one in search(tune(RATE, method, more)).candidates["tied"]]

    assert drawn("random") == drawn("halving") == drawn("tpe")
    assert drawn("random", ", seed: 1") != drawn("random")


def test_a_variant_may_have_a_range_of_its_own_beside_and_in_place_of_the_others() -> None:
    own = f", variants: {{untied: {{{OUTPUT}: [1, 2], training.learning_rate: {{low: 1, high: 2}}}}}}"
    found = search(tune(RATE, more=own))
    assert {*found.space("tied")} == {"training.learning_rate"}
    assert {*found.space("untied")} == {"training.learning_rate", OUTPUT}
    assert found.space("untied")["training.learning_rate"] == Range(low=1, high=2)
    assert [axis.variants for axis in found.axes] == [["tied"], ["untied"], ["untied"]]
    for candidate in found.candidates["untied"]:
        assert candidate.config.training.output_learning_rate_factor in (1, 2)
        assert 1 <= candidate.config.training.learning_rate <= 2


def test_what_a_search_takes_is_counted() -> None:
    plain, halving = search(tune(RATE)), search(tune(RATE, "halving", ", reduction: 2, min_fraction: 0.5"))
    assert (plain.num_portions, plain.num_whole_runs, plain.num_steps(10), plain.num_waiting) == (10, 5, 50, 0)
    assert halving.num_portions == 2 * (5 + 3)
    assert halving.num_whole_runs == pytest.approx(5 / 2 + 3 / 2)
    assert (halving.num_steps(10), halving.num_waiting) == (40, 2 * 3)
    assert halving.in_words == "5 settings x 2 variants x 1 seed"


@pytest.mark.parametrize(
    ("setting", "key", "words"),
    [
        (tune(f"{OUTPUT}: {{low: 1, high: 2}}"), f"tune.space.{OUTPUT}", "belongs below tune.variants"),
        (tune(RATE, more=", variants: {tide: {model.dropout: [0]}}"), "tune.variants.tide", "tied, untied"),
        (
            tune(RATE, more=", variants: {untied: {training.steps: [1]}}"),
            "tune.variants.untied.training.steps",
            "length",
        ),
        (tune("model.dropout: {low: 0, high: 1.5}"), "tune.space.model.dropout", "1.5: must be below 1"),
        (tune("model.dropout: {low: 0}"), "tune.space.model.dropout.high", "is required"),
        (tune("model.drop: {low: 0, high: 1}"), "tune.space.model.drop", "unknown key"),
        (tune(f"{RATE}, model.dropout: [0, 0.0]"), "tune.space.model.dropout", "more than once"),
        (tune("training.keep_last: {low: 1, high: 9, step: 1}"), "tune.space.training.keep_last", "carried out"),
        (tune("model.dropout: [0, 0.1]"), "tune.trials", "5, of a space with 2 points"),
        (tune(""), "tune.space", "names no setting"),
        (tune(RATE, "halving", ", min_fraction: 0.01"), "tune.min_fraction", "fall together"),
        (tune(RATE, "grid"), "tune", "space means nothing to method: grid"),
        (tune(RATE, more=", reduction: 3"), "tune", "reduction means nothing to method: random"),
        (tune(RATE, more=", grid: {}"), "tune", "grid means nothing to method: random"),
        ("tune={method: tpe, trials: 3, seeds: [100]}", "tune", "space is required by method: tpe"),
        (f"tune={{method: tpe, space: {{{RATE}}}, seeds: [100]}}", "tune", "trials is required"),
        (f"tune={{method: best, space: {{{RATE}}}, seeds: [100]}}", "tune.method", "must be"),
    ],
)
def test_what_cannot_be_searched_is_refused_under_its_key(setting: str, key: str, words: str) -> None:
    said = problems(setting)
    assert list(said) == [key]
    assert words in said[key]


def test_rungs_in_the_warmup_are_refused() -> None:
    early = tune(RATE, "halving", ", min_fraction: 0.2, reduction: 2")
    for warmup in ("0.3", "3"):
        assert "in the warmup, 0.3 of the run" in problems(early, f"training.warmup={warmup}")["tune.min_fraction"]
    search(early, "training.warmup=0.2")


def test_nothing_else_may_give_what_is_searched() -> None:
    own = f", variants: {{untied: {{{OUTPUT}: [1, 2, 3, 4, 5]}}}}"
    assert list(problems(tune(RATE, more=own), f"variants.untied.{OUTPUT}=3")) == [f"variants.untied.{OUTPUT}"]
    assert list(problems(tune(RATE, more=own), f"training.{OUTPUT.partition('.')[2]}=3")) == [f"--set {OUTPUT}"]
