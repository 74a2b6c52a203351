"""torchdev-lint: finds, explains and repairs PyTorch device mismatches before the program runs.

The static half (this package but for `harness`) needs no torch. Importing the package is cheap on
purpose: LibCST is loaded only when a file has to be parsed.
"""

__version__ = "0.1.0"
