"""What an HTML page holds, read back."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta"}


@dataclass
class ReadPage(HTMLParser):
    """What a page holds; every element must be closed in its place."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    open_tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin."""
        super().__init__(convert_charrefs=True)

    @classmethod
    def of(cls, html: str) -> "ReadPage":
        """A whole document."""
        page = cls()
        page.feed(html)
        page.close()
        assert page.open_tags == []
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that it was the last one opened."""
        assert self.open_tags.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep it, but for the style sheet."""
        if self.open_tags and self.open_tags[-1] != "style":
            self.text += data.replace("\xa0", " ")
