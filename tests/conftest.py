"""What all tests have in common: a cache of their own, one thread, nothing of the caller's terminal or signals.

Read by each process that tests are spread over, so that no two of them share a cache.
"""

import os
import shutil
import signal
import tempfile

CACHE = tempfile.mkdtemp(prefix="tiedlm-tests-")
os.environ["TIEDLM_CACHE"] = CACHE
os.environ.setdefault("OMP_NUM_THREADS", "1")
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
    os.environ.pop(name, None)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what it runs in the background without it


def pytest_unconfigure() -> None:
    """Leave nothing behind."""
    shutil.rmtree(CACHE, ignore_errors=True)
