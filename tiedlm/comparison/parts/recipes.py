"""The three answers of an experiment with recipes: within each, across them, and best against best. Free of torch."""

from collections.abc import Mapping, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.parts.across import Settings, across_recipes, within_recipes
from tiedlm.comparison.parts.best import Judges, best_against_best
from tiedlm.comparison.parts.choice import RunsOfRecipe
from tiedlm.comparison.parts.document import Recipes


def measure_recipes(
    comparisons: Mapping[str, Comparison],
    settings: Settings,
    results: RunsOfRecipe,
    choosing: Sequence[int],
    judging: Sequence[int],
) -> Recipes:
    """Of the comparison of each recipe by its name, and of the results under each, also those of seeds that only judge.

    `choosing` and `judging` have no seed in common.
    """
    assert not {*choosing} & {*judging}
    first = next(iter(comparisons.values()))
    variants = variants_of(comparisons)
    judges = Judges(results, tuple(choosing), tuple(judging), _waiting(comparisons, choosing))
    return Recipes(
        chosen_by=list(choosing),
        judged_by=list(judging),
        within=[each for variant in variants for each in within_recipes(variant, comparisons, settings)],
        across=[across_recipes(variant, first.baseline, comparisons, results) for variant in variants],
        best_against_best=best_against_best(judges, variants, first.baseline, first.primary, first.smallest_worthwhile),
    )


def variants_of(comparisons: Mapping[str, Comparison]) -> list[str]:
    """Those beside the baseline that the file names and that have finished in any part, the primary one first."""
    each = [(one, variant) for one in comparisons.values() for variant in one.variants]
    names = dict.fromkeys(
        variant.name for one, variant in each if variant.added is None and variant.name != one.baseline
    )
    primary = next((one.primary for one in comparisons.values()), None)
    return sorted(names, key=lambda name: name != primary)


def _waiting(comparisons: Mapping[str, Comparison], choosing: Sequence[int]) -> set[str]:
    """The variants of which a choosing run has neither finished nor failed."""
    pending = [run for comparison in comparisons.values() for run in comparison.pending]
    return {run.variant for run in pending if run.seed in choosing}
