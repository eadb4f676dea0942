"""GPT-2 as a tutorial has it, with tied embeddings: all logits at once, nothing of tiedlm's own."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Attention and feed-forward, each after a norm and added to its input."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, hidden: Any) -> Any:
        query, key, value = (
            part.unflatten(-1, (-1, 64)).transpose(1, 2) for part in self.qkv(self.norm_1(hidden)).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.out(mixed.transpose(1, 2).flatten(2))
        return hidden + self.down(F.gelu(self.up(self.norm_2(hidden))))


class PlainGpt(nn.Module):
    """ids, targets (B, T) -> the mean cross-entropy, ()."""

    def __init__(self, vocab_size: int, seq_len: int, dim: int, num_layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, dim)
        self.positions = nn.Embedding(seq_len, dim)
        self.blocks = nn.Sequential(*(Block(dim) for _ in range(num_layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab_size, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Any, targets: Any) -> Any:
        hidden = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return F.cross_entropy(self.head(self.norm(self.blocks(hidden))).flatten(0, 1), targets.flatten())
