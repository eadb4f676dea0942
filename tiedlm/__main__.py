"""`python -m tiedlm`: the command line, which is a package of its own beside this one."""

import importlib
import importlib.util
import sys

if __name__ == "__main__":
    installed = importlib.util.find_spec("tiedlm_cli") is not None  # in a folder of sources alone it has its name there
    sys.exit(importlib.import_module("tiedlm_cli.main" if installed else "cli.main").main())
