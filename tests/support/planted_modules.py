"""A small language model of plain torch, tied in the usual way or with a fault in it."""

import random
from typing import Any

import torch
from torch import Tensor, nn

V, D = 23, 8


class Config:
    """The one key of it that is asked for."""

    def __init__(self, is_tied: bool) -> None:
        self.tie_word_embeddings = is_tied


class Model(nn.Module):
    """An embedding, a layer whose buffers, counter and dropout leave traces of a pass, and a head."""

    num_calls: Tensor

    def __init__(self, is_tied: bool = True, **factory: Any) -> None:
        super().__init__()
        self.config = Config(is_tied)
        self.embed = nn.Embedding(V, D, **factory)
        self.norm = nn.BatchNorm1d(D, **factory)
        self.dropout = nn.Dropout(0.5)
        self.register_buffer("num_calls", torch.zeros(()))
        self.lm_head = nn.Linear(D, V, bias=False, **factory)
        if is_tied:
            self.tie_weights()

    def tie_weights(self) -> None:
        self.lm_head.weight = self.embed.weight

    def get_input_embeddings(self) -> nn.Module:
        return self.embed

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head

    def hidden(self, ids: Tensor) -> Tensor:
        self.num_calls += torch.rand(()).ceil() + round(random.random()) // 2  # as a counter that draws
        vectors = self.norm(self.embed(ids).transpose(1, 2)).transpose(1, 2)
        mixed: Tensor = self.dropout(vectors.cumsum(1))
        return mixed

    def forward(self, ids: Tensor) -> Tensor:
        scores: Tensor = self.lm_head(self.hidden(ids))  # (B, T, V)
        return scores


class DetachedHead(Model):
    """Tied, and its head trains nothing."""

    def forward(self, ids: Tensor) -> Tensor:
        return self.hidden(ids) @ self.lm_head.weight.detach().T


class WithoutHead(Model):
    """No module makes its scores: its table does."""

    def __init__(self) -> None:
        super().__init__(is_tied=False)
        del self.lm_head

    def get_output_embeddings(self) -> Any:
        return None

    def forward(self, ids: Tensor) -> Tensor:
        return self.hidden(ids) @ self.embed.weight.T


def ids() -> Tensor:
    return torch.arange(6).reshape(2, 3)


def adam(model: nn.Module, **keys: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, **keys)
