"""What `tiedlm analyze --json` prints: measures of matrices and of pairs of them. Free of torch.

A figure that is null stands with its reason in `absent`, by its key. `.._normal` is the value of independent normal
entries, `floor` and `.._chance` that of matrices whose tokens have nothing to do with each other.
"""

from typing import Literal

from tiedlm.config.base import Config
from tiedlm.evaluation.absence import Reasons

Side = Literal["input", "output"]
Direction = Literal["higher", "lower", "no_difference", "cannot_tell"]
"""Of a measure of a variant against the baseline; none of them is better or worse."""
MEASURES = ("alignment", "cka", "neighbours", "isotropy", "rank", "frequency", "symmetry", "distance")
"""What `--measures` takes; all by default."""


class Isotropy(Config):
    """See tiedlm/embeddings/isotropy."""

    isoscore: float | None
    isoscore_normal: float | None
    mean_cosine: float
    partition: float


class FrequencyFit(Config):
    """Over the `num_tokens` that were seen in training; see tiedlm/embeddings/frequency."""

    spearman: float | None
    r2: float | None
    direction: float | None
    num_tokens: int


class Hubs(Config):
    """Skewness of how often a token is among the `k` nearest of the queries."""

    skewness: float
    chance: float
    k: int
    num_queries: int


class Distance(Config):
    """Mean over tokens of |end - start| / |start|, and of the cosine of a row with its start."""

    relative: float
    cosine: float


class WordPairs(Config):
    """Spearman's correlation of cosines with the scores of people, over `num_pairs` of the `num_given`: those whose
    words are both one token."""

    spearman: float | None
    num_pairs: int
    num_given: int


class Bin(Config):
    """The tokens that were seen so often in training: the mean of each figure over them; null without a token."""

    label: str
    num_tokens: int
    means: dict[str, float | None]


class MatrixMeasures(Config):
    """One matrix, over `num_tokens` rows of width `dim`."""

    model: str
    side: Side
    num_tokens: int
    dim: int
    isotropy: Isotropy | None = None
    effective_rank: float | None = None
    effective_rank_normal: float | None = None
    frequency: FrequencyFit | None = None
    hubness: Hubs | None = None
    distance: Distance | None = None
    word_pairs: WordPairs | None = None
    by_frequency: list[Bin] = []  # noqa: RUF012 (a frozen model)
    absent: Reasons = {}  # noqa: RUF012


class SideOf(Config):
    """One of the two matrices of a model."""

    model: str
    side: Side


class Alignment(Config):
    """Mean cosine on the tokens that were held out with its 5 to 95 % of tokens, and in-sample beside its floor."""

    held_out: float
    held_out_range: tuple[float, float]
    in_sample: float
    floor: float


class Alignments(Config):
    """From the rows of a to those of b: as they are, by the best turn, by the best linear map."""

    identity: Alignment | None = None
    orthogonal: Alignment | None = None
    linear: Alignment | None = None


class Neighbours(Config):
    """The mean share of the `k` nearest tokens of each of the queries that two matrices have in common."""

    overlap: float
    chance: float
    k: int
    num_queries: int


class PairMeasures(Config):
    """Two matrices, over `num_tokens` tokens that both have."""

    a: SideOf
    b: SideOf
    num_tokens: int
    alignment: Alignments | None = None
    cka: float | None = None
    cka_chance: float | None = None
    neighbours: Neighbours | None = None
    symmetric_share: float | None = None
    symmetric_share_chance: float | None = None
    by_frequency: list[Bin] = []  # noqa: RUF012
    absent: Reasons = {}  # noqa: RUF012


class Neighbour(Config):
    """A token near another one."""

    token: str
    cosine: float


class Nearest(Config):
    """The tokens nearest to a chosen one in one matrix, the nearest first."""

    token: str
    model: str
    side: Side
    neighbours: list[Neighbour]


class Model(Config):
    """What was opened: `one_matrix` says that input and output are one, or equal in every entry."""

    name: str
    path: str
    step: int | None
    tying: str | None
    vocab_size: int
    input_dim: int
    output_dim: int
    one_matrix: bool


class OverSeeds(Config):
    """A figure of a variant: mean over `seeds` with its t-interval. `of` names the matrix, or the pair, and `metric`
    the figure by its dotted key; `chance` is the mean of its value for independent matrices."""

    variant: str
    of: str
    metric: str
    mean: float
    sd: float | None
    ci95_seeds: tuple[float, float] | None
    chance: float | None
    seeds: list[int]
    per_seed: list[float]


class MeasureDifference(Config):
    """variant - baseline of a figure of the same matrix, or pair, over the seeds both have: paired by seed.

    `p_difference` and `ci95_corrected` are Holm-corrected for the `num_corrected_for` figures of the variant that could
    be tested, `ci95_seeds` is not. The intervals are null with the `reason` for a single seed and where the runs are no
    pairs, the corrected one also where all seeds differ by the same amount.
    """

    variant: str
    baseline: str
    of: str
    metric: str
    mean: float
    ci95_seeds: tuple[float, float] | None
    seeds: list[int]
    per_seed: list[float]
    p_difference: float | None = None
    num_corrected_for: int = 1
    ci95_corrected: tuple[float, float] | None = None
    verdict: Direction = "cannot_tell"
    pairing: str
    reason: str | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval over seeds that goes with the verdict: at 95 %, corrected where the verdict is."""
        return self.ci95_corrected or self.ci95_seeds


class Nearer(Config):
    """How much more alike a variant's one matrix is to the baseline's output than to its input, by one figure.

    Over `seeds`, with the interval and the p-value Holm-corrected for the `num_corrected_for` figures of the variant;
    null for a single seed. `verdict` names the matrix that it is more like.
    """

    variant: str
    baseline: str
    metric: str
    mean: float
    ci95_corrected: tuple[float, float] | None
    seeds: list[int]
    per_seed: list[float]
    p_difference: float | None
    num_corrected_for: int
    verdict: Literal["input", "output", "cannot_tell"]


class EmbeddingAnalysis(Config):
    """All that was measured of one model, of two, or of the runs of an experiment."""

    models: list[Model]
    matrices: list[MatrixMeasures]
    pairs: list[PairMeasures]
    nearest: list[Nearest] = []  # noqa: RUF012
    over_seeds: list[OverSeeds] = []  # noqa: RUF012
    differences: list[MeasureDifference] = []  # noqa: RUF012
    nearer: list[Nearer] = []  # noqa: RUF012
    baseline: str | None = None
    notes: list[str] = []  # noqa: RUF012
