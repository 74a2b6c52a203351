"""TDV101: an accelerator is used without asking whether there is one.

## What it does
Finds `.cuda()`, and `"cuda"`, `"mps"`, `"xpu"` (without an index) where something is put on them: `.to("cuda")`, `device="cuda"`, a
`torch.device("cuda")` or a constant given so, default arguments, the default tensor type; a device with a computed index
(`f"cuda:{rank}"`); and calls that raise where there is no GPU, whatever they are given (`torch.cuda.synchronize()`, `current_device`,
`set_device`, `get_device_name`). Off by default: many programs are for machines with a GPU only.

## Why it fails
On a machine without the accelerator the first transfer raises `AssertionError: Torch not compiled with CUDA enabled` or
`RuntimeError: No CUDA GPUs are available`.

## Example
    def one_hot(x, classes, device="cuda"):
        return torch.zeros(len(x), classes, device=device).scatter_(1, x[:, None], 1)

## Use instead
    def one_hot(x, classes):
        return torch.zeros(len(x), classes, device=x.device).scatter_(1, x[:, None], 1)

## Fix safety
Unsafe: the program then chooses its device. A device already in scope is used (`device`, `self.device`, `args.device`, ...);
else the availability idiom, which needs `torch` to be imported. None is offered for computed indices and for calls.

## Known limits
What guards an accelerator is the same as for TDV002 (which reports the ones with an index): a test of availability or of a tensor's
own device, a flag that asks for it, a handled failure, a decorator that skips. `torch.autocast("cuda")` and other uses of the type's
name do not fail and are not reported. Nothing is said of a call below a test of something that is done on a GPU only (timing, profiling,
half precision), nor of a computed index in programs of several processes. Where the program chooses its device and
this place does not ask, it is TDV018 that speaks. Calls and computed indices are many: 103 places in 120 files that were drawn of 450 which
have such words (of 4.4 million lines), some 60 of them the set-up of programs that train on several GPUs, where it is arguable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import DeviceLiteral
from torchdev_lint.rules.base import Finding, NodeFix, Rule
from torchdev_lint.rules.edits import put_on

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class UnguardedCuda(Rule):
    """See the module's docstring."""

    code = "TDV101"
    name = "unguarded-cuda"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (DeviceLiteral,)
    witness: ClassVar = ("cpu",)

    def check(self, event: Event) -> Iterator[Finding]:
        """Every accelerator without an index that nothing guards is a finding."""
        assert isinstance(event, DeviceLiteral)
        if event.guarded or event.index is not None or event.chosen is not None:
            return
        match event.form:
            case "string":
                what = f"`{event.type}`"
            case "needs" | "numbered" | "default-type":
                what = f"`{event.text}`"
            case _:
                what = "`.cuda()`"
        message = f"{what} without asking whether it is available: fails on a machine that has none"
        yield Finding(event.node, message, fix=_fix(event))


def _fix(event: DeviceLiteral) -> NodeFix | None:
    if event.form in ("needs", "numbered"):
        return None
    if event.form == "default-type":
        return NodeFix(put_on(event, event.type), Applicability.UNSAFE, "Ask whether it is available")
    if event.scope_device is not None:
        device, message = event.scope_device, f"Use `{event.scope_device}`"
    elif event.torch_name is not None:
        asked = (
            f"{event.torch_name}.backends.mps" if event.type == "mps" else f"{event.torch_name}.{event.type}"
        )
        device = f'"{event.type}" if {asked}.is_available() else "cpu"'
        message = f"Use `{device}`"
    else:
        return None
    return NodeFix(put_on(event, device), Applicability.UNSAFE, message)
