"""The contract of a strategy: a module that embeds ids and gives the matrix that scores the next token."""

from typing import Literal

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.kernels.lookup import shared_tables
from tiedlm.tying.bookkeeping import Bookkeeping
from tiedlm.tying.config import EmbeddingConfig
from tiedlm.tying.head import Head, LeanHead
from tiedlm.tying.input_path import InputPath
from tiedlm.tying.table_init import TableInit

ParameterPair = tuple[nn.Parameter, nn.Parameter]


def matrix(*shape: int) -> Tensor:
    """An uninitialized fp32 tensor on the default device, for a parameter; `initialize` gives it values."""
    return torch.empty(*shape, dtype=torch.float32)


def starting_std(std: float | Literal["inverse_sqrt_dim"], dim: int) -> float:
    """The number that a config's `init_std` stands for in a model of width `dim`."""
    return dim**-0.5 if std == "inverse_sqrt_dim" else std


class Tying(Bookkeeping):
    """The input and the output embedding of a language model, and what they share.

    B batch, T positions, V vocabulary, D model width, E width of the output embedding (D unless a strategy says
    otherwise). A strategy must override `embed` and `output_weight`. It may override `project`, `output_bias`,
    `penalty`, `set_progress` and `input_weight`, and overrides `initialize` where it has parameters. It need not
    override the rest.

    Constructors only allocate, values come from `initialize`, and parameters stay the same objects. A shared matrix is
    one parameter; each use of it is a view of its own, so that its two gradients can be told apart.
    """

    def __init__(self, config: EmbeddingConfig, vocab_size: int, dim: int) -> None:
        super().__init__()
        self.table_init = TableInit(config.init)
        self.dim = dim
        self.init_std = starting_std(config.init_std, dim)
        self.input_path = InputPath(config, dim)
        self.bias = nn.Parameter(matrix(vocab_size)) if config.output_bias else None
        self.bias_std = config.output_bias_std

    def embed(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> vectors (B, T, D), fp32. Takes rows of a table by `lookup`."""
        raise NotImplementedError

    def output_weight(self) -> Tensor:
        """The output embedding (V, E), fp32; called once a forward pass."""
        raise NotImplementedError

    @torch.no_grad()
    def input_weight(self) -> Tensor:
        """The input embedding (V, D) as the table has it, mapped to D: before scale, norm, dropout and noise.

        For looking at, without gradient. A strategy that does not say has the vectors that it gives the body.
        """
        ids = torch.arange(len(self.output_weight()), device=next(self.parameters()).device)
        return self.embed(ids.unsqueeze(0))[0]

    def project(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., E), what the output embedding's rows are multiplied with."""
        return hidden

    def output_bias(self) -> Tensor | None:
        """A number per row of the output embedding (V,), or None."""
        return self.bias

    def penalty(self) -> Tensor | None:
        """A () tensor that joins the loss once a step, never the nll; None where there is none."""
        return None

    def set_progress(self, fraction: float) -> list[ParameterPair]:
        """Called before every step with the fraction of the run that is done, 0 <= fraction < 1.

        Returns (source, target) pairs whose optimizer state the trainer copies.
        """
        return []

    def initialize(self, draw: Draw) -> None:
        """Give the module's own parameters their starting values; `draw` maps a parameter's name to its generator."""
        if self.bias is not None:
            normal_(self.bias, self.bias_std, draw("bias"))

    def lookup(self, table: Tensor, ids: Tensor) -> Tensor:
        """Rows of a table (V, E) on their way to the body, scaled, normed, dropped as configured: (B, T) -> (B, T, E).

        A strategy that scores with the same table as it is gives `kernels.lookup.table_view` of it as output weight:
        in training that spares a second gradient of its size.
        """
        vectors: Tensor = self.input_path(table, ids)
        return vectors

    def head(self, softcap: float | None = None, kind: type[Head] = LeanHead) -> Head:
        """What scores projected hidden states, for one forward pass."""
        return kind(self.output_weight(), self.output_bias(), softcap)

    def embed_with_head(
        self, ids: Tensor, softcap: float | None = None, kind: type[Head] = LeanHead
    ) -> tuple[Tensor, Head]:
        """`embed` and `head` of one forward pass in training, whose gradients of a table that both read may join."""
        if torch.compiler.is_compiling():
            return self.embed(ids), self.head(softcap, kind)
        with shared_tables() as reads:
            vectors, head = self.embed(ids), self.head(softcap, kind)
        reads.join(head.weight)
        return vectors, head
