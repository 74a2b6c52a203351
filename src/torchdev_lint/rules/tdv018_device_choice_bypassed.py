"""TDV018: the program chooses its device, and an accelerator is named without asking.

## What it does
Finds `.cuda()`, `"cuda"`, `"mps"`, `"xpu"` (without an index) where something is put on them, and
`torch.set_default_tensor_type(torch.cuda.FloatTensor)`, in a program that decides elsewhere:
a device in scope that is the CPU on a machine without an accelerator, one that callers hand over or that an option names
(`--device`, the CPU by default), a flag (`use_cuda`, `args.gpu`) under which the same function moves other things, or the `accelerator`
of Accelerate, which the function works with.

## Why it fails
The rest of the program runs without an accelerator, and this place raises there: `AssertionError: Torch not compiled with CUDA enabled`
or `RuntimeError: No CUDA GPUs are available`. Where the flag says no on a machine that has one, the tensor meets what stayed on the
CPU: `RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.

## Example
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    output = model(images.cuda())

## Use instead
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    output = model(images.to(device))

## Fix safety
Unsafe: what was put on the accelerator goes where the program decides. After a flag, `"cuda" if flag else "cpu"`.

## Known limits
Programs that never choose are TDV101's (off by default), literals with an index TDV002's. A parameter, a constant and where some tensor
is are no choices: the file has to ask the machine (`is_available()`), or what the program was started with (`args.gpu`).
Nothing is said below a test that speaks of accelerators, half precision or distributed runs, in a function whose name does
(`to_cuda`), in the handler of an exception, nor where TDV002's guards hold, nor in a function that is only called where an
accelerator has been used whatever the machine. A flag counts within its function only, and not if it has an `else`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import DeviceLiteral
from torchdev_lint.rules.base import Finding, NodeFix, Rule
from torchdev_lint.rules.edits import put_on
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class DeviceChoiceBypassed(Rule):
    """See the module's docstring."""

    code = "TDV018"
    name = "device-choice-bypassed"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (DeviceLiteral,)
    witness: ClassVar = ("cpu",)

    def check(self, event: Event) -> Iterator[Finding]:
        """Every accelerator without an index that nothing guards, where the program chooses."""
        assert isinstance(event, DeviceLiteral)
        if event.guarded or event.index is not None or event.chosen is None:
            return
        name, device = event.chosen
        if name == device and event.scope_device is not None:
            device = event.scope_device  # nearer than what shows that the program chooses: `self.device`
        match event.form:
            case "string":
                what = f"`{event.type}`"
            case "default-type":
                what = f"`{event.text}`"
            case _:
                what = "`.cuda()`"
        chosen = quoted(name, "the device")
        message = f"{what} bypasses {chosen}, by which the program chooses: fails on a machine without an accelerator"
        asks = "Ask whether there is an accelerator"
        told = asks if event.form == "default-type" else f"Use `{device}`"
        fix = NodeFix(put_on(event, device), Applicability.UNSAFE, told)
        yield Finding(event.node, message, fix=fix)
