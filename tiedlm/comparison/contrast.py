"""A variant against the baseline on one split, as measured: the difference, its intervals, and its pairing."""

from collections.abc import Iterable, Sequence
from typing import Literal

from tiedlm.comparison.bootstrap import OverText, over_text
from tiedlm.comparison.pairing import Pairing, pair_by_seed, pair_seeds
from tiedlm.comparison.settings import config_differences, names_file
from tiedlm.comparison.statistics import PairedDifference, paired_difference
from tiedlm.comparison.stored_scores import ScoresOf
from tiedlm.comparison.variant_summary import has_split
from tiedlm.config.base import Config
from tiedlm.evaluation.absence import NOT_STORED, ONE_SEED, Reasons, known_reasons
from tiedlm.run.result import RunResult

Verdict = Literal["better", "worse", "equal", "no_difference", "cannot_tell"]
"""Of the variant. `no_difference`: equal to the last bit in every pair. `equal`: within a size too small to matter."""
COMPARED_SPLITS = ("test", "validation")
"""The splits on which variants are compared; the first that all runs scored decides."""


class Difference(Config):
    """variant - baseline over the seeds both have finished: below 0 favours the variant.

    `mean` is null where the two did not score the same tokens, the intervals over seeds ([low, high], never corrected)
    for one seed and where the seeds are no pairs. `ci95_text` is over the `num_documents` of the text, for these very
    checkpoints; null with `text_reason`. The verdict and what it rests on are those of tiedlm/comparison/judgement:
    the p-values of "not 0" and of "within the smallest worthwhile size", corrected for `num_corrected_for` comparisons
    (1: not corrected), and the range of seeds that would tell where they do not. `ci95_corrected` and `ci90_corrected`
    are the intervals that exclude 0, or lie within that size, exactly where the corrected p-values say so; null where
    nothing is corrected. `config_differences` are the dotted config keys in which the two differ, of those that say
    what a run computes; a key that comes with one's kind of tying alone counts only where it is not at its default.
    """

    variant: str
    baseline: str
    split: str
    metric: Literal["nats_per_token"] = "nats_per_token"
    mean: float | None
    ci95_seeds: tuple[float, float] | None
    ci90_seeds: tuple[float, float] | None = None
    ci95_text: tuple[float, float] | None
    num_documents: int | None
    text_reason: str | None
    num_seeds: int
    seeds: list[int]
    per_seed: list[float]
    is_primary: bool = False
    p_difference: float | None = None
    p_equal: float | None = None
    num_corrected_for: int = 1
    ci95_corrected: tuple[float, float] | None = None
    ci90_corrected: tuple[float, float] | None = None
    verdict: Verdict = "cannot_tell"
    seeds_needed: tuple[int, int] | None = None
    pairing: Pairing
    config_differences: list[str]
    absent: Reasons = {}  # noqa: RUF012 (a frozen model); why `mean` or an interval is null, by its key

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval over seeds that goes with the verdict: at 95 %, corrected where the verdict is."""
        return self.ci95_corrected or self.ci95_seeds


def contrast(
    variant: Sequence[RunResult], baseline: Sequence[RunResult], split: str, scores_of: ScoresOf | None = None
) -> Difference:
    """Measure the runs of a variant against those of the baseline, paired by seed; the verdict is still open.

    Without `scores_of` there is no interval over documents.
    """
    pairs = pair_by_seed(variant, baseline)
    pairing = pair_seeds(pairs)
    comparable = bool(pairs) and all(same_tokens(pair, split) for pair in pairs)
    measured = _measure(pairs, split) if comparable else None
    interval = measured.interval if measured and pairing.level != "none" else None
    no_mean = None if comparable else _why_not(pairs)
    over = over_text(pairs, split, scores_of) if comparable else OverText(reason="no tokens were scored by both")
    return Difference(
        variant=variant[0].variant,
        baseline=baseline[0].variant,
        split=split,
        mean=measured.mean if measured else None,
        ci95_seeds=interval,
        ci95_text=over.interval,
        num_documents=over.num_documents,
        text_reason=over.reason,
        num_seeds=len(pairs),
        seeds=[run.seed for run, _ in pairs],
        per_seed=list(measured.differences) if measured else [],
        pairing=pairing,
        config_differences=_differing_keys(variant[0], baseline[0]),
        absent=known_reasons(
            {
                "mean": no_mean,
                "ci95_seeds": None if interval else no_mean or _why_no_interval(pairing, len(pairs)),
                "ci95_text": None if over.interval else over.reason or NOT_STORED,
            }
        ),
    )


def _why_not(pairs: Sequence[tuple[RunResult, RunResult]]) -> str:
    return "they did not score the same tokens" if pairs else "no seed has finished in both"


def _why_no_interval(pairing: Pairing, num_pairs: int) -> str:
    if pairing.level == "none":
        return f"the runs are not pairs ({'; '.join(pairing.reasons)})"
    return ONE_SEED if num_pairs == 1 else NOT_STORED


def contrasts(
    variant: Sequence[RunResult], baseline: Sequence[RunResult], scores_of: ScoresOf | None
) -> list[Difference]:
    """The differences on test and on validation, so far as all the runs scored them."""
    return [
        contrast(variant, baseline, split, scores_of)
        for split in COMPARED_SPLITS
        if has_split([*variant, *baseline], split)
    ]


def same_tokens(runs: Iterable[RunResult], split: str) -> bool:
    """Whether all runs scored the same tokens of a split, and at least one."""
    scored = {(run.hashes.tokens, run.splits[split].tokens) for run in runs}
    return len(scored) == 1 and all(tokens > 0 for _, tokens in scored)


def nats(runs: Iterable[RunResult], split: str) -> list[float]:
    """The nats per token of each run on a split."""
    return [run.splits[split].nll / run.splits[split].tokens for run in runs]


def _measure(pairs: Sequence[tuple[RunResult, RunResult]], split: str) -> PairedDifference:
    return paired_difference(nats((run for run, _ in pairs), split), nats((run for _, run in pairs), split))


def _differing_keys(variant: RunResult, baseline: RunResult) -> list[str]:
    """Those of the configs; of files with the same content the paths are no difference."""
    keys = config_differences(variant.config, baseline.config)
    mine, theirs = variant.hashes, baseline.hashes
    if not keys or (mine.corpus, mine.tokens) != (theirs.corpus, theirs.tokens):
        return keys
    return [key for key in keys if not names_file(key)]
