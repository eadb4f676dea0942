"""From a tying config to its module."""

from typing import assert_never

from torch import Tensor

from tiedlm.config.base import ConfigError, Problem
from tiedlm.tying import config as configs
from tiedlm.tying.base import Tying
from tiedlm.tying.config import TyingConfig
from tiedlm.tying.factorized import Factorized
from tiedlm.tying.partial import PartialDimensions, PartialVocabulary
from tiedlm.tying.progressive import ProgressiveTie, ProgressiveUntie
from tiedlm.tying.projected import Projected
from tiedlm.tying.soft import Soft
from tiedlm.tying.table_init import TableInit
from tiedlm.tying.tied import Tied
from tiedlm.tying.untied import Untied


def build_tying(config: TyingConfig, vocab_size: int, dim: int, token_frequencies: Tensor | None = None) -> Tying:
    """The strategy that `config` names, allocated on the default device, without values yet.

    `token_frequencies` (V,) counts the train split's tokens, for strategies that treat tokens by how often they occur.
    Raises ConfigError where the strategy does not fit the vocabulary or the width.
    """
    try:
        config.check_sizes(vocab_size, dim)
    except ValueError as error:
        raise ConfigError(Problem("model", str(error))) from None
    tying = _strategy(config, vocab_size, dim, token_frequencies)
    tying.table_init = TableInit(config.init, token_frequencies)  # which most strategies have no use for
    return tying


def _strategy(config: TyingConfig, vocab_size: int, dim: int, token_frequencies: Tensor | None) -> Tying:
    match config:
        case configs.TiedConfig():
            return Tied(config, vocab_size, dim)
        case configs.UntiedConfig():
            return Untied(config, vocab_size, dim)
        case configs.SoftConfig():
            return Soft(config, vocab_size, dim)
        case configs.PartialVocabularyConfig():
            return PartialVocabulary(config, vocab_size, dim, token_frequencies)
        case configs.PartialDimensionsConfig():
            return PartialDimensions(config, vocab_size, dim)
        case configs.ProjectedConfig():
            return Projected(config, vocab_size, dim)
        case configs.FactorizedConfig():
            return Factorized(config, vocab_size, dim)
        case configs.ProgressiveConfig(direction="tie"):
            return ProgressiveTie(config, vocab_size, dim)
        case configs.ProgressiveConfig():
            return ProgressiveUntie(config, vocab_size, dim)
        case _:
            assert_never(config)
