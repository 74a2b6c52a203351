"""TDV002: an accelerator with a literal index is hard-coded.

## What it does
Finds `"cuda:0"` and its like (any accelerator type, any index) wherever such a string is used as a device: arguments, default
arguments, `argparse` defaults, constants, dictionary values, f-strings with a literal index; and the other spellings
`torch.device("cuda", 0)`, `.cuda(0)`, `.to(0)`, `device=0`.

## Why it fails
The program needs that very device. On a machine without an accelerator the first transfer raises
`AssertionError: Torch not compiled with CUDA enabled` (or `RuntimeError: No CUDA GPUs are available`; for a bare index,
`RuntimeError: Cannot access accelerator device when none is available`), with an index beyond the last device
`RuntimeError: CUDA error: invalid device ordinal`. And where models and data go to different literals, they never meet.

## Example
    model.to("cuda:0")

## Use instead
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)

## Fix safety
Unsafe: the program then chooses its device. A device already in scope is used (`device`, `self.device`, `args.device`, ...);
else the availability idiom, which needs `torch` to be imported.

## Known limits
A literal is not reported where a machine without the device never gets to it: under `torch.cuda.is_available()` (for an index
above 0, under a test of `device_count()`), under a flag that asks for the accelerator, in a `try` that handles the
failure, in a function that a decorator, a mark of the module or what runs before the test skips, or in one that is only called in
such places. Index 0 is not reported in a file that imports libraries of compiled kernels (Triton, flash-attn, CUTLASS, ...) without
a `try`: it runs on an accelerator or not at all. Comparisons, dictionary keys, messages, `choices=`, members of an enumeration,
words of a command line and documentation strings are text, not uses. `device=0` is only read as an index in calls of PyTorch's
own functions and methods. The default of a command line's option is not reported where the file asks for availability whenever it reads
the option (`args.device if torch.cuda.is_available() else "cpu"`), also in another function, or never reads it, nor the
default of an argument that its function does not read, or that every call gives, where all calls are in sight.

Index 0 is not reported where a machine without an accelerator does not get anyway, or no further: beside an unguarded `.cuda()` or the
like, in the same function or along with each of its calls; nor in functions of files that use one so where nothing which leads to the
file (what imports it, and what imports that) asks for availability, has a flag or an option for it, or names the CPU. Such programs are
for GPUs only. Nor is anything said of a class, a function, or the top level of a script that names several devices of one type without
asking for any of them: it is spread over them on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import DeviceLiteral
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class HardcodedDeviceIndex(Rule):
    """See the module's docstring."""

    code = "TDV002"
    name = "hardcoded-device-index"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (DeviceLiteral,)
    witness: ClassVar = ("cpu",)

    def check(self, event: Event) -> Iterator[Finding]:
        """Every literal that nothing guards is a finding."""
        assert isinstance(event, DeviceLiteral)
        if event.guarded or event.index is None or event.is_out_of_range or event.form == "current":
            return
        device = f"{event.type}:{event.index}"
        message = f"`{device}` is hard-coded: fails on a machine that has no such device"
        yield Finding(event.node, message, fix=_fix(event))


def _fix(event: DeviceLiteral) -> NodeFix | None:
    if event.scope_device is not None:
        replacement, message = event.scope_device, f"Use `{event.scope_device}`"
    elif event.torch_name is not None and event.type in ("cuda", "xpu"):
        replacement = availability_idiom(event)
        message = f"Use `{replacement}`"
        if event.form == "string" and event.parenthesize:
            replacement = f"({replacement})"
    else:
        return None
    if event.form == "cuda-method":
        # the event's call is `receiver.cuda(0)`: only its method name and argument change
        edits = (
            NodeEdit(event.call.func.attr, "replace", "to"),
            NodeEdit(event.node, "replace", replacement),
        )
        return NodeFix(edits, Applicability.UNSAFE, message)
    if event.form == "call" and event.scope_device is None:
        replacement = f"{event.torch_name}.device({replacement})"
    return NodeFix((NodeEdit(event.node, "replace", replacement),), Applicability.UNSAFE, message)


def availability_idiom(event: DeviceLiteral) -> str:
    """The expression that falls back to the CPU where the device is missing."""
    torch, kind = event.torch_name, event.type
    if event.index == 0:
        return f'"{kind}" if {torch}.{kind}.is_available() else "cpu"'
    return f'"{kind}:{event.index}" if {torch}.{kind}.device_count() > {event.index} else "cpu"'
