"""`tiedlm.Comparison`: finished runs side by side, as text, tables and data frames. Free of torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiedlm.api.shown import Shown
from tiedlm.comparison.comparison import Comparison as Document
from tiedlm.errors import ConfigError, Problem
from tiedlm.report.formats.frame import FrameOf, comparison_frame
from tiedlm.run.folder import RunFolder, run_folders

if TYPE_CHECKING:
    import pandas as pd

    from tiedlm.api.trained_run import TrainedRun


class Comparison(Shown):
    """What `tiedlm.compare` and `tiedlm.load_comparison` return. A notebook shows it as a table.

    `document` holds everything under the names of `tiedlm compare --json`, as frozen pydantic models.
    """

    document: Document

    def __init__(self, document: Document, folders: Sequence[Path]) -> None:
        self.document = document
        self._folders = tuple(folders)

    @property
    def variants(self) -> list[str]:
        """The names of the variants of which a run has finished."""
        return [variant.name for variant in self.document.variants]

    @property
    def failures(self) -> list[str]:
        """The runs that failed, a sentence each."""
        return [f"{run.variant}, seed {run.seed}: {run.message}" for run in self.document.failures]

    @property
    def pending(self) -> list[tuple[str, int]]:
        """The planned runs that have not finished: (variant, seed)."""
        return [(run.variant, run.seed) for run in self.document.pending]

    def run(self, variant: str, seed: int | None = None, *, device: str | None = None) -> "TrainedRun":
        """One of its runs, by default of the first seed; raises ConfigError where there is no such run."""
        from tiedlm.api.trained_run import TrainedRun

        seeds = {each.name: each.seeds for each in self.document.variants}
        if variant not in seeds:
            raise ConfigError(Problem("variant", f"{variant!r} is not one of {', '.join(seeds)}"))
        if seed is not None and seed not in seeds[variant]:
            raise ConfigError(Problem("seed", f"{seed} is not one of {', '.join(map(str, seeds[variant]))}"))
        wanted = seeds[variant][0] if seed is None else seed
        for folder in (folder for place in self._folders for folder in _runs_in(place)):
            config = folder.made_with()
            if (config.variant, config.seed) == (variant, wanted):
                return TrainedRun(folder.path, device=device)
        raise ConfigError(Problem("", f"the run {variant}, seed {wanted}, is not in {self._places}"))

    @property
    def _places(self) -> str:
        return ", ".join(map(str, self._folders))

    def to_frame(self, of: FrameOf = "variants") -> "pd.DataFrame":
        """Figures at full precision, NaN where one is missing: a row for each of `of`.

        variants: over all seeds. runs: by variant and seed. differences: by variant and split. curve: the validation
        split during training, by variant, seed and step.
        """
        return comparison_frame(self.document, of)

    def __repr__(self) -> str:
        seeds = {seed for variant in self.document.variants for seed in variant.seeds}
        return f"<tiedlm.Comparison {self.experiment}: {', '.join(self.variants)}; seeds {sorted(seeds)}>"


def _runs_in(place: Path) -> list[RunFolder]:
    folder = RunFolder(place)
    return [folder] if folder.config_file.is_file() else run_folders(place)
