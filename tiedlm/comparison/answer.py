"""The comparison of some runs: as it was stored, or made anew from their files. Free of torch."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tiedlm.comparison.comparison import COMPARISON_FILE, EDITION, Comparison, load_comparison, store_comparison
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.question import Question
from tiedlm.comparison.summarize import summarize
from tiedlm.config.base import ConfigError
from tiedlm.errors import RunError
from tiedlm.run.folder import RunFolder, parse_record
from tiedlm.run.layout import Layout
from tiedlm.run.result import RunFailure, RunResult


def answer(folders: Sequence[RunFolder], question: Question, home: Path | None) -> Comparison:
    """The comparison stored in `home` where it answers the same question from the very same files, else a new one.

    One that was stored before an analysis was added lacks its answer, and is made anew. A new one is stored there.
    Raises RunError where a result cannot be read.
    """
    outcomes = read_outcomes(folders)
    sources = sources_of(outcomes, question)
    stored = stored_comparison(home)
    if stored is not None and stored.sources == sources and stored.has_every_analysis:
        return stored
    made = answer_from(outcomes, question).model_copy(update={"sources": sources})
    if home is not None and made.variants:
        with suppress(RunError):  # it is as true without being kept, in a folder that cannot be written to
            store_comparison(made, home)
    return made


@dataclass(frozen=True)
class Outcome:
    """What a run came to, as it lies on disk: the file that tells it, and what stands there."""

    folder: RunFolder
    file: Path
    content: bytes

    @property
    def key(self) -> str:
        """ "tied/seed-0/result.json"."""
        return self.file.relative_to(Layout.around(self.folder.path).experiment_dir).as_posix()

    @property
    def sha256(self) -> str:
        """Of the file."""
        return hashlib.sha256(self.content).hexdigest()


def read_outcomes(folders: Sequence[RunFolder]) -> list[Outcome]:
    """The outcome of every run that has one, each read once."""
    return [
        Outcome(folder, file, file.read_bytes())
        for folder in folders
        for file in (folder.result_file, folder.failure_file)
        if file.is_file()
    ]


def sources_of(outcomes: Sequence[Outcome], question: Question) -> dict[str, str]:
    """SHA-256 of every result and failure, by variant and seed, and of the question and the edition that answers it."""
    content = {"edition": EDITION, **asdict(question)}
    text = json.dumps(content, default=lambda record: record.model_dump(mode="json"))
    return {
        "question": hashlib.sha256(text.encode()).hexdigest(),
        **{outcome.key: outcome.sha256 for outcome in outcomes},
    }


def answer_from(outcomes: Sequence[Outcome], question: Question) -> Comparison:
    """Answer from the files alone, whatever is stored."""
    results: list[RunResult] = []
    failures: list[RunFailure] = []
    folder_of: dict[tuple[str, int], RunFolder] = {}
    for outcome in outcomes:
        if outcome.file == outcome.folder.result_file:
            result = parse_record(outcome.content, outcome.file, RunResult)
            results.append(result)
            folder_of[result.variant, result.seed] = outcome.folder
        elif not outcome.folder.result_file.is_file():  # else it was of an earlier try
            failures.append(parse_record(outcome.content, outcome.file, RunFailure))

    def scores_of(run: RunResult, split: str) -> Path:
        return folder_of[run.variant, run.seed].evaluation_file(split)

    def metrics_of(run: RunResult) -> Path:
        return folder_of[run.variant, run.seed].metrics_file

    return summarize(FinishedRuns.of(results, question, scores_of, metrics_of), failures)


def stored_comparison(home: Path | None) -> Comparison | None:
    """What lies in `home`; None also where an older version wrote it: it is made anew."""
    if home is None or not (home / COMPARISON_FILE).is_file():
        return None
    try:
        return load_comparison(home)
    except ConfigError:
        return None
