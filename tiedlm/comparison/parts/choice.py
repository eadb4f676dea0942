"""Which recipe is the best of a variant on validation, and how sure that choice is. Free of torch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from tiedlm.comparison.contrast import nats, same_tokens
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.variant_summary import has_split
from tiedlm.run.result import RunResult

if TYPE_CHECKING:
    import numpy as np

RunsOfRecipe = Mapping[str, Sequence[RunResult]]
"""The finished runs under each recipe, of all variants and seeds, in the order of the file."""
Losses = Mapping[str, Sequence[float]]
"""Of one variant: validation nats per token under each recipe, by choosing seed."""
_SPLIT = "validation"
_NUM_DRAWS = 2_000
"""The standard deviation of a choice is then right to 2 %."""


@dataclass(frozen=True)
class Choice:
    """The best recipe of a variant, of those with `losses`; null with the reason."""

    recipe: str | None
    losses: Losses = field(default_factory=dict)
    reason: str | None = None


def choose(results: RunsOfRecipe, variant: str, choosing: Sequence[int]) -> Choice:
    """The choice of one variant."""
    complete: dict[str, list[RunResult]] = {}
    lacking: list[str] = []
    for recipe, runs in results.items():
        by_seed = {run.seed: run for run in runs if run.variant == variant and has_split([run], _SPLIT)}
        missing = [str(seed) for seed in choosing if seed not in by_seed]
        if missing:
            lacking.append(f"{recipe} has no validation loss of seed{'s' * (len(missing) > 1)} {', '.join(missing)}")
        else:
            complete[recipe] = [by_seed[seed] for seed in choosing]
    if not complete:
        return Choice(None, reason="; ".join(lacking) or "there is no recipe")
    if not same_tokens([run for runs in complete.values() for run in runs], _SPLIT):
        return Choice(None, reason="the recipes did not score the same validation tokens")
    losses = {recipe: nats(runs, _SPLIT) for recipe, runs in complete.items()}
    return Choice(best_of(losses), losses)


def best_of(losses: Losses) -> str:
    """The recipe with the lowest mean loss; of equals the first."""
    return min(losses, key=lambda recipe: mean(losses[recipe]))


def sd_of_choice(variant: Losses, baseline: Losses) -> float | None:
    """By how much the difference of best against best would move, had the recipes been chosen by other seeds.

    Judged by seeds of their own, the difference of two *given* recipes is right. But that another recipe might have
    been chosen is an error of its own: of two equal variants, one may have got the better recipe by luck. The root mean
    square move of the difference of validation losses, over choices by losses drawn anew: normal around those observed,
    with the spread from seed to seed that remains beside the means of recipes and of seeds, pooled over the recipes of
    each variant, and with its correlation between the two. 0 where there is one recipe to choose from, or the best is
    clear; null for one choosing seed, which has no spread.
    """
    if len(variant) == len(baseline) == 1:
        return 0.0
    (num_seeds, *_) = {len(losses) for losses in [*variant.values(), *baseline.values()]}
    if num_seeds < 2:
        return None
    import numpy as np

    recipes = list(dict.fromkeys([*variant, *baseline]))
    draws = _normals(len(recipes)) / math.sqrt(num_seeds)
    arms, residuals = (variant, baseline), (_residuals(variant), _residuals(baseline))
    share = _correlation(*residuals)
    noise = (draws[..., 0], share * draws[..., 0] + math.sqrt(1 - share**2) * draws[..., 1])  # each (draws, recipes)
    observed, redrawn = [], []
    for losses, residual, standard in zip(arms, residuals, noise, strict=True):
        means = np.array([mean(each) for each in losses.values()])
        columns = standard[:, [recipes.index(recipe) for recipe in losses]]
        chosen = (means + _spread(residual, num_seeds) * columns).argmin(axis=1)
        observed.append(float(means.min()))
        redrawn.append(means[chosen])
    moves = (redrawn[0] - redrawn[1]) - (observed[0] - observed[1])
    return float(np.sqrt(np.mean(moves**2)))


@lru_cache(maxsize=64)
def _normals(num_recipes: int) -> "np.ndarray":
    """Standard normal values (draws, recipes, 2), the same in every process."""
    import numpy as np

    return np.random.default_rng(0).normal(size=(_NUM_DRAWS, num_recipes, 2))


def _residuals(losses: Losses) -> dict[str, list[float]]:
    """What is left of each loss beside the mean of its recipe and that of its seed."""
    seeds = [mean(each) for each in zip(*losses.values(), strict=True)]
    overall = mean(seeds)
    return {
        recipe: [loss - mean(each) - seed + overall for loss, seed in zip(each, seeds, strict=True)]
        for recipe, each in losses.items()
    }


def _spread(residuals: Losses, num_seeds: int) -> float:
    """Standard deviation of one loss; 0 for one recipe, from which all is chosen."""
    squares = math.fsum(value**2 for each in residuals.values() for value in each)
    degrees = (len(residuals) - 1) * (num_seeds - 1)
    return math.sqrt(squares / degrees) if degrees else 0.0


def _correlation(one: Losses, other: Losses) -> float:
    """Of the residuals of two variants under the recipes of both; 0 where either has none."""
    pairs = [pair for recipe in one if recipe in other for pair in zip(one[recipe], other[recipe], strict=True)]
    scale = math.sqrt(math.fsum(x * x for x, _ in pairs) * math.fsum(y * y for _, y in pairs))
    return max(-1.0, min(1.0, math.fsum(x * y for x, y in pairs) / scale)) if scale else 0.0
