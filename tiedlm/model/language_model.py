"""A decoder with its embeddings: ids in; hidden states, logits or negative log-likelihoods out."""

from functools import partial

import torch
from torch import Tensor, nn

from tiedlm.config.base import ConfigError, Problem
from tiedlm.initialization import initialize
from tiedlm.kernels import nll as head
from tiedlm.model.config import LstmConfig, ModelConfig
from tiedlm.model.lstm import Lstm
from tiedlm.model.positions import LearnedPositions, SinusoidalPositions
from tiedlm.model.state import State
from tiedlm.model.transformer import Transformer, build_norm, build_positions
from tiedlm.tying.base import Tying
from tiedlm.tying.build import build_tying


class LanguageModel(nn.Module):
    """Input embedding, positions, body, final norm, output embedding. B batch, T positions, D width, V vocabulary.

    Where a `state` is given, a recurrent body goes on from it and leaves its own in it. With a `logit_softcap` s every
    score z is s tanh(z / s), in training as in all that is told afterwards. With `embedding_residual` the vectors that
    the tying gives, without positions, are added to what the final norm gives.
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
        return self._logits(self._projected(ids))

    def next_logits(self, ids: Tensor, state: State | None = None) -> Tensor:
        """ids (B, T) -> scores of the token after the last one (B, V), fp32 or better."""
        return self._logits(self._projected(ids, state)[:, -1])

    def nll(self, ids: Tensor, targets: Tensor, state: State | None = None) -> Tensor:
        """Sum of the negative log-likelihoods of `targets` (B, T) in nats, (); a target of -100 is not scored."""
        return self.objective(ids, targets, state)[0]

    def objective(
        self,
        ids: Tensor,
        targets: Tensor,
        state: State | None = None,
        *,
        z_loss: float = 0.0,
        divisor: float = 1.0,
        output_weight: Tensor | None = None,
        all_scores_at_once: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """`nll` plus `z_loss` times the sum of (log sum exp z)^2 over the same positions, and that nll alone, both ().

        The first is divided by `divisor`, the second has no gradient. An `output_weight` (V, E) takes the place of the
        tying's, which it must equal: for who wants to know the head's gradient of it. `all_scores_at_once` takes the
        memory of them, (B, T, V), for gradients by torch.
        """
        vectors, weight = self.tying.embed_and_output_weight(ids)
        if output_weight is not None:
            weight = output_weight  # before the body runs: some strategies make a matrix for it, which is let go here
        hidden = self.tying.project(self(ids, state, vectors)).flatten(0, 1)  # (B T, E)
        bias = self.tying.output_bias()
        cap = self.logit_softcap
        objective = head.full_objective if all_scores_at_once else head.objective
        return objective(hidden, weight, targets.flatten(), bias, softcap=cap, z_loss=z_loss, divisor=divisor)

    @torch.no_grad()
    def token_nll(self, ids: Tensor, targets: Tensor, state: State | None = None) -> Tensor:
        """Negative log-likelihood of each target in nats, (B, T) fp32 without gradient, 0 where a target is -100."""
        hidden = self._projected(ids, state).flatten(0, 1)  # (B T, E)
        weight, bias = self.tying.output_weight(), self.tying.output_bias()
        scored = head.token_nll(hidden, weight, targets.flatten(), bias, softcap=self.logit_softcap)
        return scored.view_as(targets)

    @torch.no_grad()
    def token_nll_and_mass(
        self, ids: Tensor, targets: Tensor, membership: Tensor, state: State | None = None
    ) -> tuple[Tensor, Tensor]:
        """`token_nll`, and the probability that each position gives to groups of tokens, (B, T, G); 0 for -100.

        membership (V, G) holds 1 where a token is in a group, else 0.
        """
        hidden = self._projected(ids, state).flatten(0, 1)  # (B T, E)
        weight, bias = self.tying.output_weight(), self.tying.output_bias()
        flat = targets.flatten()
        scored, mass = head.token_nll_and_mass(hidden, weight, flat, membership, bias, softcap=self.logit_softcap)
        return scored.view_as(targets), mass.view(*targets.shape, -1)

    def initialize(self, seed: int, embedding_draw: int = 0) -> None:
        """Give every parameter its starting value, each from a stream named by `seed` and the parameter's name.

        Another `embedding_draw` gives other values to what the tying owns, and to nothing else.
        """
        initialize(self, seed, "tying", embedding_draw)

    def _projected(self, ids: Tensor, state: State | None = None) -> Tensor:
        return self.tying.project(self(ids, state))  # (B, T, E)

    def _logits(self, hidden: Tensor) -> Tensor:
        return head.logits(hidden, self.tying.output_weight(), self.tying.output_bias(), self.logit_softcap)


def build_model(
    config: ModelConfig, vocab_size: int, max_seq_len: int, token_frequencies: Tensor | None = None
) -> LanguageModel:
    """The model that `config` describes, allocated on the default device, without values yet.

    `max_seq_len` is the longest window it will see; `config.max_seq_len`, where given, may leave room for more.
    Raises ConfigError where the config says another vocabulary size or too short a window.
    """
    if config.vocab_size not in (None, vocab_size):
        message = f"{config.vocab_size:,} is not the tokenizer's {vocab_size:,}"
        raise ConfigError(Problem("model.vocab_size", message))
    if config.max_seq_len is not None and config.max_seq_len < max_seq_len:
        message = f"{config.max_seq_len:,} is less than the {max_seq_len:,} positions of a window (data.seq_len)"
        raise ConfigError(Problem("model.max_seq_len", message))
    tying = build_tying(config.tying, vocab_size, config.dim, token_frequencies)
    decoder = partial(
        LanguageModel, tying, logit_softcap=config.logit_softcap, embedding_residual=config.embedding_residual
    )
    if isinstance(config, LstmConfig):  # which drops by itself, knows the order by its state and has no norm
        return decoder(None, Lstm(config), nn.Identity())
    positions = build_positions(config, config.max_seq_len or max_seq_len)
    return decoder(positions, Transformer(config), build_norm(config), config.dropout)
