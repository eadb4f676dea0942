"""Where a difference lies: by how often tokens were seen, by kind, and what a variant expects of rare ones."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.analyses.frequency import Bin, BinDifference, Breakdown, Frequency, MovedBin
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.verdict import UNIT, signed_together
from tiedlm.report.figures import numbers
from tiedlm.report.figures.records import Records, Row

_AXES = {
    "target": "frequency of the target",
    "preceding": "frequency of the token before the target",
    "kind": "kind of the target",
}
_PHRASES = {
    "target": "targets seen {} times",
    "preceding": "targets that follow a token seen {} times",
    "kind": "targets of the kind {}",
}
_VERDICTS = {
    "better": "better",
    "worse": "worse",
    "equal": "equal",
    "no_difference": "no difference",
    "cannot_tell": "cannot tell",
    None: numbers.NOTHING,
}
_MOST_SAID = 2
_DECIMALS = 4


def frequency_records(comparison: Comparison) -> list[Records]:
    """For each breakdown what stands in its bins and each variant against the baseline; then how far rows moved."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return []
    records: list[Records] = []
    for breakdown in frequency.breakdowns:
        bins = [found for found in breakdown.bins if found.tokens or (found.types and breakdown.by == "target")]
        if bins:
            records += [_contents(frequency, breakdown, bins), *_given(frequency, bins)]
            records += [_against(comparison, breakdown, bins, place) for place in range(len(bins[0].differences))]
    return [*records, *_movement(frequency.movement)]


def _contents(frequency: Frequency, breakdown: Breakdown, bins: Sequence[Bin]) -> Records:
    """How much is in each bin."""
    rows = [
        Row.of("tokens", (_number(found.tokens) for found in bins)),
        Row.of("documents", (numbers.count(found.documents) for found in bins)),
        Row.of("share", (_percent(found.share) for found in bins)),
    ]
    if any(found.types is not None for found in bins):
        rows.insert(0, Row.of("types", (_number(found.types) for found in bins)))
    title = f"{_capital(frequency.split)} tokens by {_AXES[breakdown.by]}"
    return Records(_labels(bins), tuple(rows), across="lines", title=title)


def _given(frequency: Frequency, bins: Sequence[Bin]) -> Iterator[Records]:
    """What each variant expects, beside what came; where that was stored."""
    rows = [
        Row.of(score.variant, (_percent(found.scores[place].mass) for found in bins))
        for place, score in enumerate(bins[0].scores)
        if any(found.scores[place].mass is not None for found in bins)
    ]
    if rows:
        rows.insert(0, Row.of("share of the tokens", (_percent(found.share) for found in bins)))
        title = f"Probability given to targets by their frequency, mean over all {frequency.split} tokens"
        yield Records(_labels(bins), tuple(rows), title=title)


def _against(comparison: Comparison, breakdown: Breakdown, bins: Sequence[Bin], place: int) -> Records:
    """One variant and the baseline, bin by bin."""
    variant = bins[0].differences[place].variant
    differences = [found.differences[place] for found in bins]
    over_seeds = any(difference.ci95_seeds for difference in differences)
    over_documents = not over_seeds and any(difference.ci95_text for difference in differences)
    over = " (95 % interval over seeds)" if over_seeds else " (95 % interval over documents)" if over_documents else ""
    rows = [
        *(Row.of(name, (_nats(found, name) for found in bins)) for name in (variant, comparison.baseline)),
        Row.of("difference", (_difference(found.differences[place], over_seeds) for found in bins)),
        Row.of("verdict", (_VERDICTS[found.differences[place].verdict] for found in bins)),
    ]
    what = f"{variant} against {comparison.baseline} by {_AXES[breakdown.by]}"
    title = f"{what}, {UNIT}{over}"
    return Records(_labels(bins), tuple(rows), across="lines", title=title)


def _movement(movement: Sequence[MovedBin]) -> Iterator[Records]:
    """One column where both sides are one matrix."""
    bins = [found for found in movement if any(moved.rows for moved in found.variants)]
    if not bins:
        return
    rows = [Row.of("rows", (_number(found.variants[0].rows) for found in bins))]
    for place, moved in enumerate(bins[0].variants):
        inputs = [found.variants[place].input for found in bins]
        outputs = [found.variants[place].output for found in bins]
        name = moved.variant
        sides = {name: inputs} if inputs == outputs else {f"{name}, input": inputs, f"{name}, output": outputs}
        rows += [Row.of(label, (numbers.decimal(value, 3) for value in values)) for label, values in sides.items()]
    title = "How far embedding rows moved, |end - start| / |start|, by frequency of token"
    yield Records(_labels(bins), tuple(rows), title=title)


def _labels(bins: Sequence[Bin] | Sequence[MovedBin]) -> tuple[str, ...]:
    return tuple(found.label for found in bins)


def frequency_notes(comparison: Comparison) -> Iterator[str]:
    """How to read these tables, and why a breakdown or a verdict in one is missing."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return
    if frequency.reason:
        yield f"By frequency of tokens: nothing, {frequency.reason}."
    else:
        yield from _legend(frequency)
    for breakdown in frequency.breakdowns:
        if breakdown.reason:
            yield f"By {_AXES[breakdown.by]}: nothing, {breakdown.reason}."
        yield from _without_verdict(breakdown)


def _without_verdict(breakdown: Breakdown) -> Iterator[str]:
    """Each reason once, with the bins that have it."""
    bins_of: dict[str, dict[str, None]] = {}
    for found in breakdown.bins:
        for difference in found.differences:
            if difference.reason and found.tokens:
                bins_of.setdefault(difference.reason, {})[found.label] = None
    for reason, labels in bins_of.items():
        which = _PHRASES[breakdown.by].format(", ".join(labels))
        yield f"{_capital(which)}: no verdict, {reason}."


def _legend(frequency: Frequency) -> Iterator[str]:
    yield (
        "frequency: how often a token was a target in the batches of training; the token before the target is where "
        "the input embedding acts. Probability given: to all targets of a bin together, whatever came."
    )
    differences = [found for part in frequency.breakdowns for place in part.bins for found in place.differences]
    if any(len(found.per_seed) > 1 for found in differences):
        yield (
            "difference: mean over seeds of each seed's. Other batches put other tokens into a bin, so that the nats "
            "of both variants, over all seeds, need not differ by as much."
        )
    if any(found.p_difference is not None for found in differences):
        yield "Verdicts on bins are exploratory, Holm-corrected within each breakdown; the intervals shown are not."
    yield "rows moved: mean over the rows of a bin and over seeds; 0 are those of tokens that training never showed."


def frequency_remarks(comparison: Comparison) -> Iterator[str]:
    """Where the verdict on a bin is another one than that on the whole: one sentence, on the first such variant."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return
    found = sorted(comparison.differences, key=lambda difference: not difference.is_primary)
    for overall in (difference for difference in found if difference.split == frequency.split):
        others = [
            (breakdown, place, difference)
            for breakdown in frequency.breakdowns
            for place in breakdown.bins
            for difference in place.differences
            if difference.variant == overall.variant
            and difference.verdict not in (None, "cannot_tell", overall.verdict)
        ]
        others.sort(key=lambda other: _contrast(other[2]), reverse=True)
        if others:
            whole = _on_the_whole(overall.variant, comparison.baseline, overall.verdict, frequency.split)
            said = "; ".join(_bin_in_words(comparison.baseline, *other) for other in others[:_MOST_SAID])
            more = f"; and {len(others) - _MOST_SAID} more" if len(others) > _MOST_SAID else ""
            yield f"{whole}, but {overall.variant} is {said}{more} (exploratory, Holm-corrected; see --details)."
            return


def _contrast(difference: BinDifference) -> tuple[bool, float]:
    """The larger, the more it is worth telling: a direction before none, then by size."""
    return difference.verdict in ("better", "worse"), abs(difference.mean or 0.0)


def _on_the_whole(variant: str, baseline: str, verdict: str, split: str) -> str:
    if verdict == "cannot_tell":
        return f"{variant} and {baseline} cannot be told apart on the whole of {split}"
    relation = {"equal": "equal to", "no_difference": "no different from"}.get(verdict, f"{verdict} than")
    return f"{variant} is {relation} {baseline} on the whole of {split}"


def _bin_in_words(baseline: str, breakdown: Breakdown, found: Bin, difference: BinDifference) -> str:
    """ "better by 0.310 on targets seen 1-9 times (given 2.1 % of the probability, by untied 1.6 %; 1.9 % of ..)"."""
    size = ""
    if difference.mean is not None and difference.verdict in ("better", "worse"):
        size = f" by {signed_together(difference.mean)[0].lstrip('+-')}"
    said = f"{_VERDICTS[difference.verdict]}{size} on {_PHRASES[breakdown.by].format(found.label)}"
    masses = {score.variant: score.mass for score in found.scores}
    mine, theirs = masses.get(difference.variant), masses.get(baseline)
    if mine is None or theirs is None:
        return said
    given = f"given {_percent(mine)} of the probability, by {baseline} {_percent(theirs)}"
    return f"{said} ({given}; {_percent(found.share)} of the tokens)"


def _difference(difference: BinDifference, over_seeds: bool) -> str:
    """ "-0.3100 [-0.3500, -0.2700]", as many decimals as the nats beside it; maybe without an interval."""
    if difference.mean is None:
        return numbers.NOTHING
    interval = difference.ci95_seeds if over_seeds else difference.ci95_text
    middle, *ends = (f"{value:+.{_DECIMALS}f}" for value in (difference.mean, *(interval or ())))
    return f"{middle} [{', '.join(ends)}]" if ends else middle


def _nats(found: Bin, variant: str) -> str:
    nats = next((score.nats_per_token for score in found.scores if score.variant == variant), None)
    return numbers.decimal(nats, _DECIMALS)


def _number(value: float | None) -> str:
    """A count; with a decimal where it is a mean over seeds that is not whole."""
    return numbers.decimal(value, 0 if value is None or value == round(value) else 1)


def _percent(share: float | None) -> str:
    """Two digits at least of what is small."""
    return numbers.NOTHING if share is None else f"{100 * share:.{2 if share < 0.1 else 1}f} %"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
