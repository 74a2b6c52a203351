"""`python -m torchdev_lint`."""

import os
import sys

if __name__ == "__main__":
    # `-m` lets imports start in the working directory, which is the project to check: a `json.py` or `libcst.py` of its own
    # would be executed. What this program imports is its own and what is installed.
    try:
        here = os.getcwd()
    except OSError:  # It has been removed; the command line says so.
        here = ""
    if sys.path and sys.path[0] in ("", here) and not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]

    from torchdev_lint.cli import main

    sys.exit(main())
