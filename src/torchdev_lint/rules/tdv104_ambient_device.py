"""TDV104: a tensor goes to whatever accelerator there is, and meets one that is where the caller put it.

## What it does
Finds tensors that a function, or a module's method, puts on `torch.device("cuda" if torch.cuda.is_available() else "cpu")` (also under
the name of a constant, or by `.cuda()` where one is available), or on `"cuda:0"` in a file that does not run without a GPU, and then
uses together with an argument or with the module's own parameters. Off by default: in a program that puts everything on one such
device nothing is wrong.

## Why it fails
What is available says nothing of where the model is. With the model on the CPU of a machine that has a GPU, or on its second
one, the operation raises `RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.

## Example
    DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def padding_mask(lengths: torch.Tensor):
        return torch.arange(int(lengths.max()), device=DEVICE) < lengths[:, None]

## Use instead
    def padding_mask(lengths: torch.Tensor):
        return torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None]

## Fix safety
Unsafe: the tensor follows the other one, wherever else the program wants it.

## Known limits
The argument has to be known as a tensor: by its annotation, by what documents it, or by what is done with it. Functions that the
file itself calls are judged by those calls. What is told the device by a parameter or an attribute is not reported: somebody chose it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import AmbientDevice
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class AmbientDeviceRule(Rule):
    """See the module's docstring."""

    code = "TDV104"
    name = "ambient-device"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (AmbientDevice,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every tensor that goes its own way is a finding, where it is put there."""
        assert isinstance(event, AmbientDevice)
        message = f"put on whatever accelerator there is (`{event.text}`), but meets a tensor on {event.device_name}"
        fix = None
        if event.cure is not None:
            edit = NodeEdit(event.cure[0], "replace", event.cure[1])
            fix = NodeFix((edit,), Applicability.UNSAFE, f"Put it on `{event.target}`", cures_cause=True)
        yield Finding(event.node, message, (Note(event.meets, "they meet here"),), fix)
