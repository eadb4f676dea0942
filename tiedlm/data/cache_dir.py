"""Where what is made of text is kept. Imports nothing that takes time: every command asks."""

import os
from pathlib import Path

from tiedlm.errors import ConfigError, Problem
from tiedlm.paths import NoHomeError, check_folder, user_path


def default_cache_dir() -> Path:
    """$TIEDLM_CACHE, else tiedlm under $XDG_CACHE_HOME, else ~/.cache/tiedlm; raises ConfigError."""
    for variable, inside in (("TIEDLM_CACHE", ""), ("XDG_CACHE_HOME", "tiedlm")):
        chosen = os.environ.get(variable)
        if chosen:
            folder = user_path(chosen, variable) / inside
            check_folder(folder, variable)
            return folder
    try:
        return user_path("~/.cache/tiedlm")
    except NoHomeError:
        message = "no home folder is known, HOME is not set: this option, or TIEDLM_CACHE, names where texts are kept"
        raise ConfigError(Problem("--cache-dir", message)) from None
