"""The comparison that some folders hold: the stored one, else one of their finished runs. Free of torch."""

from collections.abc import Sequence
from pathlib import Path

from tiedlm.comparison.comparison import COMPARISON_FILE, Comparison, load_comparison
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.comparison.parts.stored import holds_parts, load_parts_comparison
from tiedlm.comparison.pooling import check_stored_alike
from tiedlm.errors import ConfigError, Problem
from tiedlm.run.find import holds_runs


def reported(folders: Sequence[Path]) -> Comparison | PartsComparison:
    """What is stored in the folder of one experiment, else the comparison of the finished runs in the folders.

    Raises ConfigError where nothing is stored, no run is finished, or the runs are not alike.
    """
    first = folders[0]
    if len(folders) == 1 and holds_parts(first):
        return _reported_parts(first)
    if len(folders) == 1 and ((first / COMPARISON_FILE).is_file() or not holds_runs(first)):
        comparison = load_comparison(first)
        check_stored_alike(comparison)
        return comparison
    from tiedlm.comparison.gather import gather

    return gather(folders)


def compared_in(
    folders: Sequence[Path], baseline: str | None, primary: str | None, smallest_worthwhile: float | None
) -> Comparison | PartsComparison:
    """The comparison of the finished runs in some folders, each a run's or an experiment's.

    Raises ConfigError as `gather` does, and where something is asked of an experiment with parts that its config asks.
    """
    if len(folders) > 1 or not holds_parts(folders[0]):
        from tiedlm.comparison.gather import gather

        return gather(folders, baseline, primary, smallest_worthwhile)
    given = {"--baseline": baseline, "--primary": primary, "--smallest-worthwhile": smallest_worthwhile}
    for option, value in given.items():
        if value is not None:
            message = "needs the config here: an experiment with recipes or budgets is judged as a whole"
            raise ConfigError(Problem(option, message))
    from tiedlm.comparison.parts.reopen import comparison_in

    return comparison_in(folders[0])


def _reported_parts(folder: Path) -> PartsComparison:
    document = load_parts_comparison(folder)
    for part in document.parts:
        if part.comparison is not None:
            check_stored_alike(part.comparison)
    return document
