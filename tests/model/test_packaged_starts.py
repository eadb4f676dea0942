"""Every experiment that comes with the package starts near ln V, in all its variants."""

import math

import numpy as np
import pytest
import torch

from tiedlm.config.find import packaged_configs
from tiedlm.experiment.reading import load_experiment
from tiedlm.model.language_model import build_model

V, T = 8000, 64
EXPERIMENTS = [name for name in packaged_configs() if not name.startswith("shapes/") and name != "untied.yaml"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_first_loss_is_within_0_3_of_ln_v(name: str) -> None:
    """At the config's own width and scales; with two of its layers, fewer types and no dropout, which is quick."""
    ids = torch.from_numpy(np.random.default_rng(0).integers(0, V, (2, T + 1)))
    for variant in load_experiment(name).variants.values():
        shape = variant.model.model_copy(update={"num_layers": 2, "vocab_size": V, "dropout": 0.0})
        model = build_model(shape, V, T)
        model.initialize(0)
        with torch.no_grad():
            first_loss = model.nll(ids[:, :-1], ids[:, 1:]).item() / (2 * T)
        assert abs(first_loss - math.log(V)) < 0.3, variant.variant
