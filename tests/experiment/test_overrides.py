"""A setting that reaches every variant does not make those alike that the file tells apart."""

import pytest

from tests.support.experiment_file import EXPERIMENT as SHORT
from tiedlm.config.base import ConfigError, Raw
from tiedlm.config.yaml_core import load_yaml
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.reading import experiment_from

EXPERIMENT = SHORT.replace("tied: {}", "tied: {model: {tying: {type: tied}}}", 1)


def experiment(*settings: str, text: str = EXPERIMENT) -> Experiment:
    return experiment_from(load_yaml(text, "file"), settings=settings)


def problems(*settings: str, text: str = EXPERIMENT) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        experiment(*settings, text=text)
    return {problem.key: problem.message for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ("model.tying.type=tied", "--set model.tying.type"),
        ("model.tying={type: untied}", "--set model.tying.type"),
        ("model.tying={}", "--set model.tying"),
        ("model.tying=null", "--set model.tying"),
        ("model={tying: {type: tied}}", "--set model.tying.type"),
        ("model={type: transformer, num_layers: 1, dim: 8, num_heads: 1}", "--set model"),
        ("model={num_layers: 1, dim: 8, num_heads: 1, tying: {type: tied}}", "--set model.tying.type"),
        ("model.type=lstm", "--set model.type"),
        ("model.tying.type.name=tied", "--set model.tying.type.name"),
    ],
)
def test_what_tells_the_variants_apart_is_not_set_for_all_of_them(setting: str, key: str) -> None:
    ((found, message),) = problems("training.steps=2", setting).items()
    assert found == key
    parts = ("model.tying.type", "tells the variants apart", 'tied: "tied"', 'untied: "untied"', "variants.tied.")
    for part in parts:
        assert part in message


def test_a_setting_of_a_mapping_above_says_that_it_would_change_the_key_too() -> None:
    ((found, message),) = problems("model.type=gpt2").items()
    assert found == "--set model.type"
    assert message.startswith("would change model.tying.type too, which is what tells the variants apart")


def test_a_key_that_one_variant_alone_gives_tells_it_apart() -> None:
    text = EXPERIMENT.replace("{type: untied}}", "{type: untied}}, training: {learning_rate: 5e-3}")
    assert text != EXPERIMENT
    ((found, message),) = problems("training.learning_rate=1e-3", text=text).items()
    assert found == "--set training.learning_rate" and "untied: 0.005" in message
    assert experiment("training.steps=3", text=text).variants["untied"].training.learning_rate == 5e-3
    changed = experiment("variants.untied.training.learning_rate=1e-3", text=text)
    assert changed.variants["untied"].training.learning_rate == 1e-3


def test_variants_that_are_equal_in_the_file_stay_so() -> None:
    text = EXPERIMENT.replace("{type: untied}", "{type: tied}")
    types = [config.model.tying.type for config in experiment("model.tying.type=untied", text=text).variants.values()]
    assert types == ["untied", "untied"]


def test_a_file_of_one_run_may_be_given_any_tying() -> None:
    raw: Raw = load_yaml(EXPERIMENT, "file")
    del raw["seeds"], raw["variants"]
    (config,) = experiment_from(raw, settings=["model.tying.type=untied"]).variants.values()
    assert config.model.tying.type == "untied"
