"""HTML and SVG elements as text; all text that is not Markup is escaped."""

from html import escape

from tiedlm.report.figures.text import one_line, with_unbreakable_figures


class Markup(str):
    """Text that is HTML or SVG already and is not escaped again."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | float | None) -> Markup:
    """`<tag ...>children</tag>`; of an attribute's name, `_` is `-` and one at the end is dropped; null ones too."""
    return Markup(f"<{tag}{_written(attributes)}>{''.join(map(markup, children))}</{tag}>")


def void(tag: str, **attributes: str | float | None) -> Markup:
    """An HTML element that holds nothing."""
    return Markup(f"<{tag}{_written(attributes)}>")


def join(*children: str) -> Markup:
    """One after the other."""
    return Markup("".join(map(markup, children)))


def markup(text: str) -> Markup:
    """Markup as it is, any other text escaped."""
    return text if isinstance(text, Markup) else Markup(escape(with_unbreakable_figures(one_line(text))))


def lines(text: str) -> Markup:
    """Escaped text that keeps its lines and spaces, to be copied from a <pre>."""
    return Markup("\n".join(escape(one_line(line)) for line in text.split("\n")))


def _written(attributes: dict[str, str | float | None]) -> str:
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )


def _value(value: str | float) -> str:
    return escape(one_line(value)) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
