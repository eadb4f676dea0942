"""Experiments with recipes or budgets that could have been, for tests of how they are shown."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.finished_runs import run_result, summarize
from tiedlm.comparison.comparison import Comparison, Pending
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.parts.document import (
    AcrossRecipes,
    AtBudget,
    BestAgainstBest,
    Budgets,
    PartComparison,
    PartsComparison,
    Recipes,
    Trend,
    TurningKey,
    WithinRecipe,
)
from tiedlm.comparison.statistics import Interval, mean, sample_sd, t_interval
from tiedlm.run.result import RunFailure

SCALE = "variants.tied.model.tying.input_scale"
RECIPES: dict[str, tuple[float | None, dict[str, Any]]] = {
    "plain": (-0.0312, {}),
    "high-rate": (-0.0241, {"training.learning_rate": 0.003, "training.warmup": 200}),
    "no-decay": (-0.0287, {"training.weight_decay": 0.0}),
    "sqrt-dim": (0.0415, {SCALE: "sqrt_dim"}),
    "wide-init": (-0.0009, {"model.init_std": 0.05}),
    "long-warmup": (-0.0154, {"training.warmup": 2_000}),
}
"""The difference of tied to untied under each recipe, and what the recipe changes; null: none of its runs finished."""
FAILURE = RunFailure(variant="tied", seed=1, kind="diverged", step=1_234, message="the loss is not a number")
_WOBBLE = (0.0021, -0.0013, 0.0004, -0.0018, 0.0009)


def part_comparison(difference: float, variants: Sequence[str], num_seeds: int, tokens: int) -> Comparison:
    """Variants and untied with some seeds; each variant after the first is half as far from untied as the one before.

    `tokens`: seen in training by each run.
    """
    results = []
    for place, variant in enumerate((*variants, "untied")):
        offset = 0.0 if variant == "untied" else difference / 2**place
        for seed in range(num_seeds):
            noise = _WOBBLE[(seed * (place + 1) + round(abs(difference) * 1e4)) % len(_WOBBLE)]
            results.append(run_result(variant, seed, 4.04 + offset + noise, tokens_seen=tokens))
    return summarize(results, [], "recipes", "untied", [*variants, "untied"])


def recipes_comparison(
    recipes: Mapping[str, tuple[float | None, dict[str, Any]]] = RECIPES,
    variants: Sequence[str] = ("tied",),
    num_seeds: int = 4,
    failures: Mapping[str, RunFailure] | None = None,
    pending: Mapping[str, Pending] | None = None,
) -> PartsComparison:
    """An experiment with recipes; `failures` and `pending` by the name of their recipe."""
    parts = [
        PartComparison(
            part=name,
            settings=settings,
            comparison=None if effect is None else part_comparison(effect, variants, num_seeds, 100_007_936),
        )
        for name, (effect, settings) in recipes.items()
    ]
    found = Recipes(
        within=[_within(part, variant) for part in parts for variant in variants],
        across=[_across(parts, variant) for variant in variants],
        best_against_best=[_best(parts, variant, num_seeds) for variant in variants],
    )
    return _document(parts, variants, found, None, failures, pending)


def budgets_comparison(
    effects: Mapping[float, float | None] | None = None, variants: Sequence[str] = ("tied",), num_seeds: int = 4
) -> PartsComparison:
    """An experiment at several budgets, with the difference of tied to untied at each; null: no run finished."""
    chosen = effects or {0.5: -0.0612, 1: -0.0415, 2: -0.0260, 4: -0.0031}
    parts = [
        PartComparison(
            part=f"budget-{budget:g}",
            settings={"training.tokens": round(100_007_936 * budget)},
            comparison=None
            if effect is None
            else part_comparison(effect, variants, num_seeds, round(100_007_936 * budget)),
        )
        for budget, effect in chosen.items()
    ]
    trends = [_trend(dict(zip(chosen, parts, strict=True)), variant) for variant in variants]
    return _document(parts, variants, None, Budgets(trends=trends), None, None)


def _document(
    parts: Sequence[PartComparison],
    variants: Sequence[str],
    recipes: Recipes | None,
    budgets: Budgets | None,
    failures: Mapping[str, RunFailure] | None,
    pending: Mapping[str, Pending] | None,
) -> PartsComparison:
    said = _statements(recipes, budgets)
    finished = [part.comparison for part in parts if part.comparison]
    tokens = [tokens for each in finished if each.conditions for tokens in each.conditions.tokens_seen]
    first = finished[0].conditions if finished else None
    of_all = {"tokens_seen": list(dict.fromkeys(tokens)), "recipe": f"{len(parts)} recipes" if recipes else ""}
    return PartsComparison(
        experiment="recipes" if recipes else "budgets",
        baseline="untied",
        primary=variants[0],
        smallest_worthwhile=0.01,
        verdict=f"On WikiText-103: {'; '.join(said)}.",
        statements=said,
        conditions=first.model_copy(update=of_all) if first else None,
        recipes=recipes,
        budgets=budgets,
        parts=list(parts),
        failures=list((failures or {}).values()),
        part_of_failures=list(failures or {}),
        pending=list((pending or {}).values()),
        part_of_pending=list(pending or {}),
        notes=[],
    )


def _statements(recipes: Recipes | None, budgets: Budgets | None) -> list[str]:
    if recipes:
        return [
            f"{each.variant} is better than untied under {each.num_better} of {each.recipes} recipes and worse under "
            f"{each.num_worse}{', so the sign hangs on the recipe' if each.sign_turns else ''}"
            for each in recipes.across
        ]
    return [
        f"the difference of {each.variant} to untied {each.direction} with the tokens of training"
        for each in (budgets.trends if budgets else ())
    ]


def _on_test(part: PartComparison, variant: str) -> Difference | None:
    differences = part.comparison.differences if part.comparison else []
    return next((each for each in differences if (each.variant, each.split) == (variant, "test")), None)


def _within(part: PartComparison, variant: str) -> WithinRecipe:
    found = _on_test(part, variant)
    nothing = "no run has finished"
    return WithinRecipe(
        recipe=part.part,
        variant=variant,
        mean=found.mean if found else None,
        ci95_seeds=found.ci95_seeds if found else None,
        num_seeds=found.num_seeds if found else 0,
        per_seed=found.per_seed if found else [],
        verdict=found.verdict if found else "cannot_tell",
        settings=part.settings,
        absent={
            key: found.absent[key] if found else nothing
            for key in ("mean", "ci95_seeds")
            if found is None or key in found.absent
        },
    )


def _across(parts: Sequence[PartComparison], variant: str) -> AcrossRecipes:
    within = [each for each in (_within(part, variant) for part in parts) if each.mean is not None]
    means = [each.mean for each in within if each.mean is not None]
    interval = t_interval(means) if len(means) > 1 else None
    better, worse = ([each for each in within if each.verdict == word] for word in ("better", "worse"))
    keys = [key for each in worse for key in each.settings]
    turned = [
        TurningKey(
            key=key,
            better_recipe=better[0].recipe,
            better_value=better[0].settings.get(key),
            worse_recipe=worse[0].recipe,
            worse_value=worse[0].settings[key],
        )
        for key in keys
        if better
    ]
    few = {} if interval else dict.fromkeys(("ci95", "prediction95", "between"), "one recipe has no spread")
    return AcrossRecipes(
        variant=variant,
        mean=mean(means) if means else None,
        ci95=interval,
        prediction95=_widened(means, interval) if interval else None,
        between=sample_sd(means) if interval else None,
        better=sum(each < 0 for each in means),
        worse=sum(each > 0 for each in means),
        num_better=len(better),
        num_worse=len(worse),
        recipes=len(means),
        sign_turns=bool(better and worse),
        turned_by=turned,
        absent=few if means else few | {"mean": "no recipe has a finished pair"},
    )


def _widened(means: Sequence[float], interval: Interval) -> Interval:
    """Of one more value from the distribution of the means."""
    centre, half = mean(means), (interval[1] - interval[0]) / 2
    return centre - half * math.sqrt(len(means) + 1), centre + half * math.sqrt(len(means) + 1)


def _best(parts: Sequence[PartComparison], variant: str, num_seeds: int) -> BestAgainstBest:
    finished = [part for part in parts if part.comparison]
    chosen, last = (finished or parts)[0].part, (finished or parts)[-1].part
    judged = list(range(1, num_seeds)) if finished else []
    per_seed = [-0.0201 + _WOBBLE[seed] for seed in judged]
    interval = t_interval(per_seed) if len(per_seed) > 1 else None
    absent = {} if interval else {"ci95_seeds": "one seed has no spread"}
    return BestAgainstBest(
        variant=variant,
        recipe=chosen,
        baseline="untied",
        baseline_recipe=last,
        chosen_by=[0],
        judged_by=judged,
        mean=mean(per_seed) if per_seed else None,
        ci95_seeds=interval,
        num_seeds=len(per_seed),
        per_seed=per_seed,
        p_difference=0.0007 if interval else None,
        verdict="better" if interval else "cannot_tell",
        pairing_level="batches",
        absent=absent if per_seed else absent | {"mean": "no seed is left to judge by"},
    )


def _trend(parts: Mapping[float, PartComparison], variant: str) -> Trend:
    at = []
    for budget, part in parts.items():
        found = _on_test(part, variant)
        at.append(
            AtBudget(
                budget=budget,
                part=part.part,
                tokens_seen=part.settings["training.tokens"],
                mean=found.mean if found else None,
                ci95_seeds=found.ci95_seeds if found else None,
                num_seeds=found.num_seeds if found else 0,
                per_seed=found.per_seed if found else [],
                verdict=found.verdict if found else "cannot_tell",
            )
        )
    known = [each for each in at if each.mean is not None]
    slopes = [
        _slope([math.log2(each.tokens_seen) for each in known], [each.per_seed[seed] for each in known])
        for seed in range(known[0].num_seeds)
    ]
    interval = t_interval(slopes) if len(slopes) > 1 else None
    return Trend(
        variant=variant,
        at=at,
        per_doubling=mean(slopes),
        ci95=interval,
        direction="shrinks" if interval else "cannot_tell",
        absent={} if interval else {"ci95": "one seed has no spread"},
    )


def _slope(across: Sequence[float], up: Sequence[float]) -> float:
    """Of the line of least squares."""
    x, y = mean(across), mean(up)
    products = math.fsum((one - x) * (other - y) for one, other in zip(across, up, strict=True))
    return products / math.fsum((one - x) ** 2 for one in across)
