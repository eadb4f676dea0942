"""Train one language model with tied and with untied embeddings, and compare the two honestly.

The names in `__all__` are the Python API (docs/python.md). Each is loaded when it is first used, so that importing this
package imports neither torch nor pydantic nor numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiedlm.api.carry_out import compare as compare
    from tiedlm.api.carry_out import load_comparison as load_comparison
    from tiedlm.api.carry_out import train as train
    from tiedlm.api.comparison import Comparison as Comparison
    from tiedlm.api.count_params import count_params as count_params
    from tiedlm.api.parts_comparison import PartsComparison as PartsComparison
    from tiedlm.api.trained_run import EmbeddingPair as EmbeddingPair
    from tiedlm.api.trained_run import TrainedRun as TrainedRun
    from tiedlm.api.trained_run import load_run as load_run
    from tiedlm.checkpoints.diagnose import diagnose as diagnose
    from tiedlm.errors import ConfigError as ConfigError
    from tiedlm.errors import Interrupted as Interrupted
    from tiedlm.errors import RunError as RunError
    from tiedlm.errors import TiedlmError as TiedlmError

    __version__: str

__all__ = [
    "Comparison",
    "ConfigError",
    "EmbeddingPair",
    "Interrupted",
    "PartsComparison",
    "RunError",
    "TiedlmError",
    "TrainedRun",
    "__version__",
    "compare",
    "count_params",
    "diagnose",
    "load_comparison",
    "load_run",
    "train",
]

_MODULES = {
    "Comparison": "tiedlm.api.comparison",
    "ConfigError": "tiedlm.errors",
    "EmbeddingPair": "tiedlm.api.trained_run",
    "Interrupted": "tiedlm.errors",
    "PartsComparison": "tiedlm.api.parts_comparison",
    "RunError": "tiedlm.errors",
    "TiedlmError": "tiedlm.errors",
    "TrainedRun": "tiedlm.api.trained_run",
    "compare": "tiedlm.api.carry_out",
    "count_params": "tiedlm.api.count_params",
    "diagnose": "tiedlm.checkpoints.diagnose",
    "load_comparison": "tiedlm.api.carry_out",
    "load_run": "tiedlm.api.trained_run",
    "train": "tiedlm.api.carry_out",
}

if not TYPE_CHECKING:  # a type checker would take every name to exist

    def __getattr__(name: str) -> object:
        """Load a public name; raises AttributeError for any other."""
        if name == "__version__":
            from importlib.metadata import version

            value: object = version("tiedlm")
        elif name in _MODULES:
            value = getattr(import_module(_MODULES[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
