"""What a file says of one variant, and under which of its keys a mistake in it is told. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiedlm.config.base import ConfigError, Problem, Raw, parse
from tiedlm.config.merge import is_common
from tiedlm.experiment.config import EXPERIMENT_KEYS, Tune
from tiedlm.experiment.grid import laid_over
from tiedlm.run.config import RunConfig


@dataclass(frozen=True)
class WrittenVariant:
    """A variant as it is written, not yet validated.

    `raw` is base, override and settings together; `override` is null in a file that describes one run.
    """

    name: str
    raw: Raw
    override: Raw | None

    def config(self, point: Mapping[str, Any], tune: Tune | None = None) -> RunConfig:
        """The variant with a point that `tune` gives; raises ConfigError, with mistakes where they stand."""
        misplaced = [
            Problem(f"variants.{self.name}.{key}", "belongs to the experiment, not to a variant")
            for key in ("name", "seed", "variant", "added", "part", "extends", *EXPERIMENT_KEYS)
            if key in (self.override or {})
        ]
        if misplaced:
            raise ConfigError(*misplaced)
        try:
            return parse(RunConfig, laid_over(self.raw, point), beside=("extends", *EXPERIMENT_KEYS))
        except ConfigError as error:
            raise ConfigError(*(self._placed(problem, point, tune) for problem in error.problems)) from None

    def changes_within(self, key: str) -> bool:
        """Whether the override changes keys of the mapping at a dotted key, so that most of it stands elsewhere."""
        value: Any = self.override
        for step in key.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return isinstance(value, dict) and "type" not in value

    def _placed(self, problem: Problem, point: Mapping[str, Any], tune: Tune | None) -> Problem:
        """The problem under the key where it is written: in the search, in the variant or in the base."""
        if tune and any(f"{problem.key}.".startswith(f"{key}.") for key in point):
            return Problem(tune.place(self.name, problem.key), problem.message)
        named = next((key for key in point if tune and tune.method != "grid" and key in problem.message), None)
        if tune and named and not problem.key:
            way_out = "what one variant alone has belongs below tune.variants"
            return Problem(tune.place(self.name, named), f"{problem.message}; {way_out}")
        if self.override is None:
            return problem
        if problem.key == "variant":
            return Problem("variants", problem.message)
        return self._under(problem) if self._says(problem.key) else problem

    def _says(self, key: str) -> bool:
        """Whether the override says something at a dotted key, or replaces the mapping that lacks it."""
        mapping: Any = self.override
        above = ""
        for step in key.split("."):
            if not isinstance(mapping, dict):
                return False
            if step not in mapping:
                return "type" in mapping and not is_common(above, step)
            mapping, above = mapping[step], step
        return True

    def _under(self, problem: Problem) -> Problem:
        return Problem(f"variants.{self.name}.{problem.key}", problem.message)
