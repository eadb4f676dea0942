"""The comparison of an experiment with parts, as it is stored. Free of torch."""

from pathlib import Path

from pydantic import ValidationError

from tiedlm.comparison.comparison import COMPARISON_FILE
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.config.base import ConfigError, Problem


def load_parts_comparison(folder: Path) -> PartsComparison:
    """What lies in the folder of an experiment with parts; raises ConfigError where it cannot be read."""
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
