"""TDV015: a device's index is beyond the devices that the program lets itself see.

## What it does
Finds `"cuda:1"`, `.cuda(1)`, `torch.cuda.set_device(1)` and the like in a program that sets
`os.environ["CUDA_VISIBLE_DEVICES"]` to fewer devices before.

## Why it fails
The visible devices are numbered from 0, whatever their indices in the machine. With `"CUDA_VISIBLE_DEVICES"` set to `"1"` there is
`cuda:0` and nothing else: `RuntimeError: CUDA error: invalid device ordinal`, on every machine.

## Example
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    model.to("cuda:1")

## Use instead
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    model.to("cuda:0")

## Fix safety
Unsafe: with one visible device the index becomes 0, which is the only one that can be meant. With several there is no fix.

## Known limits
The variable must be set to one list of indices, written out, once and unconditionally, before the device is used. What the shell
or a launcher sets is not seen. TDV002 leaves such an index to this rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import DeviceLiteral
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class DeviceIndexOutOfRange(Rule):
    """See the module's docstring."""

    code = "TDV015"
    name = "device-index-out-of-range"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (DeviceLiteral,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every index that no machine can have is a finding, unless a test or a handler guards it."""
        assert isinstance(event, DeviceLiteral)
        if event.guarded or not event.is_out_of_range:
            return
        seen = "1 device is" if event.visible == 1 else f"{event.visible} devices are"
        message = (
            f"`{event.type}:{event.index}` does not exist: CUDA_VISIBLE_DEVICES is set so that {seen} visible"
        )
        yield Finding(event.node, message, fix=_fix(event))


def _fix(event: DeviceLiteral) -> NodeFix | None:
    if event.visible != 1:
        return None
    match event.form:
        case "string":
            content = f'"{event.type}:0"'
        case "call":
            content = f'{event.torch_name}.device("{event.type}", 0)'
        case _:
            content = "0"
    edit = NodeEdit(event.node, "replace", content)
    return NodeFix((edit,), Applicability.UNSAFE, "Use the only visible device")
