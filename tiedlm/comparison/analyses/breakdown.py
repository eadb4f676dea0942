"""From the stored scores of finished runs to their breakdown by frequency and kind. Free of torch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tiedlm.comparison.analyses.frequency import (
    FEWEST_DOCUMENTS,
    SPLIT,
    Bin,
    BinDifference,
    BinScore,
    Breakdown,
    Frequency,
    Moved,
    MovedBin,
)
from tiedlm.comparison.analyses.token_groups import By, CutUp, cut_up
from tiedlm.comparison.documents import ScoresOf, UnusableScoresError, bootstrap_ratios
from tiedlm.comparison.judgement import verdict_of
from tiedlm.comparison.pairing import pair_seeds
from tiedlm.comparison.significance import holm, p_of_difference, p_of_equality
from tiedlm.comparison.statistics import mean, t_interval
from tiedlm.evaluation.measures import nats_per_token
from tiedlm.run.result import RunResult
from tiedlm.run.token_types import BINS, SIDES

if TYPE_CHECKING:
    import numpy as np

_ALL: tuple[By, ...] = ("target", "preceding", "kind")
_NO_KINDS = "the tokenizer does not show what its tokens are pieces of"

Cuts = Mapping[str, Mapping[int, CutUp]]
"""By variant and seed."""


def break_down(
    runs: Mapping[str, Sequence[RunResult]], baseline: str, smallest_worthwhile: float, scores_of: ScoresOf
) -> Frequency | None:
    """Break down the test split for the finished runs of each variant; None without any."""
    if not runs:
        return None
    if any(SPLIT not in run.splits for own in runs.values() for run in own):
        return Frequency(reason=f"not every run scored the {SPLIT} split")
    try:
        cuts = {variant: {run.seed: cut_up(run, SPLIT, scores_of) for run in own} for variant, own in runs.items()}
    except UnusableScoresError as error:
        return Frequency(reason=str(error))
    unpaired = _unpaired(runs, baseline)
    return Frequency(
        breakdowns=[_breakdown(by, cuts, baseline, unpaired, smallest_worthwhile) for by in _ALL],
        movement=list(_movement(cuts)),
    )


def _unpaired(runs: Mapping[str, Sequence[RunResult]], baseline: str) -> dict[str, str | None]:
    """For each variant beside the baseline, why its runs are no pairs with those of the baseline; None: they are."""
    base = {run.seed: run for run in runs.get(baseline, [])}
    found: dict[str, str | None] = {}
    for variant, own in runs.items():
        if variant != baseline and base:
            pairing = pair_seeds([(run, base[run.seed]) for run in own if run.seed in base])
            found[variant] = "; ".join(pairing.reasons) if pairing.level == "none" else None
    return found


def _breakdown(
    by: By, cuts: Cuts, baseline: str, unpaired: Mapping[str, str | None], smallest_worthwhile: float
) -> Breakdown:
    every = [cut for own in cuts.values() for cut in own.values()]
    if any(by not in cut.by for cut in every):
        return Breakdown(by=by, reason=_NO_KINDS)
    labels = every[0].by[by].labels
    measured = [
        difference
        for variant, reason in unpaired.items()
        for difference in (
            _differences(variant, by, cuts[variant], cuts[baseline])
            if reason is None
            else [BinDifference(variant=variant, reason=reason)] * len(labels)
        )
    ]
    differences = _judged(measured, smallest_worthwhile)
    bins = [_bin(by, index, label, cuts, differences[index :: len(labels)]) for index, label in enumerate(labels)]
    return Breakdown(by=by, bins=bins)


def _bin(by: By, index: int, label: str, cuts: Cuts, differences: list[BinDifference]) -> Bin:
    import numpy as np

    every = [cut for own in cuts.values() for cut in own.values()]
    tokens, total = (sum(part) / len(every) for part in zip(*(_tokens(cut, by, index) for cut in every), strict=True))
    num_documents = max(cut.by[by].num.shape[1] for cut in every)
    holding = np.zeros(num_documents, bool)
    for cut in every:
        here = cut.by[by].num[index] > 0
        holding[: len(here)] |= here
    return Bin(
        label=label,
        types=None if by == "kind" else sum(int((cut.types.bins == index).sum()) for cut in every) / len(every),
        tokens=tokens,
        share=tokens / total if total else None,
        documents=int(holding.sum()),
        scores=[_score(variant, by, index, list(own.values())) for variant, own in cuts.items()],
        differences=differences,
    )


def _tokens(cut: CutUp, by: By, index: int) -> tuple[int, int]:
    """In the bin, and in all."""
    return int(cut.by[by].num[index].sum()), int(cut.by[by].num.sum())


def _score(variant: str, by: By, index: int, cuts: Sequence[CutUp]) -> BinScore:
    nll = sum(float(cut.by[by].nll[index].sum()) for cut in cuts)
    tokens, total = (sum(part) for part in zip(*(_tokens(cut, by, index) for cut in cuts), strict=True))
    is_mass_known = by == "target" and total > 0
    return BinScore(
        variant=variant,
        tokens=tokens,
        nll=nll,
        nats_per_token=nats_per_token(nll, tokens),
        mass=sum(float(cut.mass[index]) for cut in cuts) / total if is_mass_known else None,
    )


def _differences(variant: str, by: By, own: Mapping[int, CutUp], base: Mapping[int, CutUp]) -> Iterator[BinDifference]:
    """For each bin; what is tested is not yet corrected."""
    import numpy as np

    seeds = [seed for seed in own if seed in base]
    pairs = [(own[seed].by[by], base[seed].by[by]) for seed in seeds]
    one_text = len({cuts[seed].text for cuts in (own, base) for seed in seeds}) == 1
    if not one_text or any(one.fingerprint != other.fingerprint for one, other in pairs):
        reason = "the two do not have the same tokens in each bin"
        yield from (BinDifference(variant=variant, reason=reason) for _ in pairs[0][0].labels)
        return
    nll = np.stack([one.nll - other.nll for one, other in pairs])  # (S, G, K)
    num = np.stack([one.num for one, _ in pairs])
    documents = (num > 0).any(axis=0).sum(axis=1)  # (G,)
    enough = documents >= FEWEST_DOCUMENTS
    intervals = iter(bootstrap_ratios(nll.mean(axis=0)[enough], num.mean(axis=0)[enough]) if enough.any() else [])
    for index, num_documents in enumerate(documents.tolist()):
        there = [place for place in range(len(seeds)) if num[place, index].any()]
        per_seed = [float(nll[place, index].sum() / num[place, index].sum()) for place in there]
        yield BinDifference(
            variant=variant,
            mean=mean(per_seed) if per_seed else None,
            ci95_seeds=t_interval(per_seed) if per_seed else None,
            ci95_text=next(intervals) if enough[index] else None,
            seeds=[seeds[place] for place in there],
            per_seed=per_seed,
            reason=None if enough[index] else _too_few(num_documents),
        )


def _too_few(num_documents: int) -> str:
    if num_documents == 0:
        return f"no such token in the {SPLIT} split"
    count = "one document has" if num_documents == 1 else f"{num_documents} documents have"
    return f"{count} such a token, and fewer than {FEWEST_DOCUMENTS} have no verdict"


def _judged(differences: Sequence[BinDifference], size: float) -> list[BinDifference]:
    """With their verdicts: all that can be tested is one family, within which either test is corrected."""
    tests = {
        index: (p_difference, p_equal)
        for index, found in enumerate(differences)
        if found.reason is None
        and (p_difference := p_of_difference(found.per_seed)) is not None
        and (p_equal := p_of_equality(found.per_seed, size)) is not None
    }
    corrected = zip(*(holm(p_values) for p_values in zip(*tests.values(), strict=True)), strict=True)
    known = dict(zip(tests, corrected, strict=True))
    judged: list[BinDifference] = []
    for index, found in enumerate(differences):
        p_difference, p_equal = known.get(index, (None, None))
        update = {
            "p_difference": p_difference,
            "p_equal": p_equal,
            "num_corrected_for": len(known) if index in known else 1,
            "verdict": None if found.reason else verdict_of(found.per_seed, p_difference, p_equal),
        }
        judged.append(found.model_copy(update=update))
    return judged


def _movement(cuts: Cuts) -> Iterator[MovedBin]:
    for index, label in enumerate(BINS):
        variants = [_moved(variant, index, list(own.values())) for variant, own in cuts.items()]
        yield MovedBin(label=label, variants=variants)


def _moved(variant: str, index: int, cuts: Sequence[CutUp]) -> Moved:
    members = [cut.types.bins_seen == index for cut in cuts]
    sides = {
        side: _mean_of([cut.types.moved[side][rows] for cut, rows in zip(cuts, members, strict=True)]) for side in SIDES
    }
    return Moved(variant=variant, rows=sum(int(rows.sum()) for rows in members) / len(cuts), **sides)


def _mean_of(rows: Sequence["np.ndarray"]) -> float | None:
    """Of each seed's mean; None where a row's movement is not known or there is none."""
    import numpy as np

    means = [float(moved.mean(dtype=np.float64)) for moved in rows if len(moved)]
    return mean(means) if means and not any(map(np.isnan, means)) else None
