"""The folder of an experiment with recipes or budgets, with the files that its runs would have left."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.finished_runs import store_run
from tests.support.small_runs import small_experiment
from tiedlm.comparison.parts.question import PartRuns, PartsQuestion
from tiedlm.comparison.question import Question
from tiedlm.experiment.plan import plan
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Layout, Run

RECIPES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "scaled": {"model.tying.input_scale": "sqrt_dim"},
    "fast": {"training.learning_rate": 2e-3},
}


class StoredParts:
    """An experiment named small with parts in `place`; nothing is stored yet."""

    def __init__(
        self, place: Path, seeds: Sequence[int], judging: Sequence[int] = (), choosing: Sequence[int] = ()
    ) -> None:
        self.place, self.home = place, place / "runs" / "small"
        self.seeds, self.choosing, self.judging = tuple(seeds), tuple(choosing), tuple(judging)
        self.draws = np.random.default_rng(0)

    def runs(self, part: str, settings: Mapping[str, Any], seeds: Sequence[int]) -> list[Run]:
        """As they are planned, of both variants."""
        keys = [f"{key}={value}" for key, value in settings.items()]
        experiment = small_experiment(self.place, f"name={part}", f"seeds={list(seeds)}", *keys)
        return plan(experiment, self.home)

    def part(
        self, name: str, settings: Mapping[str, Any], judging: Mapping[str, Sequence[int]] | None = None
    ) -> PartRuns:
        """With the runs of all seeds, and of seeds that only judge some variants under this recipe."""
        layout = Layout(self.home / name)
        runs = [(variant, seed) for seed in self.seeds for variant in ("tied", "untied")]
        question = Question(
            name="small",
            baseline="untied",
            order=("tied", "untied"),
            planned=dict.fromkeys(("tied", "untied"), self.seeds),
            primary="tied",
        )
        return PartRuns(
            name=name,
            home=layout.experiment_dir,
            question=question,
            folders=[RunFolder(layout.run_dir(*run)) for run in runs],
            settings=settings,
            judging={
                (variant, seed): RunFolder(layout.run_dir(variant, seed))
                for variant, seeds in (judging or {}).items()
                for seed in seeds
            },
        )

    def question(self) -> PartsQuestion:
        """Recipes against each other."""
        return PartsQuestion(
            name="small",
            kind="recipes",
            baseline="untied",
            seeds=self.seeds,
            primary="tied",
            choosing=self.choosing,
            judging=self.judging,
        )

    def store(self, runs: Sequence[Run]) -> None:
        """Leave what these runs would leave."""
        for run in runs:
            store_run(run, self.draws)


def stored_recipes(place: Path) -> tuple[StoredParts, list[PartRuns]]:
    """Three recipes with two seeds each, all of them finished; two more judge the best recipe of each variant.

    The two variants' best recipes are whatever chance made them.
    """
    from tiedlm.comparison.parts.choice import choose

    made = StoredParts(place, seeds=(0, 1), choosing=(0, 1), judging=(2, 3))
    results = {}
    for recipe, settings in RECIPES.items():
        runs = made.runs(recipe, settings, made.seeds)
        made.store(runs)
        results[recipe] = [result for run in runs if (result := RunFolder(run.directory).result())]
    choices = {variant: choose(results, variant, made.choosing).recipe for variant in ("tied", "untied")}
    chosen = {variant: recipe for variant, recipe in choices.items() if recipe is not None}
    for variant, recipe in chosen.items():
        judges = made.runs(recipe, RECIPES[recipe], made.judging)
        made.store([run for run in judges if run.config.variant == variant])
    parts = [
        made.part(recipe, settings, {variant: made.judging for variant, best in chosen.items() if best == recipe})
        for recipe, settings in RECIPES.items()
    ]
    return made, parts
