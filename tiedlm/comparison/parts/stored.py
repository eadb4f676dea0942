"""The comparison of an experiment with parts, as it lies in the experiment's folder. Free of torch."""

import json
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tiedlm.comparison.comparison import COMPARISON_FILE
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.config.base import ConfigError, Problem

Kind = Literal["one", "parts"]
"""A comparison by itself, or that of an experiment with recipes or budgets."""


def kind_of(folder: Path) -> Kind | None:
    """Which kind of comparison is stored in a folder; null where none is."""
    try:
        stored = json.loads((folder / COMPARISON_FILE).read_bytes())
    except OSError:
        return None
    except ValueError:
        return "one"
    return "parts" if isinstance(stored, dict) and stored.get("parts") else "one"


def load_parts_comparison(folder: Path) -> PartsComparison:
    """What is stored in the folder of an experiment with parts.

    Raises ConfigError where there is none, it cannot be read, or the experiment has no parts.
    """
    path = folder / COMPARISON_FILE
    try:
        return PartsComparison.model_validate_json(path.read_bytes())
    except OSError as error:
        problem = Problem("", f"no comparison is stored here ({error.strerror}); `tiedlm compare` makes one")
        raise ConfigError(problem, source=str(path)) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = Problem(place, f"{first['msg']}; not a comparison of this version, `tiedlm compare` makes it anew")
        raise ConfigError(problem, source=str(path)) from None
