"""The finished runs of a comparison: what every analysis and the verdict are made of. Free of torch."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from tiedlm.comparison.contrast import COMPARED_SPLITS, Difference, contrasts
from tiedlm.comparison.judgement import judge
from tiedlm.comparison.pooling import check_alike
from tiedlm.comparison.question import Question, default_primary
from tiedlm.comparison.stored_scores import MetricsOf, ScoresOf
from tiedlm.comparison.variant_summary import has_split
from tiedlm.config.base import ConfigError, Problem
from tiedlm.run.added import Added
from tiedlm.run.result import RunResult


@dataclass(frozen=True)
class FinishedRuns:
    """Runs by variant, in the order in which variants are shown, each with at least one run and sorted by seed.

    `scores_of` finds the file with the scores of each token of a run, `metrics_of` its journal; None where no such
    files are known.
    """

    by_variant: Mapping[str, Sequence[RunResult]]
    question: Question
    scores_of: ScoresOf | None = None
    metrics_of: MetricsOf | None = None

    @classmethod
    def of(
        cls,
        results: Sequence[RunResult],
        question: Question,
        scores_of: ScoresOf | None = None,
        metrics_of: MetricsOf | None = None,
    ) -> Self:
        """Sort results.

        Raises ConfigError where two are of one variant and seed, or are not alike enough to be pooled.
        """
        by_variant: dict[str, list[RunResult]] = {}
        for variant in dict.fromkeys([*question.order, *(result.variant for result in results)]):
            runs = sorted((result for result in results if result.variant == variant), key=lambda run: run.seed)
            for one, other in itertools.pairwise(runs):
                if one.seed == other.seed:
                    raise ConfigError(Problem("", f"two finished runs are both {variant} with seed {one.seed}"))
            if runs:
                by_variant[variant] = runs
        check_alike([run for runs in by_variant.values() for run in runs])
        return cls(by_variant, question, scores_of, metrics_of)

    @property
    def every_run(self) -> list[RunResult]:
        """The runs of all variants."""
        return [run for runs in self.by_variant.values() for run in runs]

    @property
    def num_seeds(self) -> int:
        """How many seeds have finished in any variant."""
        return len({run.seed for run in self.every_run})

    @property
    def baseline(self) -> str:
        """The variant that the others are compared with; it may not have finished."""
        return self.question.baseline

    @property
    def baseline_runs(self) -> Sequence[RunResult]:
        """The finished runs of the baseline, maybe none."""
        return self.by_variant.get(self.baseline, ())

    @property
    def smallest_worthwhile(self) -> float:
        """The difference in nats per token below which two variants count as equal."""
        return self.question.smallest_worthwhile

    def added(self, variant: str) -> Added | None:
        """Why the plan added this variant; None where the config file names it."""
        added = self.by_variant[variant][0].config.get("added")
        return Added.model_validate(added) if added else None

    @property
    def variants_of_file(self) -> list[str]:
        """The variants that the config file names, and the baseline whatever it is: those that are judged together."""
        return [variant for variant in self.by_variant if variant == self.baseline or self.added(variant) is None]

    @property
    def primary(self) -> str | None:
        """The variant whose comparison is not corrected for the others."""
        added = {*self.by_variant} - {*self.variants_of_file}
        in_question = [variant for variant in self.question.order if variant not in added]
        return self.question.primary or default_primary(in_question, self.baseline)

    def deciding_split(self, *variants: str) -> str | None:
        """`test` where all runs of these variants (none named: of all) scored it, else `validation`, else None."""
        runs = [run for variant in variants or self.by_variant for run in self.by_variant[variant]]
        return next((split for split in COMPARED_SPLITS if has_split(runs, split)), None)

    @cached_property
    def contrasts(self) -> dict[str, list[Difference]]:
        """For each variant beside the baseline, its differences to it on each split, not yet judged."""
        return {
            variant: contrasts(runs, self.baseline_runs, self.scores_of)
            for variant, runs in self.by_variant.items()
            if variant != self.baseline and self.baseline_runs
        }

    @cached_property
    def differences(self) -> list[Difference]:
        """Those of the variants that the file names, judged together."""
        measured = [difference for variant in self.variants_of_file for difference in self.contrasts.get(variant, [])]
        return judge(measured, self.primary, self.smallest_worthwhile)

    def notes(self) -> Iterator[str]:
        """What a reader of the figures must know and would not see in them."""
        if len({tuple(run.seed for run in runs) for runs in self.by_variant.values()}) > 1:
            yield (
                "The variants have different seeds finished: each perplexity is over its own seeds, "
                "the differences are over the seeds in common."
            )
        for variant, runs in self.by_variant.items():
            if any(run.parameters != runs[0].parameters for run in runs):
                shown = f"those of seed {runs[0].seed} are shown"
                yield f"{variant}: the seeds do not have the same parameter counts; {shown}."
        if len({run.corpus.caption for run in self.every_run}) > 1:
            yield "The runs are not all on the same text."
        if self.scores_of is not None:
            yield from self._lost_intervals()

    def _lost_intervals(self) -> Iterator[str]:
        """Where an interval over documents could have been, had the scores of each token been there."""
        splits_of: dict[tuple[str, str | None], list[str]] = {}
        for difference in self.differences:
            if difference.mean is not None and difference.num_documents is None:
                splits_of.setdefault((difference.variant, difference.text_reason), []).append(difference.split)
        for (variant, reason), splits in splits_of.items():
            yield f"{variant}: no interval over the documents of {' and '.join(splits)}, for {reason}."
