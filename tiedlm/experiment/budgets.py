"""From the budgets in a file to one experiment for each. Free of torch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tiedlm.config.base import ConfigError, Problem, merge, parse
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.part import Part
from tiedlm.experiment.search import Search
from tiedlm.run.config import RunConfig


def budgets_of(experiment: Experiment, budgets: Sequence[float], source: str) -> list[Part]:
    """The experiment at each length, shortest first; raises ConfigError.

    A length is that of the experiment times the budget, and its schedule goes with it: what is a fraction of a run
    stays that fraction, what is a number of steps stays that number.
    """
    repeated = sorted({budget for budget in budgets if budgets.count(budget) > 1})
    if repeated:
        raise ConfigError(Problem("budgets", f"{repeated[0]:g} stands there more than once"), source=source)
    if not budgets:
        raise ConfigError(Problem("budgets", "must name at least one length, as in [1, 3]"), source=source)
    return [_at(experiment, budget, source) for budget in sorted(budgets)]


def _at(experiment: Experiment, budget: float, source: str) -> Part:
    name = f"budget-{budget:g}"
    variants = {variant: _stretched(config, budget, source) for variant, config in experiment.variants.items()}
    lengths = {variant: _length(config) for variant, config in variants.items()}
    stretched = replace(experiment, variants=variants)
    if experiment.search is not None:
        stretched = replace(stretched, search=_stretched_search(experiment.search, lengths, budget, source))
    common = {f"training.{key}": value for key, value in [*lengths.values()][:1]}
    alike = len({*lengths.values()}) == 1
    own = {f"variants.{variant}.training.{key}": value for variant, (key, value) in lengths.items()}
    return Part(name, stretched.in_part(name), common if alike else own, budget)


def _stretched_search(search: Search, lengths: Mapping[str, tuple[str, Any]], budget: float, source: str) -> Search:
    """The search with trials of the length of the runs."""
    candidates = {
        variant: tuple(replace(each, config=_stretched(each.config, budget, source)) for each in candidates)
        for variant, candidates in search.candidates.items()
    }
    if search.adaptive is None:
        return replace(search, candidates=candidates)
    written = search.adaptive.raws
    raws = {variant: merge(raw, {"training": dict([lengths[variant]])}) for variant, raw in written.items()}
    return replace(search, candidates=candidates, adaptive=replace(search.adaptive, raws=raws))


def _stretched(config: RunConfig, budget: float, source: str) -> RunConfig:
    """A run of `budget` times the length; raises ConfigError where that is no whole number of steps or tokens."""
    key, length = _length(config)
    stretched = Fraction(str(length)) * Fraction(str(budget))
    if key != "epochs" and stretched.denominator != 1:
        message = f"{budget:g} times training.{key} {length:,} is no whole number of {key}"
        raise ConfigError(Problem("budgets", message), source=source)
    raw = config.model_dump(mode="json")
    value = float(stretched) if key == "epochs" else int(stretched)
    try:
        return parse(RunConfig, raw | {"training": raw["training"] | {key: value}}, source)
    except ConfigError as error:
        problems = [Problem("budgets", f"{budget:g} times the length: {problem}") for problem in error.problems]
        raise ConfigError(*problems, source=source) from None


def _length(config: RunConfig) -> tuple[str, Any]:
    """The key that gives the length of a run, and its value."""
    training = config.training
    return next((key, value) for key in ("steps", "tokens", "epochs") if (value := getattr(training, key)) is not None)
