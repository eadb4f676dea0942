"""A sample from a model, for the eye."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from tiedlm.model.language_model import LanguageModel
from tiedlm.model.state import State


@torch.no_grad()
def generate(
    model: LanguageModel,
    prompt: Sequence[int],
    *,
    num_tokens: int,
    max_context: int | None,
    temperature: float = 1.0,
    top_k: int | None = None,
    seed: int = 0,
) -> Iterator[int]:
    """Continue `prompt` (at least one id) token by token; the same seed gives the same text.

    Temperature 0 takes the likeliest token; `top_k` draws from the likeliest k alone. At most `max_context` ids are
    looked back at; where that is None the model carries its state, and each id is read once.
    """
    model.eval()
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    context, state = list(prompt), State()
    for _ in range(num_tokens):
        if max_context is not None:
            context, state = context[-max_context:], State()
        logits = model.next_logits(torch.tensor([context], device=device), state)  # (1, V)
        drawn = _draw(logits[0].cpu(), temperature, top_k, generator)
        yield drawn
        context = [drawn] if max_context is None else [*context, drawn]


def _draw(logits: Tensor, temperature: float, top_k: int | None, generator: torch.Generator) -> int:
    """One id from scores (V,)."""
    if temperature == 0:
        return int(logits.argmax())
    if top_k is not None and top_k < len(logits):
        logits = logits.masked_fill(logits < logits.topk(top_k).values[-1], -torch.inf)
    above = (logits.double() - logits.max()) / temperature  # at most 0: no temperature makes it overflow
    return int(torch.multinomial(above.softmax(-1), 1, generator=generator))
