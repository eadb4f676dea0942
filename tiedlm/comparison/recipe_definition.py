"""The recipe of a variant by key: rates, initial scales, decays and limits, as they take effect. Free of torch.

Two variants have one recipe where these are equal; so must runs be that are taken together as one variant's.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tiedlm.comparison.settings import flat_settings

_TRAINING, _TYING = "training.", "model.tying."
_INPUT_FACTOR = f"{_TRAINING}embedding_learning_rate_factor"
_INIT_STD, _OUTPUT_STD = f"{_TYING}init_std", f"{_TYING}output_init_std"
RECIPE_KEYS = (
    *(f"{_TRAINING}{key}" for key in ("learning_rate", "embedding_learning_rate_factor")),
    *(f"{_TYING}{key}" for key in ("input_scale", "init_std")),
    f"{_TRAINING}output_learning_rate_factor",
    _OUTPUT_STD,
    *(f"{_TRAINING}{key}" for key in ("embedding_weight_decay", "weight_decay", "warmup", "schedule")),
    *(f"{_TRAINING}{key}" for key in ("embedding_betas", "embedding_eps", "betas", "eps", "momentum", "optimizer")),
    *(f"{_TRAINING}{key}" for key in ("max_grad_norm", "embedding_max_grad_norm", "output_max_grad_norm")),
    f"{_TYING}init",
    *(f"{_TRAINING}{key}" for key in ("min_learning_rate", "decay", "milestones", "gamma")),
)
"""Dotted keys, those first that change a result the most."""
FOLLOWS = {
    f"{_TRAINING}output_learning_rate_factor": _INPUT_FACTOR,
    f"{_TRAINING}embedding_betas": f"{_TRAINING}betas",
    f"{_TRAINING}embedding_eps": f"{_TRAINING}eps",
    _OUTPUT_STD: _INIT_STD,
}
"""Keys that, where they are null or a kind of tying does not have them, take effect with the value of another."""


@dataclass(frozen=True)
class Setting:
    """The value of a key: as it is `written` in the resolved config, and as it takes effect.

    `follows`: it has none of its own, and takes effect with that of another key.
    """

    written: Any
    effective: Any
    follows: bool = False

    def has_effect_of(self, other: "Setting") -> bool:
        """Whether both do the same, whichever way they are written."""
        return _are_same(self.effective, other.effective)


def _are_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


def recipe_definition(config: Mapping[str, Any]) -> dict[str, Any]:
    """The value that each of RECIPE_KEYS takes effect with in a resolved config; equal for equal recipes."""
    return {key: setting.effective for key, setting in recipe_settings(config).items()}


def differing_recipe_keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The keys in which two definitions are not one recipe; a key that one of them lacks is null there."""
    return [key for key in dict.fromkeys([*one, *other]) if not _are_same(one.get(key), other.get(key))]


def recipe_settings(config: Mapping[str, Any]) -> dict[str, Setting]:
    """Each of RECIPE_KEYS in a resolved config, maybe of an older version: what it lacks is at its default."""
    given = flat_settings(config)
    kinds = given.get(f"{_TRAINING}optimizer", "adamw"), given.get(f"{_TRAINING}schedule", "cosine")
    flat = {**recipe_defaults(*kinds), **given}
    return {key: _setting(flat, key) for key in RECIPE_KEYS}


@cache
def recipe_defaults(optimizer: str = "adamw", schedule: str = "cosine") -> dict[str, Any]:
    """The defaults of RECIPE_KEYS under an optimizer and a schedule, of those that have one."""
    from tiedlm.training.config import TrainingConfig  # not to print what is stored, which needs no config models
    from tiedlm.tying.config import SeparateOutputConfig

    least = {"steps": 1, "batch_size": 1, "learning_rate": 1.0, "optimizer": optimizer, "schedule": schedule}
    training = TrainingConfig.model_validate(least).model_dump(mode="json", exclude={"learning_rate"})
    training |= {key: TrainingConfig.model_fields[key].default for key in ("optimizer", "schedule")}
    tying = SeparateOutputConfig().model_dump(mode="json")
    parts = ((_TRAINING, training), (_TYING, tying))
    found = {f"{part}{name}": value for part, values in parts for name, value in values.items()}
    return {key: found[key] for key in RECIPE_KEYS if key in found}


def _setting(flat: Mapping[str, Any], key: str) -> Setting:
    written = flat.get(key)
    is_fixed_scale = flat.get(f"{_TYING}init") == "xavier_uniform" and key in (_INIT_STD, _OUTPUT_STD)
    if is_fixed_scale:
        return Setting(written, None)
    if key == _OUTPUT_STD:
        start = flat.get(f"{_TYING}output_init")
        if start == "zero":
            return Setting("zero", 0.0)
        if start == "copy":
            return Setting("copy", _number(flat, flat.get(_INIT_STD)), follows=True)
    if written is None and key in FOLLOWS:
        return Setting(None, _setting(flat, FOLLOWS[key]).effective, follows=True)
    return Setting(written, _number(flat, written))


def _number(flat: Mapping[str, Any], value: Any) -> Any:
    """What a value stands for; one that is named after the width as the number it comes to."""
    dim = flat.get("model.dim")
    if value == "sqrt_dim" and dim:
        return float(dim**0.5)
    if value == "inverse_sqrt_dim" and dim:
        return float(dim**-0.5)
    return value
