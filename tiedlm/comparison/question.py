"""What is asked of finished runs. Free of torch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiedlm.evaluation.measures import SMALLEST_WORTHWHILE
from tiedlm.experiment.tuning import Tuning

if TYPE_CHECKING:
    from tiedlm.comparison.comparison import Comparison


@dataclass(frozen=True)
class Question:
    """Which variants are compared with which baseline, and what counts as a difference.

    `order` lists the variants as they are to be shown; those without a run are left out. `planned` maps variants to
    their seeds: of these, what has neither finished nor failed is still to come. `primary` is the variant whose
    comparison is not corrected for the others; null: the first of the config file beside the baseline.
    `smallest_worthwhile` is the difference in nats per token below which two variants count as equal. `tuning` is what
    was tried before the runs.
    """

    name: str
    baseline: str
    order: tuple[str, ...]
    planned: dict[str, tuple[int, ...]] | None = None
    primary: str | None = None
    smallest_worthwhile: float = SMALLEST_WORTHWHILE
    tuning: Tuning | None = None


def default_primary(variants: Iterable[str], baseline: str) -> str | None:
    """The first variant that is not the baseline; null where there is none."""
    return next((variant for variant in variants if variant != baseline), None)


def question_of(stored: "Comparison") -> Question:
    """The question that a stored comparison answers, as far as its runs are finished, failed or still to come."""
    planned: dict[str, tuple[int, ...]] = {}
    for run in stored.pending:
        planned[run.variant] = (*planned.get(run.variant, ()), run.seed)
    return Question(
        name=stored.experiment,
        baseline=stored.baseline,
        order=tuple(variant.name for variant in stored.variants),
        planned=planned,
        primary=stored.primary,
        smallest_worthwhile=stored.smallest_worthwhile,
        tuning=stored.tuning,
    )
