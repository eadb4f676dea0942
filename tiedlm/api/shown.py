"""What a notebook shows of a document, and what it can be written as. Free of torch."""

from typing import Any

from tiedlm.report.formats import document as formats


class Shown:
    """A comparison, or one of an experiment with recipes or budgets, in each of the formats of a report."""

    document: formats.Document

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        return self.document.experiment

    @property
    def baseline(self) -> str:
        """The variant that the others are compared with."""
        return self.document.baseline

    @property
    def verdict(self) -> str:
        """One sentence: the conditions, then what is said of each variant."""
        return self.document.verdict

    def to_dict(self) -> dict[str, Any]:
        """The document of `tiedlm compare --json`."""
        return self.document.model_dump(mode="json")

    def to_html(self) -> str:
        """A page with charts, as `tiedlm report --html` writes it."""
        return formats.as_html(self.document)

    def to_markdown(self) -> str:
        """As `tiedlm report --markdown` writes it."""
        return formats.as_markdown(self.document)

    def to_latex(self) -> str:
        """As `tiedlm report --latex` writes it."""
        return formats.as_latex(self.document)

    def to_csv(self) -> str:
        """As `tiedlm report --csv` writes it."""
        return formats.as_csv(self.document)

    def __str__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        return formats.as_fragment(self.document)
