"""What is asked of finished runs. Free of torch."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiedlm.evaluation.measures import SMALLEST_WORTHWHILE
from tiedlm.experiment.tuning import Tuning


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
