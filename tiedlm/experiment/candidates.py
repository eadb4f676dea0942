"""From `tune` in a file to the points that are tried for each variant, and their configs. Free of torch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiedlm.config.base import ConfigError, Problem, Raw, parse, semantic
from tiedlm.config.problems import shown
from tiedlm.experiment.config import Tune
from tiedlm.experiment.grid import axes, laid_over, points, settings_name, settings_of, short_key, whats_wrong, written
from tiedlm.experiment.halving import Halving
from tiedlm.experiment.search import Adaptive, Candidate, Search
from tiedlm.experiment.space import Choices, Range, Space, dimension, distinct_draws, keys_in
from tiedlm.experiment.tuning import Axis
from tiedlm.run.config import RunConfig
from tiedlm.run.rung import rung_step

Point = dict[str, Any]
NUM_DRAWN = 10
"""So many candidates are drawn before any is proposed, the same for every variant."""


@dataclass(frozen=True)
class Tried:
    """What a file asks to try: the space of each variant, and its points in their order."""

    tune: Tune
    spaces: Mapping[str, Space]
    points: Mapping[str, Sequence[Point]]

    @classmethod
    def of(cls, tune: Tune, variants: Sequence[str], source: str = "") -> "Tried":
        """Of the variants of a file; raises ConfigError with everything that is wrong with the grid or the space."""
        try:
            if tune.method == "grid":
                grid = axes(tune.grid or {})
                spaces: dict[str, Space] = {name: {key: Choices(tuple(grid[key])) for key in grid} for name in variants}
                return cls(tune, spaces, {name: points(grid) for name in variants})
            assert tune.seed is not None and tune.trials is not None
            drawn_from = _spaces(tune, variants)
            return cls(tune, drawn_from, distinct_draws(drawn_from, tune.seed, tune.trials))
        except ConfigError as error:
            raise ConfigError(*error.problems, source=source) from None

    def search(self, raws: Mapping[str, Raw], source: str = "") -> Search:
        """The search, over the variants as they are written; raises ConfigError where a point makes no valid run."""
        problems: list[Problem] = []
        candidates: dict[str, tuple[Candidate, ...]] = {}
        for name, raw in raws.items():
            of_variant: list[Candidate] = []
            for number, point in enumerate([*self.points[name], *self._ends(name)]):
                try:
                    config = parse(RunConfig, laid_over(raw, point))
                    settings = settings_of(config, list(point))
                    of_variant.append(Candidate(self._name_of(settings, number), settings, config))
                except ConfigError as error:
                    problems += [self._placed(name, problem, point) for problem in error.problems]
            candidates[name] = tuple(of_variant)
        if problems and self.tune.method != "grid":  # of a range the end that is wrong is enough
            problems = list({problem.key: problem for problem in problems}.values())
        if not problems:
            problems = [problem for name in raws for problem in self._without_effect(name, candidates[name])]
        if not problems and self.tune.method == "halving":
            configs = [candidate.config for some in candidates.values() for candidate in some]
            problems = [problem for config in configs for problem in _unfit_rungs(self._halving, config)]
        if problems:
            raise ConfigError(*dict.fromkeys(problems), source=source)
        kept = {name: some[: len(self.points[name])] for name, some in candidates.items()}
        return Search(
            seeds=self.tune.seeds,
            candidates=kept,
            axes=tuple(self._axes(raws)),
            method=self.tune.method,
            halving=self._halving if self.tune.method == "halving" else None,
            adaptive=self._adaptive(raws) if self.tune.method == "tpe" else None,
        )

    @property
    def _halving(self) -> Halving:
        assert self.tune.reduction is not None and self.tune.min_fraction is not None
        return Halving(reduction=self.tune.reduction, min_fraction=self.tune.min_fraction)

    def _adaptive(self, raws: Mapping[str, Raw]) -> Adaptive:
        assert self.tune.seed is not None and self.tune.trials is not None
        return Adaptive(raws, self.tune.seed, min(NUM_DRAWN, self.tune.trials))

    def _name_of(self, settings: Point, number: int) -> str:
        return settings_name(settings) if self.tune.method == "grid" else candidate_name(self.tune.method, number)

    def _ends(self, name: str) -> Iterator[Point]:
        """The first point with each setting at each end of its range: what lies between them is valid where they are.

        None for a grid, all of whose points are tried.
        """
        if self.tune.method != "grid":
            first = self.points[name][0]
            yield from ({**first, key: end} for key, one in self.spaces[name].items() for end in one.ends())

    def _placed(self, name: str, problem: Problem, point: Point) -> Problem:
        """The problem under its key in the search; one of another key under all, with the point that causes it."""
        if any(f"{problem.key}.".startswith(f"{key}.") for key in point):
            return Problem(self.tune.place(name, problem.key), problem.message)
        with_what = ", ".join(f"{key}: {shown(value)}" for key, value in point.items())
        if self.tune.method == "grid":
            return Problem("tune.grid", f"{with_what}: {problem}")
        return Problem("tune.space", f"{name} with {with_what}: {problem}")

    def _without_effect(self, name: str, candidates: Sequence[Candidate]) -> Iterator[Problem]:
        """Settings that only say how a run is carried out, and values that are given twice, however written."""
        computed = semantic(candidates[0].config)
        for key, one in self.spaces[name].items():
            place = self.tune.place(name, key)
            if not any(f"{known}.".startswith(f"{key}.") for known in computed):
                message = "says how a run is carried out, not what it computes: no value is better than another"
                yield Problem(place, message)
            elif isinstance(one, Choices) and len({written(each.settings[key]) for each in candidates}) < one.size:
                yield Problem(place, "a value stands there more than once")

    def _axes(self, raws: Mapping[str, Raw]) -> Iterator[Axis]:
        """One for each setting and what may be tried of it, with the variants that it is tried for."""
        found: list[tuple[str, Range | Choices]] = []
        for space in self.spaces.values():
            found += [each for each in space.items() if each not in found]
        for key, one in found:
            names = [name for name, space in self.spaces.items() if space.get(key) == one]
            first = self.points[names[0]][0]
            values = [
                settings_of(parse(RunConfig, laid_over(raws[names[0]], {**first, key: value})), [key])[key]
                for value in (one.values if isinstance(one, Choices) else ())
            ]
            yield Axis(
                key=key,
                label=short_key(key),
                values=values,
                range=one if isinstance(one, Range) else None,
                variants=None if len(names) == len(self.spaces) else names,
            )


def candidate_name(method: str, number: int) -> str:
    """ "halving-07", by its number from 0."""
    return f"{method}-{number + 1:02}"


def check_seeds(tune: Tune, seeds: Sequence[int], source: str = "") -> None:
    """Raise ConfigError where the seeds of the tuning runs are missing, repeated, or among those of the runs."""
    common = [seed for seed in tune.seeds if seed in seeds]
    if not tune.seeds:
        raise ConfigError(Problem("tune.seeds", "must name at least one seed"), source=source)
    if len({*tune.seeds}) < len(tune.seeds):
        raise ConfigError(Problem("tune.seeds", "a seed stands there more than once"), source=source)
    if common:
        message = f"{common[0]} is a seed of the runs too: they must be others, or the runs are no fresh evidence"
        raise ConfigError(Problem("tune.seeds", message), source=source)


def _spaces(tune: Tune, variants: Sequence[str]) -> dict[str, Space]:
    own = tune.variants or {}
    problems = [
        Problem(f"tune.variants.{name}", f"is not one of the variants: {', '.join(variants)}")
        for name in own
        if name not in variants
    ]
    spaces: dict[str, Space] = {}
    for name in variants:
        space: dict[str, Range | Choices] = {}
        for key, raw in {**dict(keys_in(tune.space or {})), **dict(keys_in(own.get(name, {})))}.items():
            place = tune.place(name, key)
            refused = list(whats_wrong(key, place))
            problems += refused
            try:
                space |= {} if refused else {key: dimension(raw, place)}
            except ConfigError as error:
                problems += error.problems
        if not space and not problems:
            problems.append(Problem("tune.space", f"names no setting to try for {name}"))
        spaces[name] = space
    if problems:
        raise ConfigError(*dict.fromkeys(problems))
    return spaces


def _unfit_rungs(halving: Halving, config: RunConfig) -> Iterator[Problem]:
    """Rungs during the warmup, and runs too short for them, so far as the length is known before the text is read."""
    training, key = config.training, "tune.min_fraction"
    num_steps = None if training.epochs is not None else training.num_steps(config.data.seq_len, 0)
    warmup: float | None = training.warmup if isinstance(training.warmup, float) else None
    if num_steps is not None:
        ends = [rung_step(share, num_steps) for share in halving.shares]
        if len({*ends}) < len(ends):
            yield Problem(key, f"{halving.min_fraction:g}: the rungs of a run of {num_steps:,} steps fall together")
            return
        warmup = training.warmup / num_steps if isinstance(training.warmup, int) else warmup
    if warmup is not None and halving.min_fraction < warmup:
        yield Problem(key, f"{halving.min_fraction:g}: the first rung is in the warmup, {warmup:g} of the run")
