"""Why a figure has no value: a sentence part beside every null, so that no format shows a gap alone. Free of torch."""

import math
from collections.abc import Mapping

from tiedlm.evaluation.measures import words_are_too_long

NOT_STORED = "an earlier version stored this without a reason"
ONE_SEED = "one seed has no spread"
_LARGEST_EXPONENT = math.log(1.7976931348623157e308)

Reasons = dict[str, str]
"""The reason of each figure that is null, by its key."""


def perplexity_reason(nll: float, tokens: int) -> str | None:
    """Why there is no perplexity per token; null where there is one."""
    return "no token was scored" if not tokens else _too_large(nll / tokens, "token")


def word_perplexity_reason(nll: float, words: int | None, num_bytes: int | None, no_words: str | None) -> str | None:
    """Why there is no perplexity per word; null where there is one."""
    if words is None:
        return no_words or NOT_STORED
    if not words:
        return "no word was scored"
    if words_are_too_long(words, num_bytes):
        assert num_bytes is not None
        return (
            f"the text does not put white space between its words: what stands between two has "
            f"{num_bytes / words:,.0f} bytes on average"
        )
    return _too_large(nll / words, "word")


def _too_large(nats: float, unit: str) -> str | None:
    if nats <= _LARGEST_EXPONENT:
        return None
    return f"exp of {nats:,.1f} nats per {unit} is beyond the largest number of float64"


def known_reasons(reasons: Mapping[str, str | None]) -> Reasons:
    """Those that are reasons."""
    return {key: reason for key, reason in reasons.items() if reason}


def score_reasons(
    nll: float,
    tokens: int,
    words: int | None,
    num_bytes: int | None,
    words_reason: str | None,
    bytes_reason: str | None,
) -> Reasons:
    """Why a figure of a split is null."""
    return known_reasons(
        {
            "words": None if words is not None else words_reason or NOT_STORED,
            "bytes": None if num_bytes is not None else bytes_reason or NOT_STORED,
            "nats_per_token": None if tokens else "no token was scored",
            "token_perplexity": perplexity_reason(nll, tokens),
            "word_perplexity": word_perplexity_reason(nll, words, num_bytes, words_reason),
            "bits_per_byte": None if num_bytes else bytes_reason or "no byte was scored",
        }
    )
