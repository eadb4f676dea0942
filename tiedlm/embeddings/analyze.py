"""One model's input beside its output, or each matrix of one model beside each of another."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tiedlm.embeddings.asked import Asked
from tiedlm.embeddings.measure_pair import measure_pair
from tiedlm.embeddings.measure_side import measure_side
from tiedlm.embeddings.nearest import nearest_tokens
from tiedlm.embeddings.open import open_pair
from tiedlm.embeddings.pair import EmbeddingPair
from tiedlm.embeddings.schema import EmbeddingAnalysis, MatrixMeasures, Model, PairMeasures
from tiedlm.embeddings.sides import MeasuredSide, Sides, sides_of
from tiedlm.talk import SILENT, Talk


def analyze_paths(
    paths: Sequence[Path], asked: Asked, *, cache_dir: Path, words: Sequence[str] = (), talk: Talk = SILENT
) -> EmbeddingAnalysis:
    """Of one path or two, each of a model. Raises ConfigError and RunError as `open_pair` does."""
    return analyze_models([open_pair(path, cache_dir, talk=talk) for path in paths], asked, words, talk)


def analyze_models(
    models: Sequence[EmbeddingPair], asked: Asked, words: Sequence[str] = (), talk: Talk = SILENT
) -> EmbeddingAnalysis:
    """Of one model or two; `words` are tokens whose neighbours are listed."""
    sides = sides_of(models, asked.num_queries)
    nearest = nearest_tokens(sides, words)
    matrices, pairs = measure_all(sides, asked, talk, " and ".join(model.name for model in models))
    return EmbeddingAnalysis(
        models=[described(model) for model in models],
        matrices=matrices,
        pairs=pairs,
        nearest=nearest,
        notes=[*sides.notes, *_notes(sides)],
    )


def measure_all(sides: Sides, asked: Asked, talk: Talk, label: str) -> tuple[list[MatrixMeasures], list[PairMeasures]]:
    """The measures of each of the matrices and of the pairs of them; `talk` shows how far it is."""
    together = sides.pairs()
    total = len(sides.sides) * len(asked.of_matrix()) + len(together) * len(asked.of_pair())
    done = 0
    with talk.progress(label, max(total, 1)) as update:

        def step(words: str) -> None:
            nonlocal done
            done += 1
            update(done, words)

        matrices = [each for side in sides.sides for each in both_sides(side, measure_side(side, asked, step))]
        pairs = [measure_pair(one, other, asked, step) for one, other in together]
    return matrices, pairs


def both_sides(side: MeasuredSide, measured: MatrixMeasures) -> list[MatrixMeasures]:
    """The measures of a matrix, once more for the output where it is both."""
    return [measured, measured.model_copy(update={"side": "output"})] if side.pair.is_one_matrix else [measured]


def described(model: EmbeddingPair) -> Model:
    """What was opened."""
    return Model(
        name=model.name,
        path=model.path,
        step=model.step,
        tying=model.tying,
        vocab_size=model.vocab_size,
        input_dim=model.input.shape[1],
        output_dim=model.output.shape[1],
        one_matrix=model.is_one_matrix,
    )


def _notes(sides: Sides) -> Iterator[str]:
    for model in sides.models:
        if model.is_one_matrix:
            yield f"Input and output of {model.name} are one matrix: between them there is nothing to measure."
    if sides.apart is not None:
        yield f"The two models are not compared: {sides.apart}."
    elif len(sides.models) == 2 and same_start(*sides.models):
        yield leftover(" and ".join(model.name for model in sides.models))


def same_start(one: EmbeddingPair, other: EmbeddingPair) -> bool:
    """Whether both input embeddings are known to have started from the same values."""
    return one.start_hash is not None and one.start_hash == other.start_hash


def leftover(names: str) -> str:
    """What must not be forgotten of models with one start."""
    return (
        f"{names} started from the same input embedding: what any matrix that began there has in common with another "
        "may be left over from the start. See the distance from it; with output_init: copy all of them begin there."
    )
