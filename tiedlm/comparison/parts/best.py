"""Each variant at its own best recipe: chosen on validation by some seeds, judged on test by others. Free of torch."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tiedlm.comparison.contrast import nats, same_tokens
from tiedlm.comparison.judgement import holm_corrected, p_values_of, verdict_of
from tiedlm.comparison.pairing import differences_beside_recipe, pair_by_seed, pair_seeds
from tiedlm.comparison.parts.choice import Choice, RunsOfRecipe, choose, sd_of_choice
from tiedlm.comparison.parts.document import BestAgainstBest
from tiedlm.comparison.significance import LEVEL, seeds_needed
from tiedlm.comparison.statistics import mean, t_interval
from tiedlm.comparison.variant_summary import has_split
from tiedlm.evaluation.absence import ONE_SEED
from tiedlm.run.result import RunResult

_SPLIT = "test"
_Pairs = Sequence[tuple[RunResult, RunResult]]


@dataclass(frozen=True)
class Judges:
    """The seeds that choose and those that judge, and what of the runs of all recipes is there.

    `waiting` are the variants of which a choosing run is still to come: nothing is chosen for them yet.
    """

    results: RunsOfRecipe
    choosing: tuple[int, ...]
    judging: tuple[int, ...]
    waiting: Collection[str] = ()

    def choice(self, variant: str) -> Choice:
        """The best recipe of a variant."""
        if variant in self.waiting:
            return Choice(None, reason="runs that choose are still to come")
        return choose(self.results, variant, self.choosing)

    def runs(self, variant: str, recipe: str) -> list[RunResult]:
        """Those of the judging seeds that are there, in the order of these."""
        by_seed = {run.seed: run for run in self.results[recipe] if run.variant == variant}
        return [by_seed[seed] for seed in self.judging if seed in by_seed]

    def lacking(self, variant: str, recipe: str) -> list[str]:
        """The judging seeds without a result, in words."""
        there = {run.seed for run in self.runs(variant, recipe)}
        missing = [str(seed) for seed in self.judging if seed not in there]
        if not missing:
            return []
        return [f"{variant} under {recipe} has no result with seed{'s' * (len(missing) > 1)} {', '.join(missing)}"]


def best_against_best(
    judges: Judges, variants: Sequence[str], baseline: str, primary: str | None, size: float
) -> list[BestAgainstBest]:
    """Every variant against the baseline, each under its own best recipe.

    The verdicts follow the rule of tiedlm/comparison/judgement, with the error that the choice of the recipes adds to
    the mean; those beside the primary one are corrected by Holm's method for their number.
    """
    measured = [_measure(judges, variant, baseline, variant == primary, size) for variant in variants]
    explored = {
        index: (each.p_difference, each.p_equal) for index, each in enumerate(measured) if each.variant != primary
    }
    corrected = holm_corrected(explored)
    return [_decided(each.model_copy(update=corrected.get(index, {})), size) for index, each in enumerate(measured)]


def _measure(judges: Judges, variant: str, baseline: str, is_primary: bool, size: float) -> BestAgainstBest:
    mine, theirs = judges.choice(variant), judges.choice(baseline)
    pairs: _Pairs = []
    reasons = [f"{name}: {each.reason}" for name, each in ((variant, mine), (baseline, theirs)) if each.reason]
    if mine.recipe is not None and theirs.recipe is not None:
        pairs = pair_by_seed(judges.runs(variant, mine.recipe), judges.runs(baseline, theirs.recipe))
        reasons = [*judges.lacking(variant, mine.recipe), *judges.lacking(baseline, theirs.recipe)]
        reasons = reasons or ["no seed judges"] * (not pairs) or _not_comparable(pairs)
    fields: dict[str, Any] = {}
    if not reasons:
        fields = _tested(_differences(pairs), sd_of_choice(mine.losses, theirs.losses), size)
    absent = dict.fromkeys(("mean", "ci95_seeds"), "; ".join(reasons)) if reasons else {}
    if mine.recipe is None:
        absent["recipe"] = str(mine.reason)
    if theirs.recipe is None:
        absent["baseline_recipe"] = str(theirs.reason)
    return BestAgainstBest(
        **{
            "variant": variant,
            "recipe": mine.recipe,
            "baseline": baseline,
            "baseline_recipe": theirs.recipe,
            "chosen_by": list(judges.choosing),
            "judged_by": list(judges.judging),
            "mean": None,
            "ci95_seeds": None,
            "num_seeds": len(pairs),
            "per_seed": [],
            "is_primary": is_primary,
            "verdict": "cannot_tell",
            "pairing_level": pair_seeds(pairs).level,
            "absent": absent,
            **fields,
        }
    )


def _differences(pairs: _Pairs) -> list[float]:
    mine, theirs = (nats(runs, _SPLIT) for runs in zip(*pairs, strict=True))
    return [one - other for one, other in zip(mine, theirs, strict=True)]


def _not_comparable(pairs: _Pairs) -> list[str]:
    """Why the runs of two recipes cannot be compared: for what no recipe asks for."""
    if not has_split([run for pair in pairs for run in pair], _SPLIT):
        return ["no test split was scored"]
    if not all(same_tokens(pair, _SPLIT) for pair in pairs):
        return ["they did not score the same tokens"]
    return list(dict.fromkeys(reason for pair in pairs for reason in differences_beside_recipe(*pair)))


def _tested(per_seed: list[float], of_choice: float | None, size: float) -> dict[str, Any]:
    """The mean, its intervals and both p-values.

    Also where recipes of another batch size or length make no pairs of their seeds: the differences then vary more, and
    are independent and unbiased all the same.
    """
    fields: dict[str, Any] = {"mean": mean(per_seed), "per_seed": per_seed, "sd_of_choice": of_choice}
    if len(per_seed) == 1:
        return {**fields, "absent": {"ci95_seeds": ONE_SEED}}
    if of_choice is None:
        reason = "one choosing seed has no spread, which would say how sure the choice of the recipes is"
        return {**fields, "absent": {"ci95_seeds": reason, "sd_of_choice": reason}}
    added = of_choice**2
    p_difference, p_equal = p_values_of(per_seed, size, added)
    return {
        **fields,
        "ci95_seeds": t_interval(per_seed, added=added),
        "ci90_seeds": t_interval(per_seed, 0.9, added=added),
        "p_difference": p_difference,
        "p_equal": p_equal,
    }


def _decided(best: BestAgainstBest, size: float) -> BestAgainstBest:
    verdict = verdict_of(best.per_seed if best.ci95_seeds else [], best.p_difference, best.p_equal)
    needed = None
    if verdict == "cannot_tell" and best.p_difference is not None:
        level = LEVEL / best.num_corrected_for
        needed = seeds_needed(best.per_seed, size, level, (best.sd_of_choice or 0.0) ** 2)
    return best.model_copy(update={"verdict": verdict, "seeds_needed": needed})
