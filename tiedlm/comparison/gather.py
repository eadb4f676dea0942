"""Compare runs that are finished, wherever they lie; nothing is trained. Free of torch."""

import math
from collections.abc import Sequence
from pathlib import Path

from tiedlm.comparison.answer import answer, stored_comparison
from tiedlm.comparison.comparison import COMPARISON_FILE, Comparison
from tiedlm.comparison.parts.stored import holds_parts
from tiedlm.comparison.question import Question, default_primary
from tiedlm.config.base import ConfigError, Problem, first_difference
from tiedlm.evaluation.measures import SMALLEST_WORTHWHILE
from tiedlm.experiment.baseline import default_baseline
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder, part_folders, run_folders
from tiedlm.run.layout import Layout


def gather(
    paths: Sequence[Path],
    baseline: str | None = None,
    primary: str | None = None,
    smallest_worthwhile: float | None = None,
) -> Comparison:
    """Compare the finished runs in some folders, each a run's or an experiment's.

    What is None is taken from the comparison stored in the folder, if one is; else the baseline is `untied` where there
    is one, or the first variant. Raises ConfigError where nothing is finished.
    """
    for path in paths:
        parts = part_folders(path)
        if holds_parts(path) or parts:
            message = "holds recipes or budgets, each a comparison: name it alone, one of them, or their config"
            if len(paths) == 1 and not holds_parts(path):
                message = f"holds {', '.join(parts)}, but no {COMPARISON_FILE} of them all that can be read: "
                message += "`tiedlm compare` with their config makes one; or name the folder of one of them"
            raise ConfigError(Problem("", message), source=str(path))
    folders = list({folder.path.resolve(): folder for path in paths for folder in runs_in(path)}.values())
    if not folders:
        source = ", ".join(map(str, paths))
        raise ConfigError(Problem("", "no run is there, neither finished nor begun"), source=source)
    home = paths[0] if len(paths) == 1 and not RunFolder(paths[0]).config_file.is_file() else None
    begun = _Begun([(folder, folder.made_with()) for folder in folders], stored_comparison(home))
    if any(config.is_tuning_run for config in begun.configs.values()):
        message = "trials are no runs, they only chose settings: --details of their experiment shows them"
        raise ConfigError(Problem("", message), source=str(paths[0]))
    comparison = answer(folders, begun.question(baseline, primary, smallest_worthwhile), home)
    if not comparison.variants:
        failed = [f"; {each.variant} seed {each.seed} failed: {each.message}" for each in comparison.failures[:1]]
        raise ConfigError(Problem("", "".join(["no run there is finished yet", *failed])), source=str(paths[0]))
    return comparison


def runs_in(path: Path) -> list[RunFolder]:
    """The runs in a folder; raises ConfigError where one has a result but lost its config: it must not just be gone."""
    folder = RunFolder(path)
    if folder.config_file.is_file():
        return [folder]
    for run in (folder, *map(RunFolder, Layout(path).run_dirs())):
        if run.result_file.is_file() and not run.config_file.is_file():
            message = "has a result but no config.yaml; put that back, or take the result away"
            raise ConfigError(Problem("", message), source=str(run.path))
    return run_folders(path)


class _Begun:
    """Runs that were begun, maybe finished, and the comparison that is stored beside them, if one is.

    Raises ConfigError where two runs of one variant have one seed, or differ in more than their seed.
    """

    def __init__(self, runs: Sequence[tuple[RunFolder, RunConfig]], stored: Comparison | None) -> None:
        self.runs = runs
        self.stored = stored
        self.configs = _config_of_each_variant(runs)
        self.variants = self._in_order()

    def _in_order(self) -> list[str]:
        """As they were shown before; then those that a config file named; then those that the plan added."""
        shown = [variant.name for variant in self.stored.variants] if self.stored else []

        def place(name: str) -> tuple[bool, int]:
            return self.configs[name].added is not None, shown.index(name) if name in shown else len(shown)

        return sorted(self.configs, key=place)

    def question(self, baseline: str | None, primary: str | None, smallest_worthwhile: float | None) -> Question:
        """What is asked of these runs, where None is what was asked before; raises ConfigError."""
        if smallest_worthwhile is not None and not 0 < smallest_worthwhile < math.inf:  # nor NaN
            raise ConfigError(Problem("--smallest-worthwhile", f"{smallest_worthwhile:g}: must be above 0 and finite"))
        stored = self.stored
        chosen = self._baseline(baseline)
        return Question(
            name=" + ".join(dict.fromkeys(config.name for _, config in self.runs)),
            baseline=chosen,
            order=tuple(self.variants),
            planned=self._planned(),
            primary=self._primary(primary, chosen),
            smallest_worthwhile=smallest_worthwhile or (stored.smallest_worthwhile if stored else SMALLEST_WORTHWHILE),
            tuning=stored.tuning if stored else None,
        )

    def _planned(self) -> dict[str, tuple[int, ...]]:
        """The seeds that were begun, and those still to come when the stored comparison was made."""
        seeds: dict[str, set[int]] = {}
        for _, config in self.runs:
            seeds.setdefault(config.variant, set()).add(config.seed)
        # older versions took the names of renamed folders for variants, whose runs would be still to come for good
        renamed = {(folder.path.parent.name, run.seed) for folder, run in self.runs} - {
            (run.variant, run.seed) for _, run in self.runs
        }
        for run in self.stored.pending if self.stored else ():
            if (run.variant, run.seed) in renamed:
                continue
            seeds.setdefault(run.variant, set()).add(run.seed)
        return {variant: tuple(sorted(members)) for variant, members in seeds.items()}

    def _baseline(self, named: str | None) -> str:
        if named is not None:
            self._check_known("--baseline", named)
            return named
        if self.stored is not None and self.stored.baseline in self.variants:
            return self.stored.baseline
        return default_baseline(self.variants)

    def _primary(self, named: str | None, baseline: str) -> str | None:
        if named is not None:
            self._check_known("--primary", named)
            if named == baseline:
                raise ConfigError(Problem("--primary", f"{named!r} is the baseline: name another variant"))
            return named
        if self.stored is not None and self.stored.primary in self.variants and self.stored.primary != baseline:
            return self.stored.primary
        named_in_file = [variant for variant in self.variants if self.configs[variant].added is None]
        return default_primary(named_in_file, baseline)

    def _check_known(self, option: str, name: str) -> None:
        if name not in self.variants:
            raise ConfigError(Problem(option, f"{name!r} is not one of {', '.join(self.variants)}"))


def _config_of_each_variant(begun: Sequence[tuple[RunFolder, RunConfig]]) -> dict[str, RunConfig]:
    """Raises ConfigError where two runs of one variant have one seed, or differ in more than their seed."""
    first: dict[str, tuple[RunFolder, RunConfig]] = {}
    same = {"name": "any", "seed": 0}
    seen: dict[tuple[str, int], RunFolder] = {}
    for folder, made_with in begun:
        twin = seen.setdefault((made_with.variant, made_with.seed), folder)
        if twin is not folder:
            same_run = f"{made_with.variant} seed {made_with.seed}"
            message = f"{twin.path} and {folder.path} both hold {same_run}: give one of them"
            raise ConfigError(Problem("", message))
        config = made_with.model_copy(update=same)
        other, theirs = first.setdefault(config.variant, (folder, config))
        difference = first_difference(theirs, config)
        if difference:
            key, one, another = difference
            message = f"{other.path} has {one!r}, {folder.path} has {another!r}: not seeds of one variant"
            raise ConfigError(Problem(key, message))
    return {variant: config for variant, (_, config) in first.items()}
