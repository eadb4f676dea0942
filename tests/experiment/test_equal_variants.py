"""Two names of one variant are told before it is trained twice."""

import pytest

from tests.support.experiment_file import EXPERIMENT
from tiedlm.config.yaml_core import load_yaml
from tiedlm.experiment.equal_variants import equal_variants
from tiedlm.experiment.reading import experiment_from


def said_of(*settings: str, text: str = EXPERIMENT) -> list[str]:
    return list(equal_variants(experiment_from(load_yaml(text, "file"), settings=settings)))


def test_an_empty_variant_called_untied_is_said_to_be_tied() -> None:
    assert said_of(text=EXPERIMENT.replace("untied: {model: {tying: {type: untied}}}", "untied: {}")) == [
        "tied and untied have the same settings (model.tying.type is tied in both): the same model is trained twice"
    ]


@pytest.mark.parametrize("settings", [(), ("noise_floor=true",)])
def test_variants_that_differ_are_not_spoken_of(settings: tuple[str, ...]) -> None:
    assert said_of(*settings) == []


def test_what_says_only_how_a_run_is_carried_out_makes_no_difference() -> None:
    (said,) = said_of("variants.again={training: {checkpoint_every: 3}}")
    assert said.startswith("tied and again have the same settings")
