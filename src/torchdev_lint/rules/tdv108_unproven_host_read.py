"""TDV108: what a model, a gradient or a distribution gives is read on the host, and nothing shows that it is on the CPU.

## What it does
Finds `.numpy()` on the output of something called a model, on a gradient, on what a distribution gives, on what an object keeps and the
method detaches, and on what a dict or list of tensors holds that a function is given, when nothing brings it to the CPU and nothing
shows where it is; the same given to numpy, matplotlib, scikit-learn and others, as far as it is a tensor for certain; and
`grad * mask.astype(np.float32)` of what PyTorch's functions are given elsewhere in the function. Off by default: it is for those who
bring code that ran on the CPU to accelerators.

## Why it fails
Where the model runs on an accelerator, what comes from it is there, too, and the read raises
`TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.`

## Example
    class Forecast:
        def __init__(self, distribution: Distribution):
            self.distribution = distribution

        @property
        def mean(self) -> np.ndarray:
            return self.distribution.mean.numpy()

## Use instead
    class Forecast:
        def __init__(self, distribution: Distribution):
            self.distribution = distribution

        @property
        def mean(self) -> np.ndarray:
            return self.distribution.mean.cpu().numpy()

## Fix safety
Safe for a tensor: `.cpu()` gives the tensor itself where it is on the CPU already, and `.detach()`, which is added where the
tensor may need gradients, changes nothing that is read. Unsafe for a value that may be something else, and for a list.

## Known limits
Nobody knows that it fails: the model may stay on the CPU. What is a model, or a distribution, is told by names. Nothing is said of
what functions return that cannot be read, detached or not (indices of a partitioned graph), at the top of a file, in tests, data sets and
transforms, in scripts that speak of no device, and where the function asks where the tensor is. What is certain is TDV010's, an
argument that is a tensor itself TDV103's. It is a quiet rule: of 1.5 million
lines of 74 public repositories it told of two, of which one was wrong (since mended) and of the other, in a notebook, nobody can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import HostRead
from torchdev_lint.rules.base import Finding, Rule
from torchdev_lint.rules.tdv010_host_read import copy_to_host, sentence, steps

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class UnprovenHostRead(Rule):
    """See the module's docstring."""

    code = "TDV108"
    name = "unproven-host-read"
    fix_applicability = Applicability.SAFE
    default = False
    answers: ClassVar = (HostRead,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every read of what may be anywhere is a finding, unless more is known of it."""
        assert isinstance(event, HostRead)
        if event.unproven:
            message = sentence(event, f"{event.given_device}, which may be an accelerator")
            yield Finding(event.place.node, message, steps(event), copy_to_host(event))
