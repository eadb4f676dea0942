"""The splits of a run scored: sums for the result, and the scores of every token in a file of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tiedlm.data.config import Split
from tiedlm.data.frequencies import unigram_nll
from tiedlm.data.prepare import SplitTokens
from tiedlm.errors import RunError
from tiedlm.evaluation.config import Windows
from tiedlm.evaluation.frequency import GroupMass
from tiedlm.evaluation.perplexity import score_tokens
from tiedlm.files import atomic_path
from tiedlm.run.folder import RunFolder
from tiedlm.run.interrupt import StopSignal
from tiedlm.run.journal import ValidationRecord
from tiedlm.run.result import SplitResult
from tiedlm.run.row_movement import row_movement
from tiedlm.run.setup import Setup
from tiedlm.run.token_types import BINS, TokenTypes
from tiedlm.talk import SILENT, Talk
from tiedlm.training.trainer import Trainer

_PART = "a part of the split was scored, whose text was not counted"


def score_split(
    setup: Setup,
    split: Split,
    windows: Windows | None = None,
    talk: Talk = SILENT,
    *,
    length: int | None = None,
    mass: GroupMass | None = None,
    check: Callable[[], None] = lambda: None,
) -> np.ndarray:
    """Negative log-likelihood in nats of every token of a split (N,) fp32, or of its first `length`.

    Windows are those of the config unless given. The probability that each position gives to the groups of `mass` is
    added to it. `check` is called after each batch, and may raise.
    """
    ids, config = setup.data.split(split).ids, setup.config
    windows = windows or config.windows()
    label = f"{config.label}: {split} split"
    with setup.machine.autocast(), talk.progress(label, length or len(ids) - 1) as update:

        def reached(done: float, words: str) -> None:
            update(done, words)
            check()

        return score_tokens(
            setup.model,
            ids if length is None else ids[: length + 1],
            seq_len=windows.seq_len,
            stride=windows.stride,
            batch_size=config.evaluation.batch_size,
            carry_state=config.model.carries_state,
            mass=mass,
            update=reached,
        )


def split_result(setup: Setup, split: Split, nll: np.ndarray, windows: Windows | None = None) -> SplitResult:
    """The sums of a split from the nll of its tokens (N,), or of the first of them."""
    tokens, windows = setup.data.split(split), windows or setup.config.windows()
    is_complete = len(nll) == tokens.num_tokens
    return SplitResult(
        nll=float(nll.sum(dtype=np.float64)),
        tokens=len(nll),
        words=tokens.words if is_complete and tokens.words_reason is None else None,
        words_reason=tokens.words_reason if is_complete else _PART,
        bytes=tokens.bytes if is_complete and tokens.bytes_reason is None else None,
        bytes_reason=tokens.bytes_reason if is_complete else _PART,
        rows=tokens.rows if is_complete else None,
        documents=int((tokens.document_starts < len(nll)).sum()),
        unigram_nll=unigram_nll(tokens.ids[1 : len(nll) + 1], setup.data.frequencies),
        seq_len=windows.seq_len,
        stride=windows.stride,
        state_carried=setup.config.model.carries_state,
    )


def save_scores(path: Path, tokens: SplitTokens, nll: np.ndarray, mass: GroupMass | None = None) -> None:
    """Write the nll of each token (fp32), its id and the index of its document; raises RunError("disk").

    With `mass` also, per document, the probability given to each of the bins (num_documents, num_bins) in float64.
    """
    length = len(nll)
    document = tokens.document_index()[:length]
    arrays: dict[str, Any] = {"nll": nll, "target": tokens.ids[1 : length + 1], "document": document}
    if mass is not None:
        arrays["mass"] = mass.sums
    with atomic_path(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)


def describe_types(setup: Setup, trainer: Trainer) -> TokenTypes:
    """What training made of each token. It takes memory, so the peak of training must have been read before."""
    data = setup.data
    targets, inputs = trainer.batches.counts(trainer.progress.step, data.vocab_size)
    return TokenTypes(targets, inputs, data.end_of_text, row_movement(setup), data.shapes())


class Scorer:
    """Scores the splits of a run with its model as it is at the moment."""

    def __init__(self, setup: Setup, trainer: Trainer, folder: RunFolder, stop: StopSignal, talk: Talk) -> None:
        self.setup, self.trainer, self.folder, self.stop, self.talk = setup, trainer, folder, stop, talk

    def validate(self, talk: Talk = SILENT) -> ValidationRecord:
        """The validation split scored after the newest step."""
        nll = self._checked("validation", score_split(self.setup, "validation", talk=talk))
        total, progress = float(nll.sum(dtype=np.float64)), self.trainer.progress
        return ValidationRecord(progress.step, progress.tokens_seen, progress.seconds, total, len(nll))

    def score_all(self) -> dict[str, SplitResult]:
        """Score every split of a trained run and store what belongs in its folder. The test split is read here alone.

        Of the train split as many tokens are scored as validation has. A tuning run is scored on validation alone: what
        is chosen by it must not have seen the test split. Raises RunError("diverged"), Interrupted.
        """
        types = describe_types(self.setup, self.trainer)
        types.save(self.folder.vocabulary_file)
        sample = min(self.setup.data.split("train").num_tokens, self.setup.data.split("validation").num_tokens)
        every: dict[Split, int | None] = {"train": sample, "validation": None, "test": None}
        lengths: dict[Split, int | None] = {"validation": None} if self.setup.config.is_tuning_run else every
        return {name: self._score(name, length, types) for name, length in lengths.items()}

    def _score(self, split: Split, length: int | None, types: TokenTypes) -> SplitResult:
        """Score a split, or its first `length` tokens, and store the scores."""
        tokens = self.setup.data.split(split)
        mass = GroupMass(types.bins, len(BINS), tokens.document_index()) if length is None else None
        nll = score_split(self.setup, split, talk=self.talk, length=length, mass=mass, check=self._stop_if_asked)
        self._checked(split, nll)
        save_scores(self.folder.evaluation_file(split), tokens, nll, mass)
        return split_result(self.setup, split, nll)

    def _stop_if_asked(self) -> None:
        if self.stop.received:
            raise self.stop.interrupted("stopped while scoring, the trained state is saved")

    def _checked(self, split: Split, nll: np.ndarray) -> np.ndarray:
        """Raises RunError("diverged") where the last update made a model whose scores are not finite."""
        if not np.isfinite(nll).all():
            step = self.trainer.progress.step
            raise RunError("diverged", f"after step {step} the nll of the {split} split is not finite", step)
        return nll
