"""From sums and counts to the figures people read. Free of torch."""

import math

SMALLEST_WORTHWHILE = 0.01
"""Nats per token: about one per cent of perplexity."""
_MAX_BYTES_PER_WORD = 50
"""Mean length in UTF-8; that of the languages that write spaces between words is 5 to 30."""


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


def word_perplexity(nll: float, words: int | None, num_bytes: int | None) -> float | None:
    """`perplexity` per word; null also where the text does not separate its words by white space."""
    return None if words_are_too_long(words, num_bytes) else perplexity(nll, words)


def words_are_too_long(words: int | None, num_bytes: int | None) -> bool:
    """Whether what stands between white space is no word, as in Chinese; unknown lengths are not too long."""
    return bool(words and num_bytes is not None and num_bytes > _MAX_BYTES_PER_WORD * words)


def bits_per_byte(nll: float, num_bytes: int | None) -> float | None:
    """nll in bits over the bytes of the original text; null without a count."""
    return nll / (math.log(2) * num_bytes) if num_bytes else None
