"""Where does a difference lie: on rare or frequent tokens, by the target or by the token before it? Free of torch.

Every token of the test split stands in one bin of each breakdown. Bins are of how often a token was a target in the
batches that a run consumed, once by the target and once by the token before it, which is where the input embedding
acts; and of kinds of tokens. Beside its nats stands the total probability that a variant gives to each bin: a variant
may score rare tokens better because it knows where they stand, or because it expects them everywhere.

In the bins of a breakdown the two tests of a verdict (tiedlm/comparison/judgement) are Holm-corrected within all that
could be tested. Bins with too few documents have no verdict.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from tiedlm.comparison.analyses.analysis import Analysis
from tiedlm.comparison.contrast import Verdict
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.judgement import holm_corrected, p_values_of, verdict_of
from tiedlm.comparison.pairing import pair_by_seed, pair_seeds
from tiedlm.comparison.statistics import Interval, mean, t_interval
from tiedlm.comparison.stored_scores import UnusableScoresError
from tiedlm.comparison.token_groups import By, GroupedScores, group_differences, group_scores, mean_movement
from tiedlm.config.base import Config
from tiedlm.evaluation.measures import nats_per_token
from tiedlm.run.token_types import BINS, SIDES

SPLIT = "test"
FEWEST_DOCUMENTS = 20
_NO_KINDS = "the tokenizer does not show what its tokens are pieces of"
_OTHER_TOKENS = "the two do not have the same tokens in each bin"

Scores = Mapping[str, Mapping[int, GroupedScores]]
"""By variant and seed."""


class BinScore(Config):
    """A variant on a bin: sums over its seeds. `mass` is the probability given to the bin, mean over all tokens."""

    variant: str
    tokens: int
    nll: float
    nats_per_token: float | None
    mass: float | None


class BinDifference(Config):
    """variant - baseline in nats per token of the bin over the `seeds` both have: below 0 favours the variant.

    `ci95_seeds` is a t-interval over seeds, `ci95_text` a bootstrap over documents with the seeds taken together.
    The p-values are Holm-corrected for the `num_corrected_for` tests of the breakdown, and so are the intervals over
    seeds beside them (null where nothing was corrected). `verdict` is null with `reason` where nothing could be tested.
    """

    variant: str
    mean: float | None = None
    ci95_seeds: Interval | None = None
    ci95_text: Interval | None = None
    seeds: list[int] = []  # noqa: RUF012 (a frozen model)
    per_seed: list[float] = []  # noqa: RUF012
    p_difference: float | None = None
    p_equal: float | None = None
    num_corrected_for: int = 1
    ci95_corrected: Interval | None = None
    ci90_corrected: Interval | None = None
    verdict: Verdict | None = None
    reason: str | None = None

    @property
    def interval(self) -> Interval | None:
        """The interval over seeds that goes with the verdict: at 95 %, corrected where the verdict is."""
        return self.ci95_corrected or self.ci95_seeds


class Bin(Config):
    """`types` of the vocabulary and `tokens` of the split that are in it, mean over all runs (seeds see other batches).

    `documents` hold such a token for one seed at least; `share` is of all tokens.
    """

    label: str
    types: float | None
    tokens: float
    share: float | None
    documents: int
    scores: list[BinScore]
    differences: list[BinDifference]


class Breakdown(Config):
    """All tokens of the split, each in one bin; none with the `reason`."""

    by: By
    bins: list[Bin] = []  # noqa: RUF012
    reason: str | None = None


class Moved(Config):
    """|end - start| / |start| of rows, mean over the `rows` in a bin and over seeds; null without one or from 0."""

    variant: str
    rows: float
    input: float | None
    output: float | None


class MovedBin(Config):
    """Rows by how often their token was a target or an input, whichever was more often; `label` "0": neither ever."""

    label: str
    variants: list[Moved]


class Frequency(Config):
    """Null lists with the `reason` where a run did not keep what is needed."""

    split: str = SPLIT
    breakdowns: list[Breakdown] = []  # noqa: RUF012
    movement: list[MovedBin] = []  # noqa: RUF012
    reason: str | None = None


def measure(finished: FinishedRuns) -> Frequency | None:
    """The test split of the variants that the config file names, broken down; None where none has finished."""
    runs = {variant: finished.by_variant[variant] for variant in finished.variants_of_file}
    if not runs:
        return None
    if any(SPLIT not in run.splits for members in runs.values() for run in members):
        return Frequency(reason=f"not every run scored the {SPLIT} split")
    try:
        scores = {
            variant: {run.seed: group_scores(run, SPLIT, finished.scores_of) for run in members}
            for variant, members in runs.items()
        }
    except UnusableScoresError as error:
        return Frequency(reason=str(error))
    return Frequency(
        breakdowns=[_breakdown(by, scores, finished) for by in get_args(By)],
        movement=[_moved_bin(index, label, scores) for index, label in enumerate(BINS)],
    )


def _breakdown(by: By, scores: Scores, finished: FinishedRuns) -> Breakdown:
    every = [one for members in scores.values() for one in members.values()]
    if any(by not in one.by for one in every):
        return Breakdown(by=by, reason=_NO_KINDS)
    labels = every[0].by[by].labels
    others = [variant for variant in scores if variant != finished.baseline] if finished.baseline_runs else []
    measured = [difference for variant in others for difference in _differences(variant, by, scores, finished)]
    judged = _judged(measured, finished.smallest_worthwhile)
    bins = [_bin(by, index, label, scores, judged[index :: len(labels)]) for index, label in enumerate(labels)]
    return Breakdown(by=by, bins=bins)


def _bin(by: By, index: int, label: str, scores: Scores, differences: list[BinDifference]) -> Bin:
    import numpy as np

    every = [one for members in scores.values() for one in members.values()]
    grouped = [one.by[by] for one in every]
    tokens = sum(one.num_tokens(index) for one in grouped) / len(every)
    total = sum(one.num_all_tokens for one in grouped) / len(every)
    holding = np.zeros(max(one.num.shape[1] for one in grouped), bool)
    for one in grouped:
        holding[: one.num.shape[1]] |= one.num[index] > 0
    return Bin(
        label=label,
        types=None if by == "kind" else sum(int((one.types.bins == index).sum()) for one in every) / len(every),
        tokens=tokens,
        share=tokens / total if total else None,
        documents=int(holding.sum()),
        scores=[_score(variant, by, index, list(members.values())) for variant, members in scores.items()],
        differences=differences,
    )


def _score(variant: str, by: By, index: int, scores: Sequence[GroupedScores]) -> BinScore:
    grouped = [one.by[by] for one in scores]
    nll = sum(float(one.nll[index].sum()) for one in grouped)
    tokens, total = sum(one.num_tokens(index) for one in grouped), sum(one.num_all_tokens for one in grouped)
    is_mass_known = by == "target" and total > 0
    return BinScore(
        variant=variant,
        tokens=tokens,
        nll=nll,
        nats_per_token=nats_per_token(nll, tokens),
        mass=sum(float(one.mass[index]) for one in scores) / total if is_mass_known else None,
    )


def _differences(variant: str, by: By, scores: Scores, finished: FinishedRuns) -> Iterator[BinDifference]:
    """A variant against the baseline in each bin; what is tested is not yet judged."""
    ours, theirs = scores[variant], scores[finished.baseline]
    labels = next(iter(ours.values())).by[by].labels
    pairing = pair_seeds(pair_by_seed(finished.by_variant[variant], finished.baseline_runs))
    seeds = [seed for seed in ours if seed in theirs]
    pairs = [(ours[seed].by[by], theirs[seed].by[by]) for seed in seeds]
    texts = {members[seed].text for members in (ours, theirs) for seed in seeds}
    if pairing.level == "none":
        yield from [BinDifference(variant=variant, reason="; ".join(pairing.reasons))] * len(labels)
    elif len(texts) > 1 or any(one.fingerprint != other.fingerprint for one, other in pairs):
        yield from [BinDifference(variant=variant, reason=_OTHER_TOKENS)] * len(labels)
    else:
        for group in group_differences(pairs, FEWEST_DOCUMENTS):
            yield BinDifference(
                variant=variant,
                mean=mean(group.per_pair) if group.per_pair else None,
                ci95_seeds=t_interval(group.per_pair) if group.per_pair else None,
                ci95_text=group.ci95_text,
                seeds=[seeds[place] for place in group.pairs],
                per_seed=group.per_pair,
                reason=_too_few(group.num_documents),
            )


def _too_few(num_documents: int) -> str | None:
    if num_documents >= FEWEST_DOCUMENTS:
        return None
    if num_documents == 0:
        return f"no such token in the {SPLIT} split"
    count = "one document has" if num_documents == 1 else f"{num_documents} documents have"
    return f"{count} such a token, and fewer than {FEWEST_DOCUMENTS} have no verdict"


def _judged(differences: Sequence[BinDifference], size: float) -> list[BinDifference]:
    """With their verdicts: all that can be tested is one family, within which either test is corrected."""
    in_family = {index: each for index, each in enumerate(differences) if each.reason is None}
    per_seed = {index: each.per_seed for index, each in in_family.items()}
    corrected = holm_corrected({index: p_values_of(each, size) for index, each in per_seed.items()}, per_seed)
    return [_with_verdict(each.model_copy(update=corrected.get(index, {}))) for index, each in enumerate(differences)]


def _with_verdict(tested: BinDifference) -> BinDifference:
    verdict = None if tested.reason else verdict_of(tested.per_seed, tested.p_difference, tested.p_equal)
    return tested.model_copy(update={"verdict": verdict})


def _moved_bin(index: int, label: str, scores: Scores) -> MovedBin:
    variants = [_moved(variant, index, list(members.values())) for variant, members in scores.items()]
    return MovedBin(label=label, variants=variants)


def _moved(variant: str, index: int, scores: Sequence[GroupedScores]) -> Moved:
    num_rows = sum(int((one.types.bins_seen == index).sum()) for one in scores)
    sides = {side: mean_movement(scores, side, index) for side in SIDES}
    return Moved(variant=variant, rows=num_rows / len(scores), **sides)


ANALYSIS = Analysis("frequency", Frequency, measure)
