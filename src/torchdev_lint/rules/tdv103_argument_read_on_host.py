"""TDV103: a function reads an argument on the host, wherever its caller put it.

## What it does
Finds `.numpy()` on a tensor that a function was given (or computed from one), and the same reading by numpy, matplotlib,
scikit-learn and others, when nothing brings the tensor to the CPU first. Off by default: it is advice for libraries, whose
callers are not known.

## Why it fails
For a caller whose tensors are on an accelerator the function raises
`TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.`
For CPU tensors it works, so that tests without an accelerator pass.

## Example
    def lengths(mask: torch.Tensor) -> np.ndarray:
        return mask.sum(dim=1).numpy()

## Use instead
    def lengths(mask: torch.Tensor) -> np.ndarray:
        return mask.sum(dim=1).cpu().numpy()

## Fix safety
Safe for a tensor: `.cpu()` gives the tensor itself where it is on the CPU already, and `.detach()`, which is added where the
tensor may need gradients, changes nothing that is read. Unsafe for a value that may be something else, and for a list.

## Known limits
Only what is a tensor for certain counts: by its annotation, by what documents it, or by what is done with it. What the function
asks about the device (`if x.is_cuda`) is understood. Callers in other files are not looked for: where all of them give CPU
tensors nobody needs the advice. What is certain to be on an accelerator is TDV010's, and so is an argument
beside which another is brought to the CPU before it is read.
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


class ArgumentReadOnHost(Rule):
    """See the module's docstring."""

    code = "TDV103"
    name = "argument-read-on-host"
    fix_applicability = Applicability.SAFE
    default = False
    answers: ClassVar = (HostRead,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Reads of what a caller may have put on an accelerator are findings."""
        assert isinstance(event, HostRead)
        if event.certain or event.beside or not event.parameter:
            return
        put = "it" if event.place.text == event.parameter else f"`{event.parameter}`"
        message = sentence(event, f"wherever the caller put {put}")
        yield Finding(event.place.node, message, steps(event), copy_to_host(event))
