"""What all tests have in common: a cache of their own, few threads, nothing of the caller's terminal or signals."""

import os
import signal
import tempfile

os.environ["TIEDLM_CACHE"] = tempfile.mkdtemp(prefix="tiedlm-tests-")
os.environ.setdefault("OMP_NUM_THREADS", "1")
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
    os.environ.pop(name, None)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what it runs in the background without it
