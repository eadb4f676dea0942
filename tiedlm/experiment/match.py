"""Variants with as many parameters as the baseline, by a larger or smaller body. Free of torch.

Each variant is resized in two ways: by the inner width of its layers (of their feed-forward parts, where they have
such), and by the number of layers, at least one more or fewer, with the width that makes up for the rest. Two, because
many models have the same number of parameters.
"""

import math
from collections.abc import Callable, Iterator

from tiedlm.config.base import ConfigError, Problem
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.sizes import INNER_WIDTH, TOLERANCE
from tiedlm.model.config import ModelConfig
from tiedlm.model.counts import ParameterCounts
from tiedlm.run.added import Added
from tiedlm.run.config import RunConfig

WIDTH, DEPTH = "+width", "+depth"
_GRANULE = 8  # a width of what matrix kernels like ..
_CLOSE = 0.001  # .. is taken where it misses by no more than this

CountOf = Callable[[RunConfig], ParameterCounts]
"""Counts the model of a run exactly."""


def with_matches(experiment: Experiment, count_of: CountOf) -> Experiment:
    """With two resized variants for each that is not of the baseline's size, where `match` asks for them.

    Raises ConfigError, with both counts, where no width or no number of layers comes within one per cent.
    """
    if experiment.match is None:
        return experiment
    baseline = experiment.variants[experiment.baseline]
    target = count_of(baseline).total
    matched = experiment
    for name, config in experiment.variants_of_file.items():
        if not _is_within(TOLERANCE, count_of(config).total, target):
            body = _Body(config, experiment.baseline, target, count_of)
            matched = matched.with_added(WIDTH, body.by_width(), Added(role="matched_width", of=name))
            matched = matched.with_added(DEPTH, body.by_depth(), Added(role="matched_depth", of=name))
    return matched


def sizes_in_words(experiment: Experiment, count_of: CountOf) -> Iterator[str]:
    """A table of the size of each variant, line by line."""
    counts = {name: count_of(config) for name, config in experiment.variants.items()}
    target = counts[experiment.baseline].total
    cells = [
        (
            name,
            f"{counts[name].total:,}",
            _percent(100 * (counts[name].total - target) / target),
            f"{counts[name].flops_per_token:,}",
            str(config.model.num_layers),
            f"{inner_width(config.model):,}",
        )
        for name, config in experiment.variants.items()
    ]
    head = ("", "parameters", f"against {experiment.baseline}", "FLOPs/token", "layers", "inner width")
    sizes = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    for first, *others in (head, *cells):
        rest = (cell.rjust(size) for cell, size in zip(others, sizes[1:], strict=True))
        yield "  ".join([first.ljust(sizes[0]), *rest])
    if not any(config.added and config.added.role.startswith("matched") for config in experiment.variants.values()):
        within = f"within {100 * TOLERANCE:g} % of {experiment.baseline}'s {target:,}"
        yield f"match: parameters adds nothing, every variant is {within}"


def _percent(share: float) -> str:
    """Two decimals, or the first digit that is not 0."""
    return f"{share:+.1g} %" if 0 < abs(share) < 0.005 else f"{share:+.2f} %"


def _is_within(share: float, total: int, target: int) -> bool:
    return abs(total - target) <= share * target


def inner_width(model: ModelConfig) -> int:
    """The width inside the layers of a body."""
    width: int = getattr(model, INNER_WIDTH[model.type])
    return width


class _Body:
    """The body of one variant, to be made larger or smaller."""

    def __init__(self, config: RunConfig, baseline: str, target: int, count_of: CountOf) -> None:
        self.config, self.baseline, self.target, self.count_of = config, baseline, target, count_of

    def by_width(self) -> RunConfig:
        """With another inner width; raises ConfigError."""
        resized = self._fit_width(self.config.model.num_layers)
        if resized is None or not self._is_matched(resized):
            raise self._out_of_reach("inner width", resized)
        return resized

    def by_depth(self) -> RunConfig:
        """With another number of layers, the one that needs the smaller change of width; raises ConfigError."""
        resized = [fit for num_layers in self._layers_around() if (fit := self._fit_width(num_layers)) is not None]
        matched = list(filter(self._is_matched, resized))
        if not matched:
            nearest = min(resized, key=self._distance, default=None)
            raise self._out_of_reach("number of layers, one more or fewer at least,", nearest)
        width = inner_width(self.config.model)
        return min(matched, key=lambda config: abs(math.log(inner_width(config.model) / width)))

    def _layers_around(self) -> list[int]:
        """The whole numbers of layers on either side of the exact one, without the present number.

        None at all where layers are shared: one more would add no parameter.
        """
        if getattr(self.config.model, "layer_sharing", "none") != "none":
            return []
        present = self.config.model.num_layers
        layer = self._total(self._sized(present + 1)) - self._total(self.config)
        exact = (self.target - self._total(self.config)) / layer
        changes = {math.floor(exact), math.ceil(exact)} - {0}
        return [present + change for change in sorted(changes) if present + change >= 1]

    def _fit_width(self, num_layers: int) -> RunConfig | None:
        """With the inner width whose count is the nearest; None where the count does not depend on the width.

        The count is a polynomial of the width, of degree one (a feed-forward part) or two (a recurrent layer), which
        three of its values determine.
        """
        one, two, three = (self._total(self._sized(num_layers, width)) for width in (1, 2, 3))
        square = (three - 2 * two + one) / 2
        slope = two - one - 3 * square
        missing = self.target - (one - square - slope)
        if not slope and not square:
            return None
        root = math.sqrt(max(0.0, slope**2 + 4 * square * missing))
        exact = 2 * missing / (slope + root)  # the form of the root that also holds where `square` is 0
        rounded = self._sized(num_layers, max(1, _GRANULE * round(exact / _GRANULE)))
        if _is_within(_CLOSE, self._total(rounded), self.target):
            return rounded
        return self._sized(num_layers, max(1, round(exact)))

    def _sized(self, num_layers: int, width: int | None = None) -> RunConfig:
        model = self.config.model
        changes = {"num_layers": num_layers} | ({} if width is None else {INNER_WIDTH[model.type]: width})
        return self.config.model_copy(update={"model": model.model_copy(update=changes)})

    def _total(self, config: RunConfig) -> int:
        return self.count_of(config).total

    def _distance(self, config: RunConfig) -> int:
        return abs(self._total(config) - self.target)

    def _is_matched(self, config: RunConfig) -> bool:
        return _is_within(TOLERANCE, self._total(config), self.target)

    def _out_of_reach(self, what: str, nearest: RunConfig | None) -> ConfigError:
        config = self.config
        reached = ""
        if nearest is not None:
            layers = "one layer" if nearest.model.num_layers == 1 else f"{nearest.model.num_layers} layers"
            shape = f"{layers} of inner width {inner_width(nearest.model):,}"
            reached = f" (the nearest, {shape}, has {self._total(nearest):,})"
        return ConfigError(
            Problem(
                "match",
                f"{config.variant} has {self._total(config):,} parameters and {self.baseline} {self.target:,}: "
                f"no {what} brings it within {100 * TOLERANCE:g} %{reached}",
            )
        )
