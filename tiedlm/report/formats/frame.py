"""A comparison as pandas data frames, at full precision. pandas is imported once there is a frame to make."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tiedlm.comparison.comparison import Comparison
from tiedlm.errors import ConfigError, Problem
from tiedlm.report.figures.long_table import Figure, figures_of_variant

if TYPE_CHECKING:
    import pandas as pd

Rows = Mapping[tuple[Any, ...], dict[str, Any]]
"""Figures by name, of each thing that has a row; a thing is told by one or several names."""
FrameOf = Literal["variants", "runs", "differences", "curve"]


def comparison_frame(comparison: Comparison, of: FrameOf = "variants") -> "pd.DataFrame":
    """One row for each variant, run, difference, or point of a validation curve; NaN where a figure is missing.

    Columns have the names of the CSV, behind that of their split: `test_token_perplexity`. Raises ConfigError.
    """
    if of not in _FRAMES:
        raise ConfigError(Problem("of", f"{of!r} is not one of {', '.join(_FRAMES)}"))
    import pandas as pd

    names, rows_of = _FRAMES[of]
    rows = rows_of(comparison)
    levels = [[key[level] for key in rows] for level in range(len(names))]
    index = pd.MultiIndex.from_arrays(levels, names=names) if len(names) > 1 else pd.Index(levels[0], name=names[0])
    frame = pd.DataFrame(list(rows.values()), index=index)
    unknown = [column for column in frame if frame[column].isna().all()]
    return frame.astype(dict.fromkeys(unknown, "float64"))


def _variants(comparison: Comparison) -> Rows:
    """The figures over all seeds."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for figure in _figures(comparison):
        if figure.seed is None:
            rows.setdefault((figure.variant,), {})[_column(figure)] = figure.value
    return rows


def _runs(comparison: Comparison) -> Rows:
    """The figures of each seed."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for figure in _figures(comparison):
        if figure.seed is not None:
            rows.setdefault((figure.variant, figure.seed), {})[_column(figure)] = figure.value
    return rows


def _figures(comparison: Comparison) -> Iterator[Figure]:
    for variant in comparison.variants:
        yield from (figure for figure in figures_of_variant(comparison, variant) if figure.step is None)


def _column(figure: Figure) -> str:
    return f"{figure.split}_{figure.metric}" if figure.split else figure.metric


def _differences(comparison: Comparison) -> Rows:
    """Each difference to the baseline."""
    rows = {}
    for found in comparison.all_differences:
        ends = {"ci95_seeds": found.ci95_seeds, "ci90_seeds": found.ci90_seeds, "ci95_text": found.ci95_text}
        needed = found.seeds_needed or (None, None)
        rows[found.variant, found.split] = {
            "baseline": found.baseline,
            "difference": found.mean,
            **{f"{name}_{end}": (pair or (None, None))[at] for name, pair in ends.items() for at, end in _ENDS},
            "num_seeds": found.num_seeds,
            "num_documents": found.num_documents,
            "p_difference": found.p_difference,
            "p_equal": found.p_equal,
            "num_corrected_for": found.num_corrected_for,
            "is_primary": found.is_primary,
            "verdict": found.verdict,
            **{f"seeds_needed_{end}": needed[at] for at, end in _ENDS},
            "pairing": found.pairing.level,
        }
    return rows


_ENDS = ((0, "low"), (1, "high"))


def _curve(comparison: Comparison) -> Rows:
    """The validation split scored during training."""
    return {
        (variant.name, run.seed, point.step): point.model_dump(exclude={"step"})
        for variant in comparison.variants
        for run in variant.runs
        for point in run.validation_curve
    }


_FRAMES: Mapping[str, tuple[tuple[str, ...], Callable[[Comparison], Rows]]] = {
    "variants": (("variant",), _variants),
    "runs": (("variant", "seed"), _runs),
    "differences": (("variant", "split"), _differences),
    "curve": (("variant", "seed", "step"), _curve),
}
