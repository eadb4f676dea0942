"""The chart of an experiment with budgets: the difference over the tokens of training."""

import math
from collections.abc import Iterator

from tiedlm.comparison.contrast import Verdict
from tiedlm.comparison.parts.document import AtBudget, PartsComparison, Trend
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.verdict import UNIT, rounded
from tiedlm.report.charts.chart import Band, Chart, Estimate, IntervalChart, Mark, TrendChart, TrendLine, TrendPoint
from tiedlm.report.charts.forest import MARKS, forest_charts
from tiedlm.report.figures import numbers
from tiedlm.report.figures.parts import compared_variants, variant_names
from tiedlm.report.figures.text import key_in_words

_MARKS: dict[Verdict, Mark] = {**MARKS, "better": "down", "worse": "up"}
HOW_TO_READ = (
    "Triangle: better (downwards) or worse (upwards); square: equal; ring: cannot tell; with the 95 % interval over "
    "seeds, and a small dot for each seed. Dashed: the line whose slope is the change for each doubling of the tokens."
)


def charts_of_parts(document: PartsComparison) -> Iterator[Chart]:
    """The forest plots of recipes, or the trend of budgets."""
    yield from forest_charts(document)
    chart = trend_chart(document)
    if chart is not None:
        yield chart


def trend_chart(document: PartsComparison) -> TrendChart | None:
    """The differences of all variants over the logarithm of the tokens; None where there is no difference."""
    trends = document.budgets.trends if document.budgets else []
    if not any(at.mean is not None for trend in trends for at in trend.at):
        return None
    names, size, compared = variant_names(document), document.smallest_worthwhile, compared_variants(document)
    variant = compared[0] if len(compared) == 1 else "the variant"
    return TrendChart(
        "budgets",
        f"Difference to {document.baseline} by the tokens of training",
        "training tokens (logarithmic)",
        f"{variant} - {document.baseline}, {UNIT}",
        f"below 0 favours {variant}",
        f"above 0 favours {document.baseline}",
        tuple(_line(trend, names.index(trend.variant)) for trend in trends),
        Band(f"within ±{size:g}: too small to matter", -size, size),
        lambda tokens: rounded(round(tokens)),
    )


def interval_charts(document: PartsComparison) -> Iterator[IntervalChart]:
    """The budgets of each variant under each other, where there is no room for an axis of tokens."""
    names = variant_names(document)
    for number, trend in enumerate(document.budgets.trends if document.budgets else ()):
        place = names.index(trend.variant)
        estimates = tuple(
            Estimate(f"{rounded(at.tokens_seen)} tokens", place, "", at.mean, at.ci95_seeds, mark=MARKS[at.verdict])
            for at in trend.at
        )
        if any(each.middle is not None for each in estimates):
            title = f"{trend.variant} against {document.baseline} at each budget"
            sides = f"favours {trend.variant}", f"favours {document.baseline}"
            yield IntervalChart(f"budgets-{number + 1}", title, UNIT, *sides, estimates)


def _line(trend: Trend, place: int) -> TrendLine:
    points = tuple(_points(trend))
    return TrendLine(trend.variant, place, points, _ends(points, trend.per_doubling))


def _points(trend: Trend) -> Iterator[TrendPoint]:
    for at in sorted(trend.at, key=lambda at: at.tokens_seen):
        if at.mean is not None:
            yield TrendPoint(
                float(at.tokens_seen),
                at.mean,
                at.ci95_seeds,
                tuple(at.per_seed),
                _words(at, at.mean),
                _MARKS[at.verdict],
            )


def _words(at: AtBudget, value: float) -> str:
    """ "24.4M tokens: -0.031 [-0.040, -0.022], better"."""
    figure = numbers.with_interval(value, at.ci95_seeds)
    return f"{rounded(at.tokens_seen)} tokens: {figure}, {key_in_words(at.verdict)}"


def _ends(points: tuple[TrendPoint, ...], slope: float | None) -> tuple[float, float] | None:
    """The line of least squares at the first and at the last point; as each such line, it meets the mean of all."""
    if slope is None or len(points) < 2:
        return None
    logs = [math.log2(point.x) for point in points]
    across, up = mean(logs), mean([point.middle for point in points])
    return up + slope * (logs[0] - across), up + slope * (logs[-1] - across)
