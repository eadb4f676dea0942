"""What `tiedlm.load_comparison` returns of an experiment with recipes or budgets. Free of torch."""

from pathlib import Path

from tiedlm.api.comparison import Comparison
from tiedlm.api.shown import Shown
from tiedlm.comparison.parts.document import PartsComparison as Document
from tiedlm.errors import ConfigError, Problem


class PartsComparison(Shown):
    """The comparisons of an experiment with recipes or budgets. A notebook shows it as tables.

    `document` holds everything under the names of `tiedlm compare --json`, as frozen pydantic models.
    """

    document: Document

    def __init__(self, document: Document, folder: Path) -> None:
        self.document = document
        self._folder = folder

    @property
    def parts(self) -> list[str]:
        """The names of the recipes or budgets."""
        return [part.part for part in self.document.parts]

    @property
    def failures(self) -> list[str]:
        """The runs that failed, a sentence each."""
        found = zip(self.document.part_of_failures, self.document.failures, strict=True)
        return [f"{part}, {run.variant}, seed {run.seed}: {run.message}" for part, run in found]

    @property
    def pending(self) -> list[tuple[str, str, int]]:
        """The planned runs that have not finished: (part, variant, seed)."""
        found = zip(self.document.part_of_pending, self.document.pending, strict=True)
        return [(part, run.variant, run.seed) for part, run in found]

    def part(self, name: str) -> Comparison:
        """The comparison under one recipe or at one budget; raises ConfigError where none of its runs has finished."""
        for part in self.document.parts:
            if part.part == name:
                if part.comparison is None:
                    raise ConfigError(Problem("name", f"none of the runs of {name} has finished"))
                return Comparison(part.comparison, [self._folder / name])
        raise ConfigError(Problem("name", f"{name!r} is not one of {', '.join(self.parts)}"))

    def __repr__(self) -> str:
        return f"<tiedlm.PartsComparison {self.experiment}: {', '.join(self.parts)}>"
