"""One split over the seeds of a variant: sums, the figures from them, their spread, and why one is absent.

Over seeds, `nll`, `tokens`, `words` and `bytes` are *sums*: see tiedlm/comparison/variant_summary. Free of torch.
"""

from collections.abc import Sequence

from tiedlm.comparison.statistics import sample_sd
from tiedlm.config.base import Config
from tiedlm.evaluation.absence import ONE_SEED, Reasons, known_reasons, perplexity_reason, score_reasons
from tiedlm.evaluation.measures import bits_per_byte, nats_per_token, perplexity, word_perplexity
from tiedlm.run.result import SplitResult

_PERPLEXITY = "token_perplexity"


class SeedScore(Config):
    """One seed's sums on a split, and the figures from them; `absent` says by key why one is null."""

    seed: int
    nll: float
    tokens: int
    words: int | None
    bytes: int | None
    nats_per_token: float | None
    token_perplexity: float | None
    word_perplexity: float | None
    bits_per_byte: float | None
    absent: Reasons = {}  # noqa: RUF012 (a frozen model)


class SplitSummary(Config):
    """A split over all seeds: sums, the figures from them, and the spread over seeds; `absent` as in SeedScore."""

    nll: float
    tokens: int
    words: int | None
    words_reason: str | None
    bytes: int | None
    bytes_reason: str | None
    nats_per_token: float | None
    nats_per_token_sd: float | None
    token_perplexity: float | None
    token_perplexity_sd: float | None
    word_perplexity: float | None
    bits_per_byte: float | None
    unigram_perplexity: float | None
    documents: int
    seq_len: int
    stride: int
    state_carried: bool = False
    per_seed: list[SeedScore]
    absent: Reasons = {}  # noqa: RUF012


def summarize_split(scored: Sequence[tuple[int, SplitResult]]) -> SplitSummary:
    """The results of some seeds on one split taken together."""
    per_seed = [_seed_score(seed, result) for seed, result in scored]
    results = [result for _, result in scored]
    first = results[0]
    unigram_nll = sum(result.unigram_nll for result in results)
    nll, tokens = sum(result.nll for result in results), sum(result.tokens for result in results)
    words = _sum([result.words for result in results])
    num_bytes = _sum([result.bytes for result in results])
    words_reason = next((result.words_reason for result in results if result.words_reason), None)
    bytes_reason = next((result.bytes_reason for result in results if result.bytes_reason), None)
    absent = score_reasons(nll, tokens, words, num_bytes, words_reason, bytes_reason)
    no_unigram = perplexity_reason(unigram_nll, tokens)
    return SplitSummary(
        nll=nll,
        tokens=tokens,
        words=words,
        words_reason=words_reason,
        bytes=num_bytes,
        bytes_reason=bytes_reason,
        nats_per_token=nats_per_token(nll, tokens),
        nats_per_token_sd=_spread([score.nats_per_token for score in per_seed]),
        token_perplexity=perplexity(nll, tokens),
        token_perplexity_sd=_spread([score.token_perplexity for score in per_seed]),
        word_perplexity=word_perplexity(nll, words, num_bytes),
        bits_per_byte=bits_per_byte(nll, num_bytes),
        unigram_perplexity=perplexity(unigram_nll, tokens),
        documents=first.documents,
        seq_len=first.seq_len,
        stride=first.stride,
        state_carried=first.state_carried,
        per_seed=per_seed,
        absent=absent | _no_spread(per_seed) | known_reasons({"unigram_perplexity": no_unigram}),
    )


def _no_spread(per_seed: Sequence[SeedScore]) -> Reasons:
    """Why a spread over seeds is null."""
    keys = ("nats_per_token", _PERPLEXITY)
    one_seed = dict.fromkeys(keys, ONE_SEED) if len(per_seed) == 1 else {}
    reasons = {key: each.absent[key] for each in per_seed for key in keys if key in each.absent} | one_seed
    return {f"{key}_sd": reason for key, reason in reasons.items()}


def _seed_score(seed: int, result: SplitResult) -> SeedScore:
    return SeedScore(
        seed=seed,
        nll=result.nll,
        tokens=result.tokens,
        words=result.words,
        bytes=result.bytes,
        nats_per_token=nats_per_token(result.nll, result.tokens),
        token_perplexity=perplexity(result.nll, result.tokens),
        word_perplexity=word_perplexity(result.nll, result.words, result.bytes),
        bits_per_byte=bits_per_byte(result.nll, result.bytes),
        absent=score_reasons(
            result.nll, result.tokens, result.words, result.bytes, result.words_reason, result.bytes_reason
        ),
    )


def _spread(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sample_sd(known) if known and len(known) == len(values) else None


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
