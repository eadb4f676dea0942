"""SVG elements of charts: text, lines, axes. Colours and strokes are those of the style sheet (report.css)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tiedlm.report.charts.markup import Markup, element
from tiedlm.report.charts.scale import Scale, decimals_for

NUM_COLOURS = 8
WIDE = 480
"""From here on there is room for labels beside the marks."""
REACH = 7
"""How near a pointer must come to a dot, in pixels."""
LETTER = 6.6
"""About as wide as a letter of the axes' labels."""
BOLD_LETTER = 7.4
"""About as wide as a bold one."""


def colour(place: int) -> str:
    """The class that gives a variant its colour."""
    return f"c{place % NUM_COLOURS}"


def svg(title: str, width: float, height: float, *children: Markup) -> Markup:
    """The whole drawing; screen readers say its title."""
    box = {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria_label": title}
    return element("svg", *children, width=width, height=height, **box)


def text(x: float, y: float, words: str, anchor: str = "start", class_: str = "axis") -> Markup:
    """Words that begin, end or have their middle at a point."""
    return element("text", words, x=x, y=y, text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def point(x: float, y: float, radius: float, class_: str, words: str) -> Markup:
    """A dot that says its value where a pointer comes near; no tooltip of its own without words."""
    dot = element("circle", cx=x, cy=y, r=radius, class_=class_)
    if not words:
        return dot
    near = element("circle", cx=x, cy=y, r=max(radius, REACH), class_="near")
    return element("g", element("title", words), near, dot, class_="point")


def polygon(points: list[tuple[float, float]]) -> str:
    """Points as SVG writes them."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


@dataclass(frozen=True)
class Frame:
    """The rectangle within the axes, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def across(self, scale: Scale, written: Callable[[float], str], at_most: int) -> Iterator[Markup]:
        """Grid lines for a horizontal axis, each with its value below."""
        for tick in scale.ticks(at_most):
            yield line(scale(tick), self.top, scale(tick), self.bottom, "grid")
            yield text(scale(tick), self.bottom + 16, written(tick), "middle")

    def up(self, scale: Scale, at_most: int) -> Iterator[Markup]:
        """Grid lines for a vertical axis, each with its value on the left."""
        ticks = scale.ticks(at_most)
        decimals = decimals_for(ticks)
        for tick in ticks:
            yield line(self.left, scale(tick), self.right, scale(tick), "grid")
            yield text(self.left - 6, scale(tick) + 4, f"{tick:.{decimals}f}", "end")
