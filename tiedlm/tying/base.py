"""The contract of every strategy: a module that embeds ids and hands out the matrix that scores the next token."""

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.tying.config import EmbeddingConfig
from tiedlm.tying.input_path import InputPath
from tiedlm.tying.start import Start

ParameterPair = tuple[nn.Parameter, nn.Parameter]


def matrix(*shape: int) -> Tensor:
    """Room for an fp32 parameter on the default device; values come with `initialize`."""
    return torch.empty(*shape, dtype=torch.float32)


class Tying(nn.Module):
    """The input and the output embedding of a language model, and what they share.

    Shapes: V vocabulary, D model width, E width of the output embedding (D unless a strategy says otherwise).
    A shared matrix is one parameter, owned once; `embed` and `output_weight` each reach it by an autograd node of their
    own, so that the two gradient paths can be told apart. Constructors allocate; `initialize` gives values.
    """

    def __init__(self, config: EmbeddingConfig, vocab_size: int, dim: int) -> None:
        super().__init__()
        self.start = Start(config.init)
        self.init_std = config.init_std
        self.input_path = InputPath(config, dim)
        self.bias = nn.Parameter(matrix(vocab_size)) if config.output_bias else None
        self.bias_std = config.output_bias_std

    def embed(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> vectors (B, T, D), fp32."""
        raise NotImplementedError

    def output_weight(self) -> Tensor:
        """The output embedding (V, E), fp32; asked for once a forward pass."""
        raise NotImplementedError

    def embed_and_output_weight(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Both at once, where a strategy can do with less if it knows that both will be used."""
        return self.embed(ids), self.output_weight()

    def project(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., E), what the output embedding's rows are compared with."""
        return hidden

    def output_bias(self) -> Tensor | None:
        """A number per row of the output embedding (V,), or None."""
        return self.bias

    def forward_flops_per_token(self) -> int:
        """Floating-point operations of one token's way through maps of the strategy's own; the scores are not its."""
        return 0

    def penalty(self) -> Tensor | None:
        """A () tensor that joins the loss once a step, never the nll; None where there is none."""
        return None

    def set_progress(self, fraction: float) -> list[ParameterPair]:
        """Called before every step with the share of the run that is done, 0 <= fraction < 1.

        Returns (source, target) pairs whose optimizer state the loop copies.
        """
        return []

    @property
    def stages(self) -> tuple[float, ...]:
        """The shares of the run from which on a step may do something else, in order, the first of them 0."""
        return (0.0,)

    def idle_at_inference(self) -> list[nn.Parameter]:
        """Parameters that training needs and a trained model does not."""
        return []

    def idle_now(self) -> list[nn.Parameter]:
        """Parameters that the stage of the run leaves alone: they get no gradient, so no update."""
        return []

    def num_input_only(self) -> int:
        """Of matrices from which both sides read, the entries that the output embedding leaves out."""
        return 0

    def initialize(self, draw: Draw) -> None:
        """Give the module's own parameters their starting values; `draw` maps a parameter's name to its generator."""
        if self.bias is not None:
            normal_(self.bias, self.bias_std, draw("bias"))

    def lookup(self, embedding: Tensor, ids: Tensor) -> Tensor:
        """Rows of a (V, D) matrix on their way to the body: (B, T) -> (B, T, D)."""
        vectors: Tensor = self.input_path(embedding, ids)
        return vectors
