"""Carry out what a config asks for, an experiment or one with parts, and compare it. Free of torch."""

from collections.abc import Callable
from pathlib import Path

from tiedlm.comparison.compare import compare, compare_finished
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.parts.compare import compare_finished_parts, compare_parts
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.parts import Parts
from tiedlm.talk import SILENT, Talk


def carry_out_and_compare(
    loaded: Experiment | Parts,
    *,
    runs_dir: Path,
    cache_dir: Path,
    fresh: bool = False,
    talk: Talk = SILENT,
    show: Callable[[Comparison | PartsComparison], None] = lambda so_far: None,
) -> Comparison | PartsComparison:
    """Carry out the runs that are lacking and compare all; `show` is called with what is there on the way.

    Raises as `compare` does.
    """
    if isinstance(loaded, Parts):
        return compare_parts(loaded, runs_dir=runs_dir, cache_dir=cache_dir, fresh=fresh, talk=talk, show=show)
    return compare(loaded, runs_dir=runs_dir, cache_dir=cache_dir, fresh=fresh, talk=talk, show=show)


def compare_what_is_finished(
    loaded: Experiment | Parts, *, runs_dir: Path, cache_dir: Path
) -> Comparison | PartsComparison:
    """Compare the runs that are finished, without training; raises as `compare_finished` does."""
    if isinstance(loaded, Parts):
        return compare_finished_parts(loaded, runs_dir=runs_dir, cache_dir=cache_dir)
    return compare_finished(loaded, runs_dir=runs_dir, cache_dir=cache_dir)
