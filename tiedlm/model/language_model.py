"""A decoder with its embeddings: ids in; hidden states, logits or negative log-likelihoods out."""

from functools import partial

import torch
from torch import Tensor, nn

from tiedlm.config.base import ConfigError, Problem
from tiedlm.initialization import initialize
from tiedlm.model.config import LstmConfig, ModelConfig
from tiedlm.model.lstm import Lstm
from tiedlm.model.positions import LearnedPositions, SinusoidalPositions
from tiedlm.model.state import State
from tiedlm.model.transformer import Transformer, build_norm, build_positions
from tiedlm.tying.base import Tying
from tiedlm.tying.build import build_tying
from tiedlm.tying.head import Head, LeanHead


class LanguageModel(nn.Module):
    """Input embedding, positions, body, final norm, output embedding. B batch, T positions, D width, V vocabulary.

    A recurrent body starts from the `state` that is given and writes its last one to it. With a `logit_softcap` s every
    score z is s tanh(z / s), in training and evaluation. With `embedding_residual` the vectors that the tying gives,
    without positions, are added to the output of the final norm.
    """

    def __init__(
        self,
        tying: Tying,
        positions: LearnedPositions | SinusoidalPositions | None,
        body: Transformer | Lstm,
        final_norm: nn.Module,
        dropout: float = 0.0,
        *,
        logit_softcap: float | None = None,
        embedding_residual: bool = False,
    ) -> None:
        super().__init__()
        self.tying = tying
        self.positions = positions
        self.dropout = nn.Dropout(dropout)
        self.body = body
        self.final_norm = final_norm
        self.logit_softcap, self.embedding_residual = logit_softcap, embedding_residual

    def forward(self, ids: Tensor, state: State | None = None, vectors: Tensor | None = None) -> Tensor:
        """ids (B, T) -> final hidden states (B, T, D); `vectors` (B, T, D): those of the tying, if known."""
        if vectors is None:
            vectors = self.tying.embed(ids)
        hidden = vectors if self.positions is None else self.positions(vectors)
        result: Tensor = self.final_norm(self.body(self.dropout(hidden), state))
        return result + vectors if self.embedding_residual else result

    def logits(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> scores of the next token (B, T, V), fp32 or better: for a few positions at a time."""
        hidden = self.projected(ids)
        return self._head().logits(hidden)

    def next_logits(self, ids: Tensor, state: State | None = None) -> Tensor:
        """ids (B, T) -> scores of the token after the last one (B, V), fp32 or better."""
        hidden = self.projected(ids, state)[:, -1]
        return self._head().logits(hidden)

    def nll(self, ids: Tensor, targets: Tensor, state: State | None = None) -> Tensor:
        """Sum of the negative log-likelihoods of `targets` (B, T) in nats, (); a target of -100 is not scored."""
        vectors, head = self.embed_with_head(ids)
        return head.objective(self.projected(ids, state, vectors), targets)[0]

    def embed_with_head(self, ids: Tensor, kind: type[Head] = LeanHead) -> tuple[Tensor, Head]:
        """ids (B, T) -> the vectors of the tying (B, T, D), and the head of the same forward pass: for training."""
        return self.tying.embed_with_head(ids, self.logit_softcap, kind)

    def projected(self, ids: Tensor, state: State | None = None, vectors: Tensor | None = None) -> Tensor:
        """`forward`, and then the tying's map: what the head scores (B, T, E)."""
        return self.tying.project(self(ids, state, vectors))

    @torch.no_grad()
    def token_nll(self, ids: Tensor, targets: Tensor, state: State | None = None) -> Tensor:
        """Negative log-likelihood of each target in nats, (B, T) fp32 without gradient, 0 where a target is -100."""
        hidden = self.projected(ids, state)
        return self._head().token_nll(hidden, targets)

    @torch.no_grad()
    def token_nll_and_mass(
        self, ids: Tensor, targets: Tensor, membership: Tensor, state: State | None = None
    ) -> tuple[Tensor, Tensor]:
        """`token_nll`, and the probability that each position gives to groups of tokens, (B, T, G); 0 for -100.

        membership (V, G) holds 1 where a token is in a group, else 0.
        """
        hidden = self.projected(ids, state)
        return self._head().token_nll_and_mass(hidden, targets, membership)

    def initialize(self, seed: int, embedding_draw: int = 0) -> None:
        """Give every parameter its starting value, each from a stream named by `seed` and the parameter's name.

        Another `embedding_draw` gives other values to what the tying owns, and to nothing else.
        """
        initialize(self, seed, "tying", embedding_draw)

    def _head(self) -> Head:
        return self.tying.head(self.logit_softcap)


def build_model(
    config: ModelConfig, vocab_size: int, max_seq_len: int, token_frequencies: Tensor | None = None
) -> LanguageModel:
    """The model that `config` describes, allocated on the default device, without values yet.

    `max_seq_len` is the longest window it will see; `config.max_seq_len`, where given, may leave room for more.
    Raises ConfigError where the config says another vocabulary size or too short a window.
    """
    if config.vocab_size not in (None, vocab_size):
        message = f"{config.vocab_size:,} is not the tokenizer's {vocab_size:,}; left out, it is"
        raise ConfigError(Problem("model.vocab_size", message))
    if config.max_seq_len is not None and config.max_seq_len < max_seq_len:
        message = f"{config.max_seq_len:,} is less than the {max_seq_len:,} positions of a window (data.seq_len)"
        raise ConfigError(Problem("model.max_seq_len", message))
    tying = build_tying(config.tying, vocab_size, config.dim, token_frequencies)
    decoder = partial(
        LanguageModel, tying, logit_softcap=config.logit_softcap, embedding_residual=config.embedding_residual
    )
    if isinstance(config, LstmConfig):  # has dropout of its own, no positions and no norm
        return decoder(None, Lstm(config), nn.Identity())
    positions = build_positions(config, config.max_seq_len or max_seq_len)
    return decoder(positions, Transformer(config), build_norm(config), config.dropout)
