"""Do the variants have recipes of their own: other rates, initial scales, decays or limits? Free of torch.

However that came about: written in the config, by the defaults of their kinds of tying, or by a search for each.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tiedlm.comparison.analyses.analysis import Analysis
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.recipe_definition import (
    RECIPE_KEYS,
    Setting,
    recipe_defaults,
    recipe_definition,
    recipe_settings,
)
from tiedlm.config.base import Config

Origin = Literal["config", "default", "tuning"]
"""Where a value comes from; `default`: it is the key's default, written in the config or not."""


class RecipeDifference(Config):
    """A key in which the recipes of a variant and the baseline differ, and where each value comes from.

    `value` and `baseline_value` are as they take effect, the `.._written` as the resolved configs have them: null where
    one has no value of its own, as `output_init_std` of tied, and takes effect with that of another key.
    """

    variant: str
    baseline: str
    key: str
    value: Any
    baseline_value: Any
    written: Any
    baseline_written: Any
    origin: Origin
    baseline_origin: Origin


class RecipeDifferences(Config):
    """`definitions` is the recipe of each variant by dotted key, as it takes effect; equal for equal recipes."""

    definitions: dict[str, dict[str, Any]]
    differences: list[RecipeDifference]


def measure(finished: FinishedRuns) -> RecipeDifferences | None:
    """Of the variants that the config file names; None where no run has finished.

    What a plan adds has the recipe of the variant that it was made of.
    """
    configs = {variant: finished.by_variant[variant][0].config for variant in finished.variants_of_file}
    if not configs:
        return None
    return RecipeDifferences(
        definitions={variant: recipe_definition(config) for variant, config in configs.items()},
        differences=list(_differences(finished, configs)),
    )


def _differences(finished: FinishedRuns, configs: Mapping[str, Mapping[str, Any]]) -> Iterator[RecipeDifference]:
    baseline = finished.baseline
    if baseline not in configs:
        return
    settings = {variant: recipe_settings(config) for variant, config in configs.items()}
    theirs = settings[baseline]
    for variant, mine in settings.items():
        for key in RECIPE_KEYS if variant != baseline else ():
            one, other = mine[key], theirs[key]
            if one.has_effect_of(other) or (one.follows and other.follows):  # then the key that they follow differs
                continue
            yield RecipeDifference(
                variant=variant,
                baseline=baseline,
                key=key,
                value=one.effective,
                baseline_value=other.effective,
                written=one.written,
                baseline_written=other.written,
                origin=_origin(finished, variant, key, one),
                baseline_origin=_origin(finished, baseline, key, other),
            )


def _origin(finished: FinishedRuns, variant: str, key: str, setting: Setting) -> Origin:
    tuning = finished.question.tuning
    tuned = tuning.of(variant) if tuning else None
    if tuned is not None and key in tuned.settings:
        return "tuning"
    training = finished.by_variant[variant][0].config.get("training", {})
    defaults = recipe_defaults(training.get("optimizer", "adamw"), training.get("schedule", "cosine"))
    return "default" if setting.follows or (key in defaults and setting.written == defaults[key]) else "config"


ANALYSIS = Analysis("recipe_differences", RecipeDifferences, measure)
