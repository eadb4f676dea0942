"""The comparisons of an experiment with several parts, and what they say together. Free of torch.

A part is the whole experiment, all variants and all seeds, under one recipe or at one budget. Each has a comparison of
its own, stored in its own folder; this document joins them, and is stored in the folder above.
"""

from typing import Any, Literal

from tiedlm.comparison.comparison import Comparison, Pending
from tiedlm.comparison.contrast import Verdict
from tiedlm.comparison.statistics import Interval
from tiedlm.config.base import Config
from tiedlm.evaluation.absence import Reasons
from tiedlm.run.result import RunFailure

PARTS_EDITION = 1
"""Counts what is made of the same parts: what an earlier edition stored is made anew."""
Direction = Literal["shrinks", "grows", "changes_sign", "steady", "cannot_tell"]
"""Of the size of a difference with the number of training tokens. `steady`: its change lies within the smallest
worthwhile size for each doubling.
"""


class WithinRecipe(Config):
    """A variant against the baseline on the test split, under one recipe: as its own comparison says."""

    recipe: str
    variant: str
    mean: float | None
    ci95_seeds: Interval | None
    num_seeds: int
    per_seed: list[float]
    verdict: Verdict
    settings: dict[str, Any]
    """What the recipe changes, by dotted key; those of a single variant begin with `variants.<name>.`."""
    absent: Reasons = {}  # noqa: RUF012 (a frozen model); why `mean` or the interval is null


class AcrossRecipes(Config):
    """A variant against the baseline over all recipes, which count as drawn from those one might have used.

    Random effects: `mean` and its `ci95`, the standard deviation `between` recipes, and `prediction95`, in which the
    difference under one more recipe lies. `better` and `worse` count recipes by the sign of their mean difference, of
    the variant, and `num_better`, `num_worse` those whose verdict says so. `sign_turns` where a recipe's verdict is
    better and another's is worse; `turned_by` are then keys that tell such recipes apart, with their values.
    """

    variant: str
    mean: float | None
    ci95: Interval | None
    prediction95: Interval | None
    between: float | None
    better: int
    worse: int
    num_better: int
    num_worse: int
    recipes: int
    sign_turns: bool
    turned_by: list["TurningKey"]
    absent: Reasons = {}  # noqa: RUF012 (a frozen model); why one of the numbers is null


class TurningKey(Config):
    """A key that turns the sign: its value under a recipe in which the variant is better, and where it is worse."""

    key: str
    better_recipe: str
    better_value: Any
    worse_recipe: str
    worse_value: Any


class BestAgainstBest(Config):
    """A variant under its best recipe against the baseline under its own best.

    Recipes are chosen on validation by the seeds `chosen_by`, and judged on test by `judged_by`, which have no part in
    the choice. Null where recipes are chosen but a judging seed is missing, with the reason.
    """

    variant: str
    recipe: str
    baseline: str
    baseline_recipe: str
    chosen_by: list[int]
    judged_by: list[int]
    mean: float | None
    ci95_seeds: Interval | None
    num_seeds: int
    per_seed: list[float]
    p_difference: float | None = None
    p_equal: float | None = None
    verdict: Verdict
    seeds_needed: tuple[int, int] | None = None
    pairing_level: Literal["start+batches", "batches", "none"]
    absent: Reasons = {}  # noqa: RUF012 (a frozen model); why `mean` or the interval is null


class Recipes(Config):
    """The three answers of an experiment with recipes."""

    within: list[WithinRecipe]
    across: list[AcrossRecipes]
    best_against_best: list[BestAgainstBest]


class AtBudget(Config):
    """A variant against the baseline on the test split at one budget."""

    budget: float
    """Length of its runs in lengths of the experiment's own."""
    part: str
    tokens_seen: int
    mean: float | None
    ci95_seeds: Interval | None
    num_seeds: int
    per_seed: list[float]
    verdict: Verdict


class Trend(Config):
    """How the difference of a variant changes with the training tokens.

    `per_doubling` is the change of the difference, in nats per token, for each doubling of the tokens: a line through
    each seed's differences over log2 of the tokens, and Student's t-interval over seeds.
    """

    variant: str
    at: list[AtBudget]
    per_doubling: float | None
    ci95: Interval | None
    direction: Direction
    absent: Reasons = {}  # noqa: RUF012 (a frozen model); why a number is null


class Budgets(Config):
    """The differences of an experiment at several lengths of training."""

    trends: list[Trend]


class PartComparison(Config):
    """The comparison of one part; null where none of its runs has finished."""

    part: str
    settings: dict[str, Any]
    comparison: Comparison | None


class PartsComparison(Config):
    """What `compare` prints of an experiment with parts; one of `recipes` and `budgets` is null.

    `verdict` is the headline, in one sentence, made of the `statements`. `failures` and `pending` are those of all
    parts, each with its part's name in `part_of_failures` and `part_of_pending`, in the same order.
    """

    schema_version: Literal[1] = 1
    edition: int = PARTS_EDITION
    experiment: str
    baseline: str
    primary: str | None
    smallest_worthwhile: float
    verdict: str
    statements: list[str]
    recipes: Recipes | None
    budgets: Budgets | None
    parts: list[PartComparison]
    failures: list[RunFailure]
    part_of_failures: list[str]
    pending: list[Pending]
    part_of_pending: list[str]
    notes: list[str]
    sources: dict[str, str] = {}  # noqa: RUF012 (a frozen model); SHA-256 of every result and failure it is made of
