"""Runs programs on the CPU, on a simulated accelerator or on a real GPU, and says whether a device error
happens.

This half needs torch (extra `harness`) in the *child* processes only: importing this package imports nothing
but the standard library. It never imports the static half of the project.
"""

from torchdev_lint.harness.forkserver import ForkServer
from torchdev_lint.harness.run import run_program
from torchdev_lint.harness.verdict import Frame, Kind, Verdict

__all__ = ["ForkServer", "Frame", "Kind", "Verdict", "run_program"]
