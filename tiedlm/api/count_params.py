"""`tiedlm.count_params`: exact parameter counts. Free of torch until all configs are read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiedlm.api.messages import python_names
from tiedlm.api.settings import ConfigSource, Overrides, as_config, as_settings, cache_folder
from tiedlm.errors import ConfigError, Problem
from tiedlm.experiment.count_params import count_configs


@python_names()
def count_params(
    configs: ConfigSource | Sequence[ConfigSource] = "quickstart",
    overrides: Overrides = None,
    *,
    memory: bool = False,
    device: str | None = None,
    cache_dir: str | Path | None = None,
) -> dict[str, Any]:
    """What `tiedlm count-params --json` prints: {"models": [{"name", "tying", "total", "parts", ..}]}.

    Of an experiment each variant is counted, of one run or of a model alone both it tied and it untied. Nothing is
    allocated. `memory` adds the predicted memory of a training step, on `device` or on the config's. Raises
    ConfigError.
    """
    several = [configs] if isinstance(configs, str | Path | Mapping) else configs
    if not isinstance(several, Sequence):
        raise ConfigError(
            Problem("", f"{configs!r}: must be a config (a file, a name or a mapping), or a list of them")
        )
    sources = [as_config(config) for config in several]
    settings = as_settings(overrides)
    counted = count_configs(sources, settings, cache_folder(cache_dir), memory=memory, device=device)
    return {"models": [model.document() for model in counted]}
