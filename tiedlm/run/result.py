"""The schema of result.json: what a finished run stores, sums and counts only. The report divides. Free of torch."""

from typing import Any, Literal

from tiedlm.config.base import Config
from tiedlm.data.config import SPLITS as SPLITS
from tiedlm.data.config import Split
from tiedlm.data.counting import SplitOverlap as SplitOverlap
from tiedlm.forecast.footprint import Footprint as Footprint
from tiedlm.model.counts import PARTS as PARTS
from tiedlm.model.counts import ParameterCounts as ParameterCounts

SCHEMA_VERSION = 1
ENDED = ("finished", "diverged", "pruned")
"""States of a planned run in which nothing is left to do: it has a result, or a failure that it would meet again, or
others have left it behind."""


class SplitResult(Config):
    """One split scored: `nll` is a float64 sum in nats over all `tokens` targets.

    `words` and `bytes` count the original text; null with the reason where a figure per word or per byte would
    not be one of that text. `unigram_nll` is the same sum under the train split's add-one token frequencies.
    `state_carried`: each window starts from the recurrent state that the one before it ended with, so that their length
    does not limit the context.
    """

    nll: float
    tokens: int
    words: int | None
    words_reason: str | None = None
    bytes: int | None
    bytes_reason: str | None = None
    rows: int | None = None
    documents: int
    unigram_nll: float
    seq_len: int
    stride: int
    state_carried: bool = False


class Effective(Config):
    """The settings that a run was really computed with, every `auto` decided.

    `arithmetic` is the numerics version of the code; None for runs that were stored before this key existed.
    `embedding_stream` is where noise and dropout of input vectors were drawn from; the body's where nothing was drawn,
    and in runs that were stored before they had a stream of their own.
    """

    device: str
    device_name: str
    precision: Literal["fp32", "bf16", "fp16"]
    compile: bool
    micro_batch_size: int
    num_threads: int
    fused_optimizer: bool
    arithmetic: int | None = None
    head: Literal["lean", "full"] = "lean"
    embedding_stream: Literal["the body's", "its own"] = "the body's"


class Hashes(Config):
    """SHA-256 of what must be equal for a fair comparison: see tiedlm/comparison/pairing."""

    body: str
    input_embedding: str | None
    batches: str
    corpus: str
    tokens: str


class Corpus(Config):
    """Where the text came from; `caption` is what a table says of it.

    `overlap`: what of validation and test stands in train; None for runs stored before it was measured.
    """

    caption: str
    details: dict[str, str | int | None]
    vocab_size: int
    tokenizer: str
    overlap: dict[Split, SplitOverlap] | None = None


class Memory(Config):
    """Peaks in bytes; null where not measured. `predicted` says where the predicted one comes from."""

    gpu_peak_allocated_bytes: int | None
    gpu_peak_reserved_bytes: int | None
    predicted_peak_bytes: int | None
    host_peak_rss_bytes: int | None
    predicted: Footprint | None = None


class CurvePoint(Config):
    """The validation split scored after `step`: training tokens and seconds of training (nothing else) until then."""

    step: int
    tokens: int
    seconds: float
    nats_per_token: float


class UpdateRatios(Config):
    """How far the optimizer moved the matrices of each part in some steps: |after - before| / |before|.

    `by_part` has a list for each part of PARTS that was measured, beside `steps`; null where the part has no matrix
    that this step moved, or was 0 before it.
    """

    steps: list[int]
    by_part: dict[str, list[float | None]]


class RunResult(Config):
    """A complete run. `train_tokens` are those of the train split.

    They and `update_ratios` are null where an earlier version stored the run.
    """

    schema_version: Literal[1] = 1
    config: dict[str, Any]
    variant: str
    seed: int
    tying: str
    steps: int
    tokens_seen: int
    train_tokens: int | None = None
    first_loss: float
    last_loss: float
    parameters: ParameterCounts
    splits: dict[str, SplitResult]
    validation_curve: list[CurvePoint] = []  # noqa: RUF012 (a frozen model); the last step included
    update_ratios: UpdateRatios | None = None
    corpus: Corpus
    effective: Effective
    hashes: Hashes
    memory: Memory
    steady_tokens: int
    steady_seconds: float
    seconds: float
    versions: dict[str, str]


class RunFailure(Config):
    """Why a run has no result; `kind` is a short word such as out_of_memory, diverged, error."""

    variant: str
    seed: int
    kind: str
    message: str
    step: int | None = None
