"""The hub as the environment names it: where it is, whether it answers, and what the `datasets` library is told."""

import os
import re
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem
from tiedlm.paths import user_path
from tiedlm.talk import Talk

BUSY = {429, 500, 502, 503, 504}
"""HTTP statuses after which it is worth while to ask again."""
_REACHABLE_WITHIN = 5.0
"""Seconds that the hub may take for its first answer; the library alone would try for 23."""


def datasets_cache() -> Path:
    """Where `datasets` keeps its Arrow files, without importing it (which takes longer than a warm start may)."""
    environment = os.environ
    home = environment.get("HF_HOME") or Path(environment.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    chosen = environment.get("HF_DATASETS_CACHE")
    return user_path(chosen, "HF_DATASETS_CACHE") if chosen else user_path(Path(home, "datasets"), "HF_HOME")


def prepare_library(talk: Talk) -> None:
    """Say to the library, before it is imported, what it reads from the environment only then."""
    environment = os.environ
    if not re.fullmatch(r"https?://[^\s/]+\S*", endpoint()):
        raise ConfigError(Problem("HF_ENDPOINT", f"{endpoint()!r} is no address (https://...)"))
    environment.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    environment.setdefault("HF_HUB_VERBOSITY", "error")
    environment.setdefault("DATASETS_VERBOSITY", "error")
    if not sys.stderr.isatty():
        environment.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        environment.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    if not is_offline() and not _is_reachable(endpoint()):
        talk.say(f"{endpoint()} cannot be reached; looking in the cache")
        environment["HF_HUB_OFFLINE"] = "1"


def endpoint() -> str:
    """The address that is asked."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status behind an error of the library or of its transports."""
    while error is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int):
            return status
        error = error.__cause__ or error.__context__
    return None


def is_offline() -> bool:
    """Whether the environment forbids to ask."""
    switches = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(name, "").upper() in {"1", "ON", "YES", "TRUE"} for name in switches)


def _is_reachable(address: str) -> bool:
    """Whether anything answers there at all, through the proxy that the environment names."""
    request = urllib.request.Request(address, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=_REACHABLE_WITHIN).close()
    except urllib.error.HTTPError:
        return True  # an answer, if not a kind one
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # the library may know more certificates
    except (OSError, ValueError):
        return False
    return True
