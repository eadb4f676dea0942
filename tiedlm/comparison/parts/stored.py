"""Which kind of comparison a folder holds: one of variants, or one of an experiment with parts. Free of torch."""

import json
from pathlib import Path

from tiedlm.comparison.comparison import COMPARISON_FILE


def holds_parts(folder: Path) -> bool:
    """Whether a comparison of recipes or budgets is stored there; also where it is of another version or damaged."""
    try:
        stored = json.loads((folder / COMPARISON_FILE).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(stored, dict) and "parts" in stored
