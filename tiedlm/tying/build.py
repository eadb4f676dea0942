"""From a tying config to its module."""

from torch import Tensor

from tiedlm.tying.base import Tying
from tiedlm.tying.config import TiedConfig, TyingConfig
from tiedlm.tying.tied import Tied
from tiedlm.tying.untied import Untied


def build_tying(config: TyingConfig, vocab_size: int, dim: int, token_frequencies: Tensor | None = None) -> Tying:
    """The strategy that `config` names, allocated on the default device, without values yet.

    `token_frequencies` (V,) counts the train split's tokens, for strategies that treat tokens by how often they occur.
    """
    match config:
        case TiedConfig():
            return Tied(config, vocab_size, dim)
        case _:
            return Untied(config, vocab_size, dim)
