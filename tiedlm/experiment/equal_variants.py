"""Variants that are one and the same under several names. Pure, and free of torch."""

import itertools
from collections.abc import Iterator

from tiedlm.config.base import semantic
from tiedlm.experiment.config import Experiment


def equal_variants(experiment: Experiment) -> Iterator[str]:
    """A sentence on each pair of variants that no setting tells apart: `untied: {}` is tied where the base is."""
    for (one, first), (other, second) in itertools.combinations(experiment.variants.items(), 2):
        if {**semantic(first), "variant": ""} == {**semantic(second), "variant": ""}:
            tying = f"model.tying.type is {first.model.tying.type} in both"
            yield f"{one} and {other} have the same settings ({tying}): the same model is trained twice"
