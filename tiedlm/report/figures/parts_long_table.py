"""The figures of an experiment with parts at full precision, one at a time."""

from collections.abc import Iterator, Mapping

from tiedlm.comparison.parts.document import AcrossRecipes, BestAgainstBest, PartComparison, PartsComparison, Trend
from tiedlm.comparison.statistics import Interval
from tiedlm.evaluation.absence import NOT_STORED
from tiedlm.report.figures.long_table import Figure
from tiedlm.report.figures.parts import value_in_words
from tiedlm.report.figures.parts_tables import difference_reasons

Value = float | str | None


def settings_of_part(part: PartComparison) -> Iterator[Figure]:
    """What a part changes of the experiment, each key as it is written in a config."""
    for key, value in part.settings.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        yield Figure("", None, "", f"settings.{key}", value if is_number else value_in_words(value))


def figures_together(document: PartsComparison) -> Iterator[Figure]:
    """What recipes or budgets say together, on test."""
    if document.recipes:
        for across in document.recipes.across:
            yield from _written(across.variant, _across(across), across.absent)
        for best in document.recipes.best_against_best:
            yield from _best(best)
    if document.budgets:
        for trend in document.budgets.trends:
            yield from _written(trend.variant, _trend(trend), trend.absent)
            for seed, one in zip(trend.seeds, trend.per_seed, strict=False):
                yield Figure(trend.variant, seed, "test", "trend_per_doubling", one)


def _written(variant: str, figures: Mapping[str, tuple[Value, str]], absent: Mapping[str, str]) -> Iterator[Figure]:
    """Each metric with its value, and where that is null the reason, which stands in `absent` under a key."""
    for metric, (value, key) in figures.items():
        why = absent.get(key, NOT_STORED) if value is None else None
        yield Figure(variant, None, "test", metric, value, reason=why)


def _ends(metric: str, interval: Interval | None, key: str) -> dict[str, tuple[Value, str]]:
    low, high = interval or (None, None)
    return {f"{metric}_low": (low, key), f"{metric}_high": (high, key)}


def _across(found: AcrossRecipes) -> dict[str, tuple[Value, str]]:
    return {
        "across_difference": (found.mean, "mean"),
        **_ends("across_ci95", found.ci95, "ci95"),
        **_ends("across_prediction95", found.prediction95, "prediction95"),
        "across_sd_between": (found.between, "between"),
        "across_recipes": (found.recipes, ""),
        "across_below_0": (found.better, ""),
        "across_above_0": (found.worse, ""),
        "across_judged_better": (found.num_better, ""),
        "across_judged_worse": (found.num_worse, ""),
    }


def _best(found: BestAgainstBest) -> Iterator[Figure]:
    no_mean, no_interval = difference_reasons(found.num_seeds, found.absent)
    low, high = found.seeds_needed or (None, None)
    no_need = "the seeds tell already, or have no spread"
    figures: dict[str, tuple[Value, str]] = {
        "best_recipe": (found.recipe, no_mean),
        "best_baseline_recipe": (found.baseline_recipe, no_mean),
        "best_chosen_by": (" ".join(map(str, found.chosen_by)), ""),
        "best_difference": (found.mean, no_mean),
        **_ends("best_ci95_seeds", found.ci95_seeds, no_interval),
        "best_p": (found.p_difference, no_interval),
        "best_p_corrected_for": (found.num_corrected_for, ""),
        "best_sd_of_choice": (found.sd_of_choice, found.absent.get("sd_of_choice", no_interval)),
        "best_seeds_needed_low": (low, no_need),
        "best_seeds_needed_high": (high, no_need),
        "best_pairing": (found.pairing_level, ""),
        "best_verdict": (found.verdict, ""),
    }
    for metric, (value, reason) in figures.items():
        yield Figure(found.variant, None, "test", metric, value, reason=reason if value is None else None)
    for seed, one in zip(found.judged_by, found.per_seed, strict=False):
        yield Figure(found.variant, seed, "test", "best_difference", one)


def _trend(found: Trend) -> dict[str, tuple[Value, str]]:
    return {
        "trend_per_doubling": (found.per_doubling, "per_doubling"),
        **_ends("trend_ci95", found.ci95, "ci95"),
        "trend_p_change": (found.p_change, "ci95"),
        "trend_p_steady": (found.p_steady, "ci95"),
        "trend_p_corrected_for": (found.num_corrected_for, ""),
        "trend_direction": (found.direction, ""),
    }
