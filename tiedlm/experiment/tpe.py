"""The tree-structured Parzen estimator of Optuna, asked for one candidate at a time. Free of torch, and of Optuna.

A study is made for each question, of what was tried before and a seed that hangs on the number of the candidate.
Nothing of it is kept, so that it cannot disagree with the trials on disk, and a search that was interrupted goes on
with the candidates that it would have had.
"""

import itertools
from collections.abc import Mapping, Sequence
from importlib import util
from typing import TYPE_CHECKING, Any

from tiedlm.config.base import ConfigError, Problem
from tiedlm.experiment.space import Choices, Range, Space, draw
from tiedlm.streams import stream_seed

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

_MOST_TRIES = 1000


def check_optuna() -> None:
    """Raise ConfigError where Optuna is not installed."""
    if util.find_spec("optuna") is None:
        raise ConfigError(Problem("tune.method", "tpe needs Optuna: pip install 'tiedlm[tune]'"))


def propose(space: Space, tried: Sequence[Mapping[str, Any]], losses: Sequence[float], seed: int) -> dict[str, Any]:
    """A point to try next, after those tried, none of which it repeats; `losses` may be infinite.

    The space must hold another point. All settings are proposed together, so that what goes with what is learned too.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {key: _distribution(one) for key, one in space.items()}
    sampler = optuna.samplers.TPESampler(
        seed=stream_seed(seed, "tpe", len(tried)) % 2**32, n_startup_trials=0, multivariate=True
    )
    study = optuna.create_study(sampler=sampler)
    for point, loss in zip(tried, losses, strict=True):
        parameters = {key: _told(one, point[key]) for key, one in space.items()}
        study.add_trial(optuna.create_trial(params=parameters, distributions=distributions, value=loss))
    asked = study.ask(distributions).params
    point = {key: _heard(one, asked[key]) for key, one in space.items()}
    for number in itertools.count():
        if point not in tried:
            return point
        assert number < _MOST_TRIES
        point = draw(space, seed, len(tried) + number)
    raise AssertionError


def _distribution(one: Range | Choices) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    if isinstance(one, Choices):
        return CategoricalDistribution(list(range(one.size)))
    low, high = one.ends()
    return FloatDistribution(low, high, log=one.log, step=one.step)


def _told(one: Range | Choices, value: Any) -> Any:
    """A setting as the study has it: of a list the place of the value in it."""
    return one.values.index(value) if isinstance(one, Choices) else float(value)


def _heard(one: Range | Choices, value: Any) -> Any:
    return one.values[value] if isinstance(one, Choices) else one.rounded(value)
