"""Optimizers: which of them keep a state, and from when on.

Source: torch/optim: `Adagrad.__init__` makes its sums at once, every other optimizer at its first step; `SGD` without momentum
keeps nothing (torch/optim/sgd.py).
"""

from __future__ import annotations

OPTIMIZERS = frozenset(
    "torch.optim." + name
    for name in "Adadelta Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD Adafactor".split()
)
"""PyTorch's optimizers that keep a tensor for each parameter (`SGD` with a momentum only)."""

STATE_FROM_THE_START = frozenset({"torch.optim.Adagrad"})
"""Of those, the ones that make it when they are built."""
