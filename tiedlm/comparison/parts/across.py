"""A variant against the baseline under each recipe, and over all of them. Free of torch."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference, Verdict
from tiedlm.comparison.parts.choice import RunsOfRecipe
from tiedlm.comparison.parts.document import AcrossRecipes, TurningKey, WithinRecipe
from tiedlm.comparison.parts.random_effects import RandomEffects
from tiedlm.comparison.settings import config_differences, flat_settings
from tiedlm.comparison.significance import LEVEL
from tiedlm.comparison.statistics import Interval, mean, t_interval
from tiedlm.evaluation.absence import ONE_SEED

_SPLIT = "test"
_NOTHING = "no seed has finished in both"
_NO_SEEDS = "fewer than two seeds have finished under every recipe, so how much a seed moves all of them is unknown"
Settings = Mapping[str, Mapping[str, Any]]
"""What each recipe changes, by dotted key."""
BySeed = Mapping[int, float]
"""The differences of one variant under one recipe."""


def differences_of(variant: str, comparisons: Mapping[str, Comparison]) -> dict[str, Difference]:
    """Those of a variant on test, in the parts that have one."""
    return {
        part: found
        for part, comparison in comparisons.items()
        for found in comparison.differences
        if found.variant == variant and found.split == _SPLIT
    }


def is_comparable(difference: Difference) -> bool:
    """Whether it may stand beside those of other parts."""
    return difference.mean is not None and difference.pairing.level != "none"


def left_out(comparisons: Mapping[str, Comparison]) -> Iterator[str]:
    """The differences that stand in no figure over all parts, each with why."""
    for part, comparison in comparisons.items():
        for found in comparison.differences:
            if found.split == _SPLIT and not is_comparable(found):
                why = "; ".join(found.pairing.reasons)
                yield f"{part}: {found.variant} stands in no figure over all parts: {why}."


def within_recipes(variant: str, comparisons: Mapping[str, Comparison], settings: Settings) -> Iterator[WithinRecipe]:
    """One for every recipe, also where nothing can be compared yet."""
    found = differences_of(variant, comparisons)
    for recipe in comparisons:
        difference = found.get(recipe)
        reasons = difference.absent if difference else dict.fromkeys(("mean", "ci95_seeds"), _NOTHING)
        yield WithinRecipe(
            recipe=recipe,
            variant=variant,
            mean=difference.mean if difference else None,
            ci95_seeds=difference.ci95_seeds if difference else None,
            num_seeds=difference.num_seeds if difference else 0,
            per_seed=difference.per_seed if difference else [],
            verdict=difference.verdict if difference else "cannot_tell",
            settings=dict(settings.get(recipe, {})),
            absent={key: reasons[key] for key in ("mean", "ci95_seeds") if key in reasons},
        )


def across_recipes(
    variant: str, baseline: str, comparisons: Mapping[str, Comparison], results: RunsOfRecipe
) -> AcrossRecipes:
    """Over the recipes under which the runs of both are comparable."""
    found = {recipe: each for recipe, each in differences_of(variant, comparisons).items() if is_comparable(each)}
    means = [mean(each.per_seed) for each in found.values()]
    sides = turned_sides({recipe: (each.verdict, each.p_difference) for recipe, each in found.items()})
    return AcrossRecipes(
        **{
            "variant": variant,
            "better": sum(each < 0 for each in means),
            "worse": sum(each > 0 for each in means),
            "num_better": sum(each.verdict == "better" for each in found.values()),
            "num_worse": sum(each.verdict == "worse" for each in found.values()),
            "recipes": len(found),
            "sign_turns": sides is not None,
            "turned_by": list(_turned_by(*sides, variant, baseline, results)) if sides else [],
            **over_recipes([dict(zip(each.seeds, each.per_seed, strict=True)) for each in found.values()]),
        }
    )


def over_recipes(by_seed: Sequence[BySeed]) -> dict[str, Any]:
    """`mean`, `ci95`, `prediction95` and `between` of random effects, with the reason of each that is null in `absent`.

    The variance of one seed's difference is pooled over the recipes: two to five seeds of each alone would not tell it.
    `ci95` is the wider of two intervals: that of random effects, from the spread between recipes, and Student's of the
    seeds' means over the recipes. All recipes have the same seeds: what a seed does under all of them shifts all
    differences together, which the spread between recipes does not show.
    """
    numbers: dict[str, Any] = dict.fromkeys(("mean", "ci95", "prediction95", "between"))
    if not by_seed:
        return {**numbers, "absent": dict.fromkeys(numbers, _NOTHING)}
    means = [mean(list(seeds.values())) for seeds in by_seed]
    numbers["mean"] = mean(means)
    degrees = sum(len(seeds) - 1 for seeds in by_seed)
    reason = "one recipe has no spread between recipes" if len(means) == 1 else ONE_SEED if not degrees else None
    if reason is not None:
        return {**numbers, "absent": {key: reason for key, value in numbers.items() if value is None}}
    squares = ((value - own) ** 2 for seeds, own in zip(by_seed, means, strict=True) for value in seeds.values())
    within = math.fsum(squares) / degrees
    variances = [within / len(seeds) for seeds in by_seed]
    effects = RandomEffects.of(means, variances)
    over_seeds = _over_seeds(by_seed)
    numbers = {
        "mean": effects.mean,
        "ci95": _wider(effects.mean, effects.interval(), over_seeds) if over_seeds else None,
        "prediction95": effects.prediction(mean(variances)),
        "between": effects.between,
    }
    return {**numbers, "absent": {} if over_seeds else {"ci95": _NO_SEEDS}}


def _over_seeds(by_seed: Sequence[BySeed]) -> Interval | None:
    """Of the means over the recipes of the seeds that all of them have; null for fewer than two."""
    common = [seed for seed in by_seed[0] if all(seed in seeds for seeds in by_seed)]
    return t_interval([mean([seeds[seed] for seeds in by_seed]) for seed in common]) if len(common) > 1 else None


def _wider(centre: float, one: Interval, other: Interval) -> Interval:
    half = max((high - low) / 2 for low, high in (one, other))
    return centre - half, centre + half


def turned_sides(judged: Mapping[str, tuple[Verdict, float | None]]) -> tuple[list[str], list[str]] | None:
    """The parts in which a variant is better, and those in which it is worse, where the sign turns between them.

    From the verdict and the p-value of "not 0" in each part. A turn is a claim about two parts picked out of k: one
    one-sided test says better, another worse, each corrected for k (Piantadosi & Gail 1993), so that where all true
    differences have one sign, or are 0, a turn is named in at most 5 %. With two parts it is what their verdicts say.
    """
    tested = {part: (verdict, p) for part, (verdict, p) in judged.items() if p is not None}
    level = min(LEVEL, 2 * LEVEL / len(tested)) if tested else 0.0
    better, worse = (
        [part for part, (verdict, p) in tested.items() if verdict == side and p < level] for side in ("better", "worse")
    )
    return (better, worse) if better and worse else None


def _turned_by(
    better: Sequence[str], worse: Sequence[str], variant: str, baseline: str, results: RunsOfRecipe
) -> Iterator[TurningKey]:
    """The keys of those pairs that differ in the fewest, each change of a key once."""
    pairs = {(one, other): _changed(one, other, variant, baseline, results) for one in better for other in worse}
    fewest = min(map(len, pairs.values()))
    seen: list[tuple[str, Any, Any]] = []
    for (one, other), changed in pairs.items():
        new = {key: values for key, values in changed.items() if (key, *values) not in seen}
        if len(changed) == fewest and len(new) == len(changed):
            for key, (value, other_value) in changed.items():
                seen.append((key, value, other_value))
                yield TurningKey(
                    key=key, better_recipe=one, better_value=value, worse_recipe=other, worse_value=other_value
                )


def _changed(one: str, other: str, variant: str, baseline: str, results: RunsOfRecipe) -> dict[str, tuple[Any, Any]]:
    """The keys in which two recipes differ, with the values of both; of one variant alone under `variants.<name>.`."""
    of_arm = {name: _changed_for(name, results[one], results[other]) for name in (variant, baseline)}
    mine, theirs = of_arm.values()
    shared = {key: values for key, values in mine.items() if theirs.get(key) == values}
    own = {
        f"variants.{name}.{key}": values
        for name, changed in of_arm.items()
        for key, values in changed.items()
        if key not in shared
    }
    return shared | own


def _changed_for(name: str, one: Sequence[Any], other: Sequence[Any]) -> dict[str, tuple[Any, Any]]:
    configs = [next(run.config for run in runs if run.variant == name) for runs in (one, other)]
    mine, theirs = map(flat_settings, configs)
    return {key: (mine.get(key), theirs.get(key)) for key in config_differences(*configs)}
