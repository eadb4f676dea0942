"""An HTML page around its header and its contents, with the style sheet and nothing else beside it."""

from collections.abc import Iterable, Mapping
from importlib.resources import files

from tiedlm.report.charts.markup import Markup, element, void

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def anchors_of(titles: Iterable[str]) -> dict[str, str]:
    """The id of each title of a page."""
    return {title: title.lower().replace(" ", "-") for title in titles}


def html_page(experiment: str, header: Markup, contents: Mapping[str, Markup]) -> str:
    """The whole document; `contents` by their titles, from top to bottom."""
    style = files("tiedlm.report.formats").joinpath("report.css").read_text(encoding="utf-8")
    head = element(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{experiment}: tied or untied"),
        element("style", Markup(style)),
    )
    anchors = anchors_of(contents)
    shown = (
        element("section", element("h2", title), content, id=anchors[title]) for title, content in contents.items()
    )
    made_by = "Made by tiedlm from comparison.json. The page needs no network and runs no script."
    body = element("body", header, element("main", *shown), element("footer", element("p", made_by)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"
