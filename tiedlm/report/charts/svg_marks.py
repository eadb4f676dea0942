"""What stands at the value of an estimate in SVG: a dot, or a shape that says the verdict."""

from tiedlm.report.charts.chart import Estimate, Mark
from tiedlm.report.charts.markup import Markup, element
from tiedlm.report.charts.scale import Scale
from tiedlm.report.charts.svg_elements import line, polygon

_RADIUS = 5.0


def draw_mark(mark: Mark, x: float, y: float) -> Markup:
    """The shape around a point; a diamond without an interval is a small one."""
    r = _RADIUS
    match mark:
        case "dot":
            return element("circle", cx=x, cy=y, r=r, class_="mark")
        case "ring":
            return element("circle", cx=x, cy=y, r=r, class_="mark hollow")
        case "square":
            return element("rect", x=x - r + 0.5, y=y - r + 0.5, width=2 * r - 1, height=2 * r - 1, class_="mark")
        case "left":
            return _shape((x - r - 2, y), (x + r - 1, y - r - 1), (x + r - 1, y + r + 1))
        case "right":
            return _shape((x + r + 2, y), (x - r + 1, y - r - 1), (x - r + 1, y + r + 1))
        case "up":
            return _shape((x, y - r - 2), (x - r - 1, y + r - 1), (x + r + 1, y + r - 1))
        case "down":
            return _shape((x, y + r + 2), (x - r - 1, y - r + 1), (x + r + 1, y - r + 1))
        case "diamond":
            return _shape((x - r, y), (x, y - r - 2), (x + r, y), (x, y + r + 2))


def _shape(*points: tuple[float, float]) -> Markup:
    return element("polygon", points=polygon(list(points)), class_="mark")


def draw_whole_mark(estimate: Estimate, x: Scale, y: float) -> list[Markup]:
    """The mark of an estimate on its interval and whiskers; nothing where it has no value."""
    if estimate.middle is None:
        return []
    ends, whiskers = estimate.interval or (), estimate.whiskers or ()
    far = [line(x(whiskers[0]), y, x(whiskers[1]), y, "whiskers")] if whiskers else []
    far += [line(x(end), y - 10, x(end), y + 10, "interval") for end in whiskers]  # higher than a diamond above it
    if estimate.mark == "diamond" and ends:
        low, middle, high = x(ends[0]), x(estimate.middle), x(ends[1])
        return [*far, _shape((low, y), (middle, y - 8), (high, y), (middle, y + 8))]
    return [
        *far,
        *([line(x(ends[0]), y, x(ends[1]), y, "interval")] if ends else []),
        *(line(x(end), y - 5, x(end), y + 5, "interval") for end in ends),
        draw_mark(estimate.mark, x(estimate.middle), y),
    ]
