"""From sums and counts to the figures people read. Free of torch."""

import math

SMALLEST_WORTHWHILE = 0.01
"""Nats per token: about one per cent of perplexity."""


def nats_per_token(nll: float, tokens: int) -> float | None:
    """Mean nll of a target token; null where there is none."""
    return nll / tokens if tokens else None


def perplexity(nll: float, count: int | None) -> float | None:
    """exp(nll / count), per token or per word as `count` says; null without a count or beyond float64."""
    if not count:
        return None
    try:
        return math.exp(nll / count)
    except OverflowError:
        return None


def bits_per_byte(nll: float, num_bytes: int | None) -> float | None:
    """nll in bits over the bytes of the original text; null without a count."""
    return nll / (math.log(2) * num_bytes) if num_bytes else None
