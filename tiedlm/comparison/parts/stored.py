"""The comparison of an experiment with parts, as it lies in the experiment's folder. Free of torch."""

from pathlib import Path

from tiedlm.comparison.comparison import COMPARISON_FILE, load_as, parts_stored_in
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.config.base import ConfigError, Problem


def holds_parts(folder: Path) -> bool:
    """Whether the comparison stored in a folder is that of an experiment with recipes or budgets."""
    return bool(parts_stored_in(folder))


def load_parts_comparison(folder: Path) -> PartsComparison:
    """What is stored in the folder of an experiment with parts.

    Raises ConfigError where there is none, it cannot be read, or the experiment has no parts.
    """
    if (folder / COMPARISON_FILE).is_file() and not holds_parts(folder):
        message = "not the comparison of an experiment with recipes or budgets, or one that cannot be read"
        raise ConfigError(Problem("", message), source=str(folder / COMPARISON_FILE))
    return load_as(folder, PartsComparison)


def stored_parts_comparison(folder: Path | None) -> PartsComparison | None:
    """The same; null where there is none, also where an older version wrote it: it is made anew."""
    if folder is None or not holds_parts(folder):
        return None
    try:
        return load_parts_comparison(folder)
    except ConfigError:
        return None
