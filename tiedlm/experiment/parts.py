"""An experiment with parts: recipes, or budgets, each of which is a whole experiment. Free of torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem, parse
from tiedlm.config.file import apply_settings
from tiedlm.config.written import written_in
from tiedlm.experiment.budgets import budgets_of
from tiedlm.experiment.config import EXPERIMENT_KEYS, Experiment, ExperimentKeys
from tiedlm.experiment.part import Part
from tiedlm.experiment.reading import (
    ConfigSource,
    experiment_from,
    read_source,
    settings_of_runs,
    source_of,
)
from tiedlm.experiment.recipes import recipes_of
from tiedlm.paths import working_folder
from tiedlm.run.layout import Layout, Run


@dataclass(frozen=True)
class Parts:
    """An experiment under several recipes or at several budgets.

    With recipes, `choosing_seeds` are those whose validation scores choose the best recipe of each variant, and
    `judging_seeds` those that judge it on test: no seed does both.
    """

    parts: tuple[Part, ...]
    choosing_seeds: tuple[int, ...]
    judging_seeds: tuple[int, ...]

    @property
    def first(self) -> Experiment:
        """The experiment of the first part: what is not of a recipe or a budget is the same in all."""
        return self.parts[0].experiment

    @property
    def name(self) -> str:
        """Of the experiment."""
        return self.first.name

    @property
    def are_recipes(self) -> bool:
        """Whether the parts are recipes; else they are budgets."""
        return self.parts[0].budget is None

    @property
    def has_runs_to_judge(self) -> bool:
        """Whether the best recipes are judged by runs of their own, which are planned once the recipes are chosen."""
        return self.are_recipes and not {*self.judging_seeds} <= {*self.first.seeds}

    def layout(self, runs_dir: Path) -> Layout:
        """The folder of the whole, above those of the parts."""
        return Layout.of(runs_dir, self.name)

    def with_experiments(self, experiments: Mapping[str, Experiment]) -> "Parts":
        """With other experiments in the parts, by name: tuned ones, say."""
        return replace(self, parts=tuple(replace(part, experiment=experiments[part.name]) for part in self.parts))

    def pick(self, name: str | None) -> Experiment:
        """The experiment of one part; raises ConfigError where none has the name, or none is given."""
        names = ", ".join(part.name for part in self.parts)
        found = next((part.experiment for part in self.parts if part.name == name), None)
        if found is None:
            raise ConfigError(Problem("--part", f"{name!r} is not one of {names}" if name else f"name one of {names}"))
        return found


def plan_parts(parts: Parts, runs_dir: Path) -> list[Run]:
    """Every run of all parts: seeds outermost, then recipes or budgets, so that what is there can be compared."""
    return [
        Run(part.experiment.run_config(variant, seed), runs_dir)
        for seed in parts.first.seeds
        for part in parts.parts
        for variant in part.experiment.variants
    ]


def plan_judging(parts: Parts, best: Mapping[str, str], runs_dir: Path) -> list[Run]:
    """The runs that judge each variant under its best recipe, which `best` names: seeds outermost."""
    experiments = {part.name: part.experiment for part in parts.parts}
    return [
        Run(experiments[recipe].run_config(variant, seed), runs_dir)
        for seed in parts.judging_seeds
        for variant, recipe in best.items()
    ]


def load_plan(config: ConfigSource, settings: Sequence[str] = ()) -> Experiment | Parts:
    """What a config asks to be carried out: an experiment, or one with parts. Raises ConfigError as reading does."""
    raw, source = read_source(config), source_of(config)
    experiment = experiment_from(raw, source, settings)
    of_runs, of_experiment = settings_of_runs(settings)
    raw = apply_settings(written_in(raw, working_folder()), of_experiment)
    keys = parse(ExperimentKeys, {key: raw[key] for key in EXPERIMENT_KEYS if key in raw}, source)
    if keys.recipes is not None and keys.budgets is not None:
        raise ConfigError(Problem("budgets", "give recipes or budgets, not both"), source=source)
    if keys.judging_seeds is not None and keys.recipes is None:
        raise ConfigError(Problem("judging_seeds", "judge the best of several recipes: there are none"), source=source)
    if keys.budgets is not None:
        return Parts(tuple(budgets_of(experiment, keys.budgets, source)), (), ())
    if keys.recipes is None:
        return experiment
    if not keys.recipes:
        raise ConfigError(Problem("recipes", "must name at least one recipe"), source=source)
    parts = tuple(recipes_of(raw, source, of_runs, apply_settings({}, of_runs)))
    return Parts(parts, *_seeds(keys, experiment, source))


def load_part(config: ConfigSource, settings: Sequence[str] = (), name: str | None = None) -> Experiment:
    """The experiment in a config; of one with parts that of the part with the name. Raises ConfigError."""
    loaded = load_plan(config, settings)
    if isinstance(loaded, Parts):
        return loaded.pick(name)
    if name is not None:
        raise ConfigError(Problem("--part", f"{name!r}: this config has neither recipes nor budgets"))
    return loaded


def _seeds(keys: ExperimentKeys, experiment: Experiment, source: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seeds that choose recipes, and those that judge them."""
    seeds, judging = experiment.seeds, keys.judging_seeds
    if judging is None:
        return split_seeds(seeds)
    of_tuning = experiment.search.seeds if experiment.search else ()
    used = dict.fromkeys(of_tuning, "tune.seeds") | dict.fromkeys(seeds, "seeds")
    problems = [
        Problem("judging_seeds", f"{seed} is one of {used[seed]} too: who chooses must not judge")
        for seed in judging
        if seed in used
    ]
    if len({*judging}) < len(judging):
        problems.append(Problem("judging_seeds", "a seed stands there more than once"))
    if not judging:
        problems.append(Problem("judging_seeds", "must name at least one seed; null takes half of seeds"))
    if problems:
        raise ConfigError(*problems, source=source)
    return seeds, judging


def split_seeds(seeds: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seeds that choose and those that judge, where an experiment does not say.

    The first half chooses, rounded down, at least one: of five seeds three that judge find a difference many times as
    often as two do, whose interval has one degree of freedom (scripts/bench_recipes).
    """
    half = max(1, len(seeds) // 2)
    return tuple(seeds[:half]), tuple(seeds[half:])
