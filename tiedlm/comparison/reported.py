"""The comparison that some folders hold: the stored one, else one of their finished runs. Free of torch."""

from collections.abc import Sequence
from pathlib import Path

from tiedlm.comparison.comparison import COMPARISON_FILE, Comparison, load_comparison
from tiedlm.comparison.pooling import check_stored_alike


def reported(folders: Sequence[Path]) -> Comparison:
    """What is stored in the folder of one experiment, else the comparison of the finished runs in the folders.

    Raises ConfigError where nothing is stored, no run is finished, or the runs are not alike.
    """
    first = folders[0]
    if len(folders) == 1 and ((first / COMPARISON_FILE).is_file() or not _has_runs(first)):
        comparison = load_comparison(first)
        check_stored_alike(comparison)
        return comparison
    from tiedlm.comparison.gather import gather

    return gather(folders)


def _has_runs(folder: Path) -> bool:
    from tiedlm.run.find import is_run  # both read configs, which printing what is stored has no need of
    from tiedlm.run.layout import Layout

    return is_run(folder) or Layout(folder).has_runs()
