"""A search of settings: the candidates of each variant, and what trying them takes. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiedlm.config.base import Raw
from tiedlm.experiment.halving import Halving
from tiedlm.experiment.space import Choices, Space
from tiedlm.experiment.tuning import Axis, Method
from tiedlm.run.config import RunConfig


@dataclass(frozen=True)
class Candidate:
    """A variant with the settings of one point, and these settings as the config has them.

    `name` is that of the folder of its trials.
    """

    name: str
    settings: Mapping[str, Any]
    config: RunConfig


@dataclass(frozen=True)
class Adaptive:
    """How a candidate is proposed: the config of each variant as it is written, and the seed of the proposals.

    The first `num_drawn` candidates are drawn as those of `random` are.
    """

    raws: Mapping[str, Raw]
    seed: int
    num_drawn: int


@dataclass(frozen=True)
class Search:
    """The tuning search before the runs: as many candidates for every variant, each with each of `seeds`.

    `axes` are what may be tried of each setting. `halving` says when candidates are dropped, of that method. `adaptive`
    says how those are proposed that hang on the outcome of others; until then drawn ones stand among `candidates`.
    """

    seeds: tuple[int, ...]
    candidates: Mapping[str, tuple[Candidate, ...]]
    axes: tuple[Axis, ...]
    method: Method = "grid"
    halving: Halving | None = None
    adaptive: Adaptive | None = None

    def space(self, variant: str) -> Space:
        """What may be tried for a variant, with values as the config has them."""
        axes = (axis for axis in self.axes if axis.is_of(variant))
        return {axis.key: axis.range or Choices(tuple(axis.values)) for axis in axes}

    @property
    def num_candidates(self) -> int:
        """How many candidates each variant has."""
        return len(next(iter(self.candidates.values())))

    @property
    def in_words(self) -> str:
        """ "24 settings x 2 variants x 1 seed"."""
        seeds = f"{len(self.seeds)} seed{'s' if len(self.seeds) > 1 else ''}"
        variants = f"{len(self.candidates)} variant{'s' if len(self.candidates) > 1 else ''}"
        return f"{self.num_candidates} settings x {variants} x {seeds}"

    @property
    def num_portions(self) -> int:
        """How many trials, or portions of them, are carried out in all."""
        each = sum(self.halving.entrants(self.num_candidates)) if self.halving else self.num_candidates
        return each * len(self.candidates) * len(self.seeds)

    @property
    def num_waiting(self) -> int:
        """How many trials at most wait with their state on disk while another is carried out."""
        if self.halving is None or len(self.halving.shares) == 1:
            return 0
        return self.halving.entrants(self.num_candidates)[1] * len(self.candidates) * len(self.seeds)

    @property
    def num_whole_runs(self) -> float:
        """What all trials of one variant and seed take together, in whole runs; at most where some diverge."""
        return self.halving.whole_runs(self.num_candidates) if self.halving else self.num_candidates

    def num_steps(self, num_steps: int) -> int:
        """What they take in steps, of runs of so many."""
        return (self.halving.steps if self.halving else _all_of)(self.num_candidates, num_steps)


def _all_of(num_candidates: int, num_steps: int) -> int:
    return num_candidates * num_steps
