"""The runs of an experiment: every figure of every variant over its seeds, and paired with the baseline's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tiedlm.comparison.answer import stored_comparison
from tiedlm.config.base import ConfigError, Problem
from tiedlm.embeddings.analyze import described, leftover, measure_all, same_start
from tiedlm.embeddings.asked import Asked
from tiedlm.embeddings.differences import differences
from tiedlm.embeddings.nearer import nearer
from tiedlm.embeddings.open import open_pair
from tiedlm.embeddings.pair import EmbeddingPair
from tiedlm.embeddings.schema import (
    EmbeddingAnalysis,
    MatrixMeasures,
    Model,
    PairMeasures,
)
from tiedlm.embeddings.seed_figures import Figure, Place, figures, over_seeds
from tiedlm.embeddings.sides import sides_of
from tiedlm.errors import RunError
from tiedlm.experiment.baseline import default_baseline
from tiedlm.run.folder import RunFolder, run_folders
from tiedlm.run.result import RunResult
from tiedlm.talk import SILENT, Talk


class _Finished(NamedTuple):
    folder: RunFolder
    result: RunResult

    @property
    def name(self) -> str:
        return f"{self.result.variant}/seed-{self.result.seed}"


@dataclass
class _Measured:
    """What was measured seed by seed."""

    models: list[Model]
    matrices: list[MatrixMeasures]
    pairs: list[PairMeasures]
    figures: dict[Place, dict[int, Figure]]
    notes: dict[str, None]

    def with_one_matrix(self) -> list[str]:
        """The variants whose input and output are one matrix."""
        return list(dict.fromkeys(model.name.rpartition("/")[0] for model in self.models if model.one_matrix))


def analyze_experiment(folder: Path, asked: Asked, *, cache_dir: Path, talk: Talk = SILENT) -> EmbeddingAnalysis:
    """Every finished run in the folder of an experiment; nothing is stored. Raises ConfigError where none is there."""
    runs = _finished_runs(folder)
    baseline = _baseline(folder, list(runs))
    measured = _Measured([], [], [], {}, {})
    for seed in sorted({run.result.seed for members in runs.values() for run in members}):
        chosen = [run for members in runs.values() for run in members if run.result.seed == seed]
        chosen.sort(key=lambda run: run.result.variant == baseline)  # the last one is what others are held against
        _measure_seed(chosen, baseline, asked, measured, cache_dir, talk)
    notes = [*measured.notes]
    if not all(len(members) == len(runs[baseline]) for members in runs.values()):
        notes.append("The variants have different seeds finished: differences are over the seeds in common.")
    results = {variant: [run.result for run in members] for variant, members in runs.items()}
    by_variant = [over_seeds(place, by_seed) for place, by_seed in measured.figures.items()]
    return EmbeddingAnalysis(
        models=measured.models,
        matrices=measured.matrices,
        pairs=measured.pairs,
        over_seeds=by_variant,
        differences=list(differences(measured.figures, results, baseline)),
        nearer=list(nearer(by_variant, measured.with_one_matrix(), baseline)),
        baseline=baseline,
        notes=notes,
    )


def _finished_runs(folder: Path) -> dict[str, list[_Finished]]:
    """By variant, as the stored comparison orders them."""
    found: dict[str, list[_Finished]] = {}
    for run in run_folders(folder):
        result = run.result()
        if result is not None:
            found.setdefault(result.variant, []).append(_Finished(run, result))
    if not found:
        raise ConfigError(Problem("", f"{folder}: no run there is finished yet"))
    stored = stored_comparison(folder)
    order = [variant.name for variant in stored.variants] if stored else []
    names = sorted(found, key=lambda name: order.index(name) if name in order else len(order))
    return {name: sorted(found[name], key=lambda run: run.result.seed) for name in names}


def _baseline(folder: Path, variants: Sequence[str]) -> str:
    stored = stored_comparison(folder)
    return stored.baseline if stored and stored.baseline in variants else default_baseline(variants)


def _measure_seed(
    runs: Sequence[_Finished], baseline: str, asked: Asked, measured: _Measured, cache_dir: Path, talk: Talk
) -> None:
    """The runs with one seed, on the tokens that are usable in all of them."""
    variants: dict[str, str] = {}
    models: list[EmbeddingPair] = []
    seed = runs[0].result.seed
    for run in runs:
        try:
            models.append(open_pair(run.folder.path, cache_dir, run.name, talk))
        except RunError as error:
            measured.notes[f"{run.name} is left out: {error}."] = None
            continue
        variants[run.name] = run.result.variant
    if not models:
        return
    sides = sides_of(models, asked.num_queries)
    matrices, pairs = measure_all(sides, asked, talk, f"seed {seed}")
    measured.models += map(described, models)
    measured.matrices += matrices
    has_baseline = variants[models[-1].name] == baseline
    pairs = [pair for pair in pairs if has_baseline or pair.a.model == pair.b.model]
    measured.pairs += pairs
    for place, figure in figures(matrices, pairs, variants):
        measured.figures.setdefault(place, {})[seed] = figure
    measured.notes |= dict.fromkeys(_notes(models, variants, sides.notes, sides.apart))


def _notes(
    models: Sequence[EmbeddingPair], variants: Mapping[str, str], said: Sequence[str], apart: str | None
) -> Iterator[str]:
    yield from said
    if apart is not None:
        yield f"Variants are not compared row by row: {apart}."
    for model in models:
        if model.is_one_matrix:
            yield f"Input and output of {variants[model.name]} are one matrix: between them is nothing to measure."
    *others, last = models
    alike = [variants[model.name] for model in others if same_start(model, last)]
    if alike and apart is None:
        yield leftover(" and ".join([*alike, variants[last.name]]))
