"""Where a difference lies: on rare or on frequent tokens, on the target's side or on the input's. Free of torch.

Every token of the test split stands in one bin of each breakdown. Bins are of how often a token was a target in the
batches that a run consumed, once by the target and once by the token before it, which is where the input embedding
acts; and of kinds of tokens. Beside its nats stands the probability that a variant gives to each bin on the whole: a
variant may score rare tokens better because it knows them, or because it expects them everywhere.

In the bins of a breakdown the two tests of a verdict (tiedlm/comparison/judgement) are Holm-corrected within all that
could be tested. Too few documents have no verdict.
"""

from tiedlm.comparison.analyses.token_groups import By
from tiedlm.comparison.contrast import Verdict
from tiedlm.comparison.statistics import Interval
from tiedlm.config.base import Config

SPLIT = "test"
FEWEST_DOCUMENTS = 20


class BinScore(Config):
    """A variant on a bin: sums over its seeds. `mass` is the probability given to the bin, mean over all tokens."""

    variant: str
    tokens: int
    nll: float
    nats_per_token: float | None
    mass: float | None


class BinDifference(Config):
    """variant - baseline in nats per token of the bin over the `seeds` both have: below 0 favours the variant.

    `ci95_seeds` is a t-interval over seeds, `ci95_text` a bootstrap over documents with the seeds taken together.
    The p-values are Holm-corrected for the `num_corrected_for` tests of the breakdown. `verdict` is null with `reason`
    where nothing could be tested.
    """

    variant: str
    mean: float | None = None
    ci95_seeds: Interval | None = None
    ci95_text: Interval | None = None
    seeds: list[int] = []  # noqa: RUF012 (a frozen model)
    per_seed: list[float] = []  # noqa: RUF012
    p_difference: float | None = None
    p_equal: float | None = None
    num_corrected_for: int = 1
    verdict: Verdict | None = None
    reason: str | None = None


class Bin(Config):
    """`types` of the vocabulary and `tokens` of the split that are in it, mean over all runs (seeds see other batches).

    `documents` hold such a token for one seed at least; `share` is of all tokens.
    """

    label: str
    types: float | None
    tokens: float
    share: float | None
    documents: int
    scores: list[BinScore]
    differences: list[BinDifference]


class Breakdown(Config):
    """All tokens of the split, each in one bin; none with the `reason`."""

    by: By
    bins: list[Bin] = []  # noqa: RUF012
    reason: str | None = None


class Moved(Config):
    """|end - start| / |start| of rows, mean over the `rows` in a bin and over seeds; null without one or from 0."""

    variant: str
    rows: float
    input: float | None
    output: float | None


class MovedBin(Config):
    """Rows by how often their token was a target or an input, whichever was more often; `label` "0": neither ever."""

    label: str
    variants: list[Moved]


class Frequency(Config):
    """Null lists with the `reason` where a run did not keep what is needed."""

    split: str = SPLIT
    breakdowns: list[Breakdown] = []  # noqa: RUF012
    movement: list[MovedBin] = []  # noqa: RUF012
    reason: str | None = None
