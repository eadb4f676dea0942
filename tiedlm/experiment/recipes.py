"""From the recipes in a file to one experiment for each. Free of torch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tiedlm.config.base import ConfigError, Problem, Raw, merge, semantic
from tiedlm.config.problems import shown
from tiedlm.experiment.config import OF_RECIPES, Experiment
from tiedlm.experiment.grid import TELLS_APART, leaves, overlap
from tiedlm.experiment.part import Part, check_part_names
from tiedlm.experiment.reading import experiment_from

_SCORED = "is one for all recipes: scores of other tokens or windows could not be held against each other"
_REFUSED = {
    "model.type": TELLS_APART,
    "model.tying.type": TELLS_APART,
    "model.vocab_size": _SCORED,
}


def recipes_of(raw: Raw, source: str, settings: Sequence[str], changes: Raw) -> list[Part]:
    """The experiment under each recipe of the mapping in a file; raises ConfigError with everything that is wrong.

    `settings` reach every variant of every recipe; `changes` are what they say of the runs.
    """
    recipes, variants = raw["recipes"], raw.get("variants")
    if not isinstance(variants, dict) or len(variants) < 2:
        raise ConfigError(
            Problem("recipes", "need variants to compare: name two at least under variants"), source=source
        )
    problems = [*check_part_names(recipes, "recipes"), *_shape_problems(recipes, variants)]
    if not problems:
        problems += [problem for name in recipes for problem in _refused(name, recipes[name], changes)]
    if problems:
        raise ConfigError(*problems, source=source)
    parts = [_under(name, recipe, raw, source, settings) for name, recipe in recipes.items()]
    _check_they_differ(parts, source)
    return parts


def _shape_problems(recipes: Mapping[str, Any], variants: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the form of the recipes."""
    for name, recipe in recipes.items():
        for key in recipe:
            if key not in (*OF_RECIPES, "variants"):
                message = _SCORED if key in ("data", "evaluation") else "is no part of a recipe"
                yield Problem(f"recipes.{name}.{key}", f"{message}; it may change model and training")
        of_variants = recipe.get("variants") or {}
        if not isinstance(of_variants, dict):
            yield Problem(f"recipes.{name}.variants", f"{shown(of_variants)}: must map variants to what changes")
            continue
        for variant, override in of_variants.items():
            place = f"recipes.{name}.variants.{variant}"
            if variant not in variants:
                yield Problem(place, f"no variant has this name; there are {', '.join(variants)}")
            elif not isinstance(override, dict) or not override.keys() <= {*OF_RECIPES}:
                yield Problem(place, "may change model and training")


def _refused(name: str, recipe: Raw, changes: Raw) -> Iterator[Problem]:
    """Keys that a recipe may not set, and those that `--set` gives to all recipes alike."""
    given = dict(leaves(changes))
    for place, mapping in _mappings(recipe):
        for key in dict(leaves(mapping)):
            if key in _REFUSED:
                yield Problem(f"recipes.{name}.{place}{key}", _REFUSED[key])
            if any(overlap(key, other) for other in given):
                message = f"is what recipes tell apart; to change one of them say --set recipes.{name}.{place}{key}=..."
                yield Problem(f"--set {key}", message)


def _mappings(recipe: Raw) -> Iterator[tuple[str, Raw]]:
    """What a recipe lays over all variants, and over single ones, each with its place."""
    yield "", {key: value for key, value in recipe.items() if key != "variants"}
    for variant, override in (recipe.get("variants") or {}).items():
        yield f"variants.{variant}.", override


def _under(name: str, recipe: Raw, raw: Raw, source: str, settings: Sequence[str]) -> Part:
    """The experiment under one recipe, which is laid over every variant key by key."""
    general = {key: value for key, value in recipe.items() if key != "variants"}
    overrides = {variant: merge(override or {}, general) for variant, override in raw["variants"].items()}
    for variant, override in (recipe.get("variants") or {}).items():
        overrides[variant] = merge(overrides[variant], override)
    plain = {key: value for key, value in raw.items() if key not in ("recipes", "judging_seeds")}
    try:
        experiment = experiment_from({**plain, "variants": overrides}, source, settings)
    except ConfigError as error:
        placed = dict.fromkeys(_placed(problem, name, recipe, overrides) for problem in error.problems)
        raise ConfigError(*placed, source=source) from None
    return Part(name, experiment.in_part(name), dict(leaves(recipe)))


def _placed(problem: Problem, name: str, recipe: Raw, variants: Iterable[str]) -> Problem:
    """The problem under the key of the recipe that causes it; under the recipe where no key of it does alone."""
    own = max(
        (f"variants.{each}." for each in variants if problem.key.startswith(f"variants.{each}.")), key=len, default=""
    )
    key = problem.key.removeprefix(own)
    for place, mapping in reversed([*_mappings(recipe)]):
        if place in ("", own) and any(overlap(key, leaf) for leaf in dict(leaves(mapping))):
            return Problem(f"recipes.{name}.{place}{key}", problem.message)
    return Problem(f"recipes.{name}", f"{problem.key}: {problem.message}" if problem.key else problem.message)


def _check_they_differ(parts: Sequence[Part], source: str) -> None:
    """Raise ConfigError where two recipes are one, or where one makes two variants alike that are not so otherwise."""
    seen: dict[str, str] = {}
    problems: list[Problem] = []
    for part in parts:
        alike = seen.setdefault(_settings_of(part.experiment), part.name)
        if alike != part.name:
            problems.append(Problem(f"recipes.{part.name}", f"is {alike} under another name: it would count twice"))
    always = set.intersection(*(_equal_pairs(part.experiment) for part in parts))
    for part in parts:
        for one, other in sorted(_equal_pairs(part.experiment) - always):
            problems.append(Problem(f"recipes.{part.name}", f"makes {one} and {other} one and the same"))
    if problems:
        raise ConfigError(*problems, source=source)


def _settings_of(experiment: Experiment) -> str:
    return repr([semantic(config) for config in experiment.variants.values()])


def _equal_pairs(experiment: Experiment) -> set[tuple[str, str]]:
    settings = {name: repr({**semantic(config), "variant": ""}) for name, config in experiment.variants.items()}
    return {(one, other) for one in settings for other in settings if one < other and settings[one] == settings[other]}
