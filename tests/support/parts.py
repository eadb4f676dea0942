"""Results and comparisons of an experiment with recipes or budgets that could have been."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.finished_runs import run_result, summarize
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.parts.document import Recipes
from tiedlm.comparison.parts.recipes import measure_recipes
from tiedlm.run.result import RunFailure, RunResult

Nats = Mapping[str, Sequence[float | None]]
"""Of the test split by variant, seed by seed; None where the seed has no result."""


def set_keys(run: RunResult, settings: Mapping[str, Any]) -> RunResult:
    """The run with other values of some dotted keys of its config."""
    config = {key: dict(value) if isinstance(value, dict) else value for key, value in run.config.items()}
    for key, value in settings.items():
        *above, last = key.split(".")
        place = config
        for name in above:
            place[name] = dict(place.get(name, {}))
            place = place[name]
        place[last] = value
    return run.model_copy(update={"config": config})


def part_runs(nats: Nats, settings: Mapping[str, Any] | None = None, **changes: Any) -> list[RunResult]:
    """The finished runs of one part; settings under `variants.<name>.` are of that variant alone."""
    found = []
    for variant, values in nats.items():
        own = f"variants.{variant}."
        mine = {
            key.removeprefix(own): value
            for key, value in (settings or {}).items()
            if key.startswith(own) or not key.startswith("variants.")
        }
        for seed, value in enumerate(values):
            if value is not None:
                found.append(set_keys(run_result(variant, seed, value, **changes), mine))
    return found


def part_comparison(runs: Sequence[RunResult], failures: Sequence[RunFailure] = (), **question: Any) -> Comparison:
    """Its own comparison with untied."""
    asked: dict[str, Any] = {"name": "example", "baseline": "untied", "order": ["tied", "untied"], **question}
    return summarize(runs, failures, **asked)


class MadeUp:
    """Recipes by name, each with its settings and its nats; `choosing` and `judging` are seeds."""

    def __init__(
        self, recipes: Mapping[str, tuple[Mapping[str, Any], Nats]], choosing: Sequence[int], judging: Sequence[int]
    ) -> None:
        self.settings = {name: settings for name, (settings, _) in recipes.items()}
        self.results = {name: part_runs(nats, settings) for name, (settings, nats) in recipes.items()}
        self.choosing, self.judging = choosing, judging

    def measured(self, **question: Any) -> Recipes:
        """The three answers."""
        comparisons = {name: part_comparison(runs, **question) for name, runs in self.results.items()}
        return measure_recipes(comparisons, self.settings, self.results, self.choosing, self.judging)


def around(centre: float, shifts: Sequence[float]) -> list[float]:
    """One value for each shift."""
    return [centre + shift for shift in shifts]
