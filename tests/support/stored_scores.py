"""Finished runs with the scores of their tokens, as runs leave them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.finished_runs import run_result, split_result
from tiedlm.comparison.analyses.frequency import Bin, BinDifference, Frequency, measure
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.question import Question
from tiedlm.data.kinds import Shape
from tiedlm.run.result import RunResult
from tiedlm.run.token_types import TokenTypes

V, END = 60, 0


COUNTS = np.array([0, 3, 50, 400, 2_000, 30_000])[np.arange(V) % 6]


SHAPES = (np.arange(V) % len(Shape)).astype(np.uint8)


NUM_DOCUMENTS = 40


class Text:
    """A test split of forty documents; types of bin 0 come up in the last few of them alone."""

    def __init__(self) -> None:
        draws = np.random.default_rng(0)
        self.document = np.repeat(np.arange(NUM_DOCUMENTS, dtype=np.int32), draws.integers(20, 60, NUM_DOCUMENTS))
        self.target = draws.integers(0, V, len(self.document)).astype(np.uint16)
        seen_nowhere_else = self.document >= NUM_DOCUMENTS - 4
        self.target[(self.target % 6 == 0) & ~seen_nowhere_else] += 1


TEXT = Text()


class Stored:
    """Finished runs with their files, as runs leave them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs: dict[str, list[RunResult]] = {}

    def path(self, run: RunResult, split: str) -> Path:
        return self.folder / run.variant / f"seed-{run.seed}" / "evaluation" / f"{split}.npz"

    def add(
        self,
        variant: str,
        seed: int,
        nll: np.ndarray,
        counts: np.ndarray = COUNTS,
        shapes: Any = SHAPES,
        **changes: Any,
    ) -> None:
        stored = nll.astype(np.float32)
        split = split_result(0, nll=float(stored.sum(dtype=np.float64)), tokens=len(nll), documents=NUM_DOCUMENTS)
        run = run_result(variant, seed, splits={"test": split}, **changes)
        path = self.path(run, "test")
        path.parent.mkdir(parents=True)
        lengths = np.bincount(TEXT.document)
        mass = lengths[:, None] * np.arange(1, 7) / 21 + np.zeros((len(lengths), 6))
        np.savez_compressed(path, nll=stored, target=TEXT.target, document=TEXT.document, mass=mass)
        moved = {"input": np.arange(V) / 10, "output": np.arange(V) / 5}
        TokenTypes(counts, counts, END, moved, shapes).save(path.with_name("vocabulary.npz"))
        self.runs.setdefault(variant, []).append(run)

    def add_pairs(self, num_seeds: int, shift: Mapping[int, float], spread: float = 0.01, **changes: Any) -> "Stored":
        """Tied differs from untied by `shift` nats on the targets of a bin, give or take `spread` from seed to seed."""
        draws = np.random.default_rng(1)
        by_type = np.array([shift.get(int(index), 0.0) for index in np.arange(V) % 6])
        for seed in range(num_seeds):
            nll = draws.gamma(4, 1, len(TEXT.target))
            self.add("untied", seed, nll, **changes)
            self.add("tied", seed, nll + by_type[TEXT.target] + draws.normal(0, spread), **changes)
        return self

    def broken_down(self, smallest_worthwhile: float = 0.01) -> Frequency:
        order = tuple(self.runs)
        question = Question("example", baseline="untied", order=order, smallest_worthwhile=smallest_worthwhile)
        results = [run for runs in self.runs.values() for run in runs]
        found = measure(FinishedRuns.of(results, question, self.path))
        assert found is not None
        return found

    def bins(self, by: str) -> dict[str, Bin]:
        (breakdown,) = [found for found in self.broken_down().breakdowns if found.by == by]
        return {found.label: found for found in breakdown.bins}

    def differences(self, by: str) -> dict[str, BinDifference]:
        return {label: found.differences[0] for label, found in self.bins(by).items()}
