"""One recipe or one budget of an experiment: the whole experiment, carried out under it. Free of torch."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tiedlm.config.base import Name, Problem
from tiedlm.experiment.config import Experiment
from tiedlm.run.layout import FILES, TUNING


@dataclass(frozen=True)
class Part:
    """An experiment under one recipe or at one budget.

    `settings` are what it changes, by dotted key; those of a single variant begin with `variants.<name>.`. `budget` is
    the length of its runs in lengths of the experiment's own; null of a recipe.
    """

    name: str
    experiment: Experiment
    settings: Mapping[str, Any]
    budget: float | None = None


def check_part_names(names: Iterable[str], key: str) -> Iterator[Problem]:
    """What is wrong with the names of parts, which become folders; `key` is where they stand in a file."""
    spelled: dict[str, str] = {}
    for name in names:
        try:
            TypeAdapter(Name).validate_python(name)
        except ValidationError as error:
            yield Problem(f"{key}.{name}", error.errors()[0]["msg"].removeprefix("Value error, "))
        if name.lower() == TUNING:
            yield Problem(f"{key}.{name}", "is the name of the folder of tuning runs: give it another one")
        if name.lower() in FILES:
            yield Problem(f"{key}.{name}", "is the name of a file of the experiment: give it another one")
        other = spelled.setdefault(name.lower(), name)
        if other != name:
            yield Problem(f"{key}.{name}", f"differs from {other} only in upper and lower case")
