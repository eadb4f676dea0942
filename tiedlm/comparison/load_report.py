"""The comparison that a report is made of. Free of torch, and of what reads configs."""

from pathlib import Path

from tiedlm.comparison.comparison import Comparison, load_comparison
from tiedlm.comparison.pooling import check_stored_alike


def load_report(folder: Path) -> Comparison:
    """What is stored in an experiment's folder; raises ConfigError where there is none, or its runs are not alike."""
    comparison = load_comparison(folder)
    check_stored_alike(comparison)
    return comparison
