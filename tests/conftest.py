"""What all tests have in common: a cache of their own, few threads, and no terminal settings of the caller."""

import os
import tempfile

os.environ["TIEDLM_CACHE"] = tempfile.mkdtemp(prefix="tiedlm-tests-")
os.environ.setdefault("OMP_NUM_THREADS", "2")
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
    os.environ.pop(name, None)
