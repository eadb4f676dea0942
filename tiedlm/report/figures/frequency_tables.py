"""Tables on where a difference lies: each breakdown bin by bin, and how far the rows of the embeddings moved."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tiedlm.comparison.analyses.frequency import Bin, BinDifference, Breakdown, Frequency, MovedBin
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.verdict import UNIT
from tiedlm.evaluation.absence import ONE_SEED
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import known
from tiedlm.report.figures.table import Absence, Row, Shown, Table
from tiedlm.report.figures.text import capitalized, key_in_words

_DECIMALS = 4


class Axis(NamedTuple):
    """How a breakdown is called in titles of tables, its bins in sentences, and its chart."""

    name: str
    bins: str
    chart: str


AXES = {
    "target": Axis("frequency of the target", "targets seen {} times", "how often the target was seen in training"),
    "preceding": Axis(
        "frequency of the token before the target",
        "targets that follow a token seen {} times",
        "how often the token before the target was seen",
    ),
    "kind": Axis("kind of the target", "targets of the kind {}", "the kind of the target"),
}


def frequency_tables(comparison: Comparison) -> list[Table]:
    """For each breakdown what stands in its bins and each variant against the baseline; then how far rows moved."""
    frequency = comparison.analysis(Frequency)
    if frequency is None:
        return []
    tables: list[Table] = []
    for breakdown in frequency.breakdowns:
        bins = [found for found in breakdown.bins if found.tokens or (found.types and breakdown.by == "target")]
        if bins:
            tables += [_contents(frequency, breakdown, bins), *_given(frequency, bins)]
            tables += [_against(comparison, breakdown, bins, place) for place in range(len(bins[0].differences))]
    return [*tables, *_movement(frequency.movement)]


def _contents(frequency: Frequency, breakdown: Breakdown, bins: Sequence[Bin]) -> Table:
    """How much is in each bin, mean over all runs where these do not agree."""
    mean = _mean_of(count for found in bins for count in (found.types, found.tokens) if count is not None)
    rows = [
        Row.of(f"tokens{mean}", (_number(found.tokens) for found in bins)),
        Row.of("documents", (numbers.count(found.documents) for found in bins)),
        Row.of("share", (_share(found.share) for found in bins)),
    ]
    if any(found.types is not None for found in bins):
        rows.insert(0, Row.of(f"types{mean}", (known(found.types, _number, "not counted") for found in bins)))
    title = f"{capitalized(frequency.split)} tokens by {AXES[breakdown.by].name}"
    return Table(_labels(bins), tuple(rows), names_as="lines", title=title)


def _given(frequency: Frequency, bins: Sequence[Bin]) -> Iterator[Table]:
    """What each variant expects, beside what came; where that was stored."""
    rows = [
        Row.of(score.variant, (_share(found.scores[place].mass) for found in bins))
        for place, score in enumerate(bins[0].scores)
        if any(found.scores[place].mass is not None for found in bins)
    ]
    if rows:
        rows.insert(0, Row.of("share of the tokens", (_share(found.share) for found in bins)))
        title = f"Probability given to targets by their frequency, mean over all {frequency.split} tokens"
        yield Table(_labels(bins), tuple(rows), title=title)


def _against(comparison: Comparison, breakdown: Breakdown, bins: Sequence[Bin], place: int) -> Table:
    """One variant and the baseline, bin by bin."""
    variant = bins[0].differences[place].variant
    differences = [found.differences[place] for found in bins]
    over_seeds = any(difference.ci95_seeds for difference in differences)
    over_documents = not over_seeds and any(difference.ci95_text for difference in differences)
    over = " (95 % interval over seeds)" if over_seeds else " (95 % interval over documents)" if over_documents else ""
    rows = [
        *(Row.of(name, (_nats(found, name) for found in bins)) for name in (variant, comparison.baseline)),
        Row.of("difference", (_difference(found.differences[place], over_seeds) for found in bins)),
        Row.of("verdict", (_verdict(found.differences[place]) for found in bins)),
    ]
    what = f"{variant} against {comparison.baseline} by {AXES[breakdown.by].name}"
    title = f"{what}, {UNIT}{over}"
    return Table(_labels(bins), tuple(rows), names_as="lines", title=title)


def _movement(movement: Sequence[MovedBin]) -> Iterator[Table]:
    """One column where both sides are one matrix."""
    bins = [found for found in movement if any(moved.rows for moved in found.variants)]
    if not bins:
        return
    counts = [found.variants[0].rows for found in bins]
    rows = [Row.of(f"rows{_mean_of(counts)}", map(_number, counts))]
    for place, moved in enumerate(bins[0].variants):
        inputs = [found.variants[place].input for found in bins]
        outputs = [found.variants[place].output for found in bins]
        name = moved.variant
        sides = {name: inputs} if inputs == outputs else {f"{name}, input": inputs, f"{name}, output": outputs}
        rows += [Row.of(label, map(_moved, values)) for label, values in sides.items()]
    title = "How far embedding rows moved, |end - start| / |start|, by frequency of token"
    yield Table(_labels(bins), tuple(rows), title=title)


def _share(value: float | None) -> Shown:
    return known(value, numbers.share_percent, "no token was scored, or what was given to it was not stored")


def _labels(bins: Sequence[Bin] | Sequence[MovedBin]) -> tuple[str, ...]:
    return tuple(found.label for found in bins)


def _moved(value: float | None) -> Shown:
    return known(value, lambda known: numbers.decimal(known, 3), "no such row, or one that started at 0")


def _difference(difference: BinDifference, over_seeds: bool) -> Shown:
    """ "-0.3100 [-0.3500, -0.2700]", as many decimals as the nats beside it; over seeds the interval of the verdict."""
    if difference.mean is None:
        return Absence(difference.reason or "not measured")
    interval = difference.interval if over_seeds else difference.ci95_text
    shown = numbers.bracketed(*(f"{value:+.{_DECIMALS}f}" for value in (difference.mean, *(interval or ()))))
    return shown if interval else Absence(ONE_SEED, shown, "no interval")


def _verdict(difference: BinDifference) -> Shown:
    return Absence(difference.reason or "not measured") if difference.verdict is None else verdict_in_words(difference)


def verdict_in_words(difference: BinDifference) -> str:
    """The verdict on a bin; a dash where it has none."""
    return numbers.NOTHING if difference.verdict is None else key_in_words(difference.verdict)


def _nats(found: Bin, variant: str) -> Shown:
    nats = next((score.nats_per_token for score in found.scores if score.variant == variant), None)
    return known(nats, lambda value: numbers.decimal(value, _DECIMALS), "no such token was scored")


def _mean_of(counts: Iterable[float]) -> str:
    """ ", mean" behind a label whose counts are means over seeds that are not whole."""
    return "" if all(count == round(count) for count in counts) else ", mean"


def _number(value: float) -> str:
    """A count; with a decimal where it is a mean over seeds that is not whole."""
    return numbers.decimal(value, 0 if value == round(value) else 1)
