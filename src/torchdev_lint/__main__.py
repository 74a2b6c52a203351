"""`python -m torchdev_lint`."""

import sys

from torchdev_lint.cli import main

if __name__ == "__main__":
    sys.exit(main())
