"""Where runs lie on disk: nothing else knows it. Free of torch.

runs_dir/<experiment>/                                        what its runs share: micro_batch.json, counts.json
runs_dir/<experiment>/<variant>/seed-<n>/                     a run
runs_dir/<experiment>/tuning/<variant>/<settings>/seed-<n>/   a run of the tuning search of that variant

An experiment with recipes or budgets has one folder for each of them between its own and those of the variants, which
is laid out as above; what all runs share, the micro-batch size, is agreed in its own.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tiedlm.run.config import RunConfig

TUNING = "tuning"
"""No recipe can have the name of this folder."""
FILES = ("comparison.json", "counts.json", "micro_batch.json")
"""Files in an experiment's folder: no variant and no recipe can have the name of one."""


@dataclass(frozen=True)
class Layout:
    """The folder of one experiment: where its runs lie in it, and the files that they share."""

    experiment_dir: Path

    @classmethod
    def of(cls, runs_dir: Path, name: str, part: str | None = None) -> "Layout":
        """The layout of an experiment, or of one of its parts."""
        return cls(runs_dir / name if part is None else runs_dir / name / part)

    @classmethod
    def around(cls, run_dir: Path) -> "Layout":
        """The layout of the experiment that a run's folder is part of; not for tuning runs."""
        return cls(run_dir.parent.parent)

    @property
    def micro_batch_file(self) -> Path:
        """The micro-batch size that the runs agreed on."""
        return self.experiment_dir / "micro_batch.json"

    @property
    def counts_file(self) -> Path:
        """Parameter counts that were made before."""
        return self.experiment_dir / "counts.json"

    def run_dir(self, variant: str, seed: int) -> Path:
        """The folder of a run."""
        return self.experiment_dir / variant / f"seed-{seed}"

    def tuning_run_dir(self, variant: str, settings: str, seed: int) -> Path:
        """The folder of a tuning run: apart from the runs, so that nobody takes it for one of them."""
        return self.experiment_dir / TUNING / variant / settings / f"seed-{seed}"

    def run_dirs(self) -> list[Path]:
        """The folders of runs that are on disk, by name and seed number; those of tuning runs are not among them.

        Also folders that were given another name: which run one holds is said by its config alone.
        """

        def order(path: Path) -> tuple[str, int, str]:
            number = path.name.removeprefix("seed-")
            return path.parent.name, int(number) if number.isdigit() else 0, path.name

        renamed = (file.parent for file in self.experiment_dir.glob("*/*/config.yaml"))
        return sorted({*self.experiment_dir.glob("*/seed-*"), *renamed}, key=order)

    def runs_of_parts(self) -> dict[str, list[Path]]:
        """The folders that lie as those of runs of its recipes or budgets do, by the name of the folder above."""
        found: dict[str, list[Path]] = {}
        for file in sorted(self.experiment_dir.glob("*/*/seed-*/config.yaml")):
            part, *_ = file.relative_to(self.experiment_dir).parts
            found.setdefault(part, []).append(file.parent)
        return found

    def has_runs(self) -> bool:
        """Whether any run is on disk, of the tuning search and of its recipes or budgets too."""
        return bool(self.run_dirs()) or any(
            any(self.experiment_dir.glob(pattern)) for pattern in (f"{TUNING}/*/*/seed-*", "*/*/seed-*/config.yaml")
        )


def run_dir_of_checkpoint(step_dir: Path) -> Path:
    """The folder of the run that a checkpoint/step-<n>/ belongs to."""
    return step_dir.parent.parent


def run_of_checkpoint(path: Path) -> tuple[Path, int] | None:
    """The folder of the run that a checkpoint's folder lies in, and its step; None where it is no checkpoint."""
    named = re.fullmatch(r"step-(\d+)", path.name)
    return (path.parent.parent, int(named[1])) if named and path.parent.name == "checkpoint" else None


@dataclass(frozen=True)
class Run:
    """A run config, and the folder under which all experiments lie."""

    config: RunConfig
    runs_dir: Path

    @property
    def label(self) -> str:
        """The run in a few words."""
        return self.config.label

    @property
    def layout(self) -> Layout:
        """The layout of its experiment, or of the part that it belongs to."""
        return Layout.of(self.runs_dir, self.config.name, self.config.part)

    @property
    def micro_batch_file(self) -> Path:
        """The micro-batch size that it shares with all runs of its experiment."""
        return Layout.of(self.runs_dir, self.config.name).micro_batch_file

    @property
    def directory(self) -> Path:
        """Its own folder."""
        config = self.config
        if config.tuning_of is None:
            return self.layout.run_dir(config.variant, config.seed)
        return self.layout.tuning_run_dir(config.tuning_of, config.variant, config.seed)
