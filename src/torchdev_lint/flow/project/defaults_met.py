"""The default device that functions find when they are called, as the run of their file's own top level shows it.

`with placed(device): net = Net(); net(x)`, whoever enters the block, and by what: what `Net` and its `forward` make is on that device, so
that reading them alone says nothing of the CPU.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Accelerator, Cpu

_ON_CPU = "called with the CPU as the default"


def note(frame: Frame, node: cst.CSTNode) -> None:
    """A function is called while the top level of the file runs."""
    default = frame.env.default_device
    # what is built on "meta" is brought to its place by other means
    on_cpu = isinstance(default, Cpu) or (isinstance(default, Accelerator) and default.type == "meta")
    notes, key = frame.analysis.notes, (_ON_CPU, id(node))
    if on_cpu or key not in notes:
        notes[key] = on_cpu


def are_elsewhere(analysis: Analysis, node: cst.CSTNode) -> bool:
    """Whether the run of the file calls the function, and only where the default device is not the CPU, or may be another."""
    return analysis.notes.get((_ON_CPU, id(node))) is False
