"""The comparisons of an experiment with several parts, and what they say together. Free of torch.

A part is the whole experiment, all variants and all seeds, under one recipe or at one budget. Each has a comparison of
its own, stored in its own folder; this document joins them, and is stored in the folder above.
"""

from typing import Any, Literal

from tiedlm.comparison.comparison import Comparison, Pending
from tiedlm.comparison.contrast import Verdict
from tiedlm.comparison.statistics import Interval
from tiedlm.comparison.verdict import Conditions
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

    Random effects: `mean` and its `ci95` (over recipes and over seeds, the wider of the two), the standard deviation
    `between` recipes, and `prediction95`, in which the difference lies that these very seeds would show under one more
    recipe; it may be narrower than `ci95`, which also holds what other seeds would show. `better` and `worse` count
    recipes by the sign of their mean difference, of the variant, and `num_better`, `num_worse` those whose verdict says
    so; `recipes` is how many have a difference. `sign_turns` where one recipe's verdict is better and another's is
    worse, and stays so with both tests corrected for the number of recipes; `turned_by` are then the keys that tell
    such recipes apart, of the pairs of recipes with the fewest.
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
    """A key that turns the sign: its value under a recipe in which the variant is better, and where it is worse.

    One that only a single variant has otherwise begins with `variants.<name>.`. Null is also the value of a key that a
    variant does not have.
    """

    key: str
    better_recipe: str
    better_value: Any
    worse_recipe: str
    worse_value: Any


class BestAgainstBest(Config):
    """A variant under its best recipe against the baseline under its own best.

    Recipes are chosen on validation by the seeds `chosen_by`, and judged on test by `judged_by`, which have no part in
    the choice. A recipe is null where none can be chosen, and the difference where a judging seed is missing, with the
    reason. `sd_of_choice` is by how much the difference would move had other seeds chosen; the intervals and the
    p-values hold it. Verdicts that are not `is_primary` are corrected for `num_corrected_for` comparisons.
    `pairing_level` is that of runs with the same seed under the two recipes; recipes of another batch size or length
    have no pairs, and are compared all the same.
    """

    variant: str
    recipe: str | None
    baseline: str
    baseline_recipe: str | None
    chosen_by: list[int]
    judged_by: list[int]
    mean: float | None
    ci95_seeds: Interval | None
    ci90_seeds: Interval | None = None
    num_seeds: int
    per_seed: list[float]
    sd_of_choice: float | None = None
    is_primary: bool = False
    num_corrected_for: int = 1
    p_difference: float | None = None
    p_equal: float | None = None
    verdict: Verdict
    seeds_needed: tuple[int, int] | None = None
    pairing_level: Literal["start+batches", "batches", "none"]
    absent: Reasons = {}  # noqa: RUF012 (a frozen model); why `mean` or the interval is null


class Recipes(Config):
    """The three answers of an experiment with recipes; the seeds that choose, and those that judge."""

    chosen_by: list[int] = []  # noqa: RUF012 (a frozen model)
    judged_by: list[int] = []  # noqa: RUF012
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
    each seed's differences over log2 of the tokens (`per_seed`, of the `seeds` that have finished at every budget), and
    Student's t-interval over seeds. `p_change` and `p_steady` are the p-values of "not 0" and of "within the smallest
    worthwhile size", corrected for `num_corrected_for` comparisons; `ci90` goes with the latter.
    """

    variant: str
    at: list[AtBudget]
    per_doubling: float | None
    ci95: Interval | None
    ci90: Interval | None = None
    seeds: list[int] = []  # noqa: RUF012 (a frozen model)
    per_seed: list[float] = []  # noqa: RUF012
    p_change: float | None = None
    p_steady: float | None = None
    num_corrected_for: int = 1
    direction: Direction
    absent: Reasons = {}  # noqa: RUF012 (a frozen model); why a number is null


class Budgets(Config):
    """The differences of an experiment at several lengths of training."""

    trends: list[Trend]


class PartComparison(Config):
    """The comparison of one part; null where none of its runs has finished.

    `settings` are what a recipe changes, `budget` the length of a budget's runs in lengths of the experiment's own.
    """

    part: str
    settings: dict[str, Any]
    budget: float | None = None
    comparison: Comparison | None


class PartsComparison(Config):
    """What `compare` prints of an experiment with parts; one of `recipes` and `budgets` is null.

    `verdict` is the headline, in one sentence, made of the `statements`. `failures` and `pending` are those of all
    parts, each with its part's name in `part_of_failures` and `part_of_pending`, in the same order; with recipes those
    of seeds that only judge too, which stand in no part's own comparison: that is of the `seeds` of the experiment.
    `smallest_worthwhile` is the difference in nats per token below which two variants count as equal.
    """

    schema_version: Literal[1] = 1
    edition: int = PARTS_EDITION
    experiment: str
    baseline: str
    primary: str | None
    smallest_worthwhile: float
    seeds: list[int] = []  # noqa: RUF012 (a frozen model)
    verdict: str
    statements: list[str]
    conditions: Conditions | None = None
    recipes: Recipes | None
    budgets: Budgets | None
    parts: list[PartComparison]
    failures: list[RunFailure]
    part_of_failures: list[str]
    pending: list[Pending]
    part_of_pending: list[str]
    notes: list[str]
    sources: dict[str, str] = {}  # noqa: RUF012 (a frozen model); SHA-256 of every result and failure it is made of
