"""The noise floor: how far a fresh draw of the embeddings moves a run, and each difference as a multiple of that."""

from collections.abc import Iterator
from dataclasses import replace

from tiedlm.comparison.analyses.noise_floor import BesideNoise, NoiseFloor
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.verdict import UNIT, signed_together
from tiedlm.evaluation.absence import NOT_STORED
from tiedlm.report.charts.chart import Band
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import known
from tiedlm.report.figures.table import Absence, Row, Shown, Table
from tiedlm.report.sections.section import MAX_VARIANTS_AT_A_GLANCE, Section


def _remarks(comparison: Comparison) -> Iterator[str]:
    """One sentence: how far a fresh draw moves a run, and how many times that the differences are."""
    floor = comparison.analysis(NoiseFloor)
    if floor is None:
        return
    if floor.noise is None:
        moved = "" if floor.mean is None else f"; it moved {floor.of} by {signed_together(floor.mean)[0]} {UNIT}"
        yield f"Noise floor, a fresh draw of the embeddings alone: {floor.reason}{moved}."
        return
    if not floor.noise:
        yield f"Noise floor: a fresh draw of the embeddings alone moves no run of {floor.of}."
        return
    size, low, high = (end.lstrip("+") for end in signed_together(floor.noise, floor.noise_ci95))
    over = f"root mean square over {len(floor.seeds)} seeds, 95 % interval {low} to {high}"
    yield (
        f"Noise floor: a fresh draw of the embeddings alone moves a run of {floor.of} by {size} {UNIT} on "
        f"{floor.split} ({over}){_times(floor)}."
    )


def _at_a_glance(comparison: Comparison) -> Iterator[str]:
    """The size of the noise beside the differences; where it is not known, why."""
    floor = comparison.analysis(NoiseFloor)
    if floor is None or not floor.noise:
        yield from _remarks(comparison)
        return
    size = signed_together(floor.noise, floor.noise_ci95)[0].lstrip("+")
    yield f"Noise floor: a fresh draw of the embeddings moves {floor.of} by {size} {UNIT}{_times(floor)}."


def _times(floor: NoiseFloor) -> str:
    known = [(beside.variant, beside.times_noise) for beside in floor.beside if beside.times_noise is not None]
    known = known[:MAX_VARIANTS_AT_A_GLANCE]
    said = [f"{f'{times:.1f}' if times else '0'} times that for {variant}" for variant, times in known]
    return f"; the mean difference is {', '.join(said)}" if said else ""


def _tables(comparison: Comparison) -> list[Table]:
    """The noise and the change of each seed behind it, then each difference as a multiple of the noise."""
    floor = comparison.analysis(NoiseFloor)
    if floor is None:
        return []
    title = f"Noise floor: {floor.variant} minus {floor.of} on {floor.split}, {UNIT}"
    rows = [
        Row.of("a fresh draw moves a run by", (_size(floor.noise, floor.noise_ci95, floor.reason),)),
        Row.of("mean (0 is expected)", (_with_interval(floor.mean, floor.ci95_seeds, floor.reason),)),
        Row.of("sample deviation", (_size(floor.sd, None, floor.reason),)),
        *(
            Row.of(f"seed {seed}", (signed_together(value)[0],), 1)
            for seed, value in zip(floor.seeds, floor.per_seed, strict=False)
        ),
    ]
    tables = [Table((floor.variant,), tuple(rows), title=title)]
    if floor.beside:
        tables.append(_beside_table(floor.beside, comparison.baseline))
    return tables


def _beside_table(beside: list[BesideNoise], baseline: str) -> Table:
    rows = [
        Row.of(
            "mean difference / that of a fresh draw", (_figure(b.times_noise, b.times_noise_reason, 1) for b in beside)
        ),
        Row.of(
            f"seed correlation with {baseline}",
            (_figure(b.seed_correlation, b.seed_correlation_reason, 2) for b in beside),
        ),
        Row.of(
            "difference without pairing (Welch)",
            (_with_interval(b.unpaired_difference, b.unpaired_ci95, b.unpaired_reason) for b in beside),
        ),
    ]
    return Table(tuple(b.variant for b in beside), tuple(rows), title="Differences beside the noise")


def _figure(value: float | None, reason: str | None, decimals: int) -> Shown:
    return known(value, lambda known: numbers.decimal(known, decimals), reason)


def _with_interval(value: float | None, interval: tuple[float, float] | None, reason: str | None) -> Shown:
    """ "+0.012 [-0.003, +0.027]"; the reason where there is no interval."""
    if value is None:
        return Absence(reason or NOT_STORED)
    if interval is None:
        shown = signed_together(value)[0]
        return Absence(reason, shown, "no interval") if reason else shown
    decimals = len(signed_together((interval[1] - interval[0]) / 2)[0].partition(".")[2])  # no more than it is sure of
    middle, low, high = (f"{number:+.{decimals}f}" for number in (value, *interval))
    return numbers.bracketed(middle, low, high)


def _size(value: float | None, interval: tuple[float, float] | None, reason: str | None) -> Shown:
    """As `_with_interval`, of what has no sign."""
    shown = _with_interval(value, interval, reason)
    if isinstance(shown, Absence):
        return replace(shown, short=shown.short.replace("+", ""))
    return shown.replace("+", "")


def _bands(comparison: Comparison) -> Iterator[Band]:
    floor = comparison.analysis(NoiseFloor)
    if floor is not None and floor.noise:
        noise = signed_together(floor.noise)[0].lstrip("+")
        yield Band(f"±{noise}: how far a fresh draw of its embeddings moves a single run", -floor.noise, floor.noise)


SECTION = Section("Noise floor", at_a_glance=_at_a_glance, remarks=_remarks, tables=_tables, bands=_bands)
