"""TDV016: the index of a device gets lost: this fails on the second GPU.

## What it does
Finds idioms that ask whether something is on a GPU and then forget on which: `.cuda()` and `"cuda"` under `if x.is_cuda:` or
`if x.device.type == "cuda":`, `torch.device("cuda") if x.is_cuda else torch.device("cpu")`, round trips through the CPU
(`f(x.cpu()).cuda()`), a device's type given as a device (`device=x.device.type`, or by a
property `device` that others use), `y.type(x.type())`, a process's global rank given as an
index (`.cuda(dist.get_rank())`), `.cuda(True)`, `.cuda()` in a function that otherwise puts its tensors on a parameter's device, and
`torch.device(device)` beside `Model(device=device, device_index=index)`.

## Why it fails
`cuda` without an index is the *current* device, `cuda:0` unless the program changes it. Where `x` is on `cuda:1`, the two do not meet:
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!`. A global rank is
greater than the indices of its machine from the second machine on (`CUDA error: invalid device ordinal`). `.cuda(True)` raises
`TypeError: cuda(): argument 'device' (position 1) must be torch.device, not bool` (before PyTorch 2, True was taken as index 1).

## Example
    if x.is_cuda:
        mask = mask.cuda()
    return x * mask

## Use instead
    mask = mask.to(x.device)
    return x * mask

## Fix safety
Unsafe: things go where the other thing is instead of to the current device. On a machine with one GPU that is the same.

## Known limits
What is asked must be where *another* thing is, in the same function, or in a call that hands the answer to it; under
`torch.cuda.is_available()` or a flag, an index-less `cuda` is right. A string is only reported where it is used as a device:
`torch.autocast("cuda" if x.is_cuda else "cpu")` wants a type. In a repository that is not made to be installed by others (no `setup.py`,
`setup.cfg` or `pyproject.toml` that presents it), nothing is reported where the programs that the file is part of name no GPU by a number
other than 0 (copies of `DataParallel` are each on their current one), or where they call `set_device`; else such programs are reported
although they run. Ranks are not reported in tests, nor in files that speak of a local rank, of `device_count()`, of `spawn` or of
`init_process_group`, nor where files that import this one start their processes by `spawn` and none is started by a launcher.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import LostIndex
from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Rule
from torchdev_lint.rules.doubts import doubts

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class LostDeviceIndex(Rule):
    """See the module's docstring."""

    code = "TDV016"
    name = "lost-device-index"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (LostIndex, DoubtfulDevice)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every lost index is a finding where something may be on a second GPU."""
        if isinstance(event, DoubtfulDevice):
            yield from doubts(self.code, event)
            return
        assert isinstance(event, LostIndex)
        if not event.alone:
            yield lost(event)


def lost(event: LostIndex) -> Finding:
    """What is said of a lost index."""
    fix = None
    if event.edits:
        edits = tuple(NodeEdit(node, "replace", text) for node, text in event.edits)
        message = f"Use `{_short(event.other)}`" if event.other else "Give it as `non_blocking`"
        fix = NodeFix(edits, Applicability.UNSAFE, message, cures_cause=True)
    return Finding(event.node, _message(event), fix=fix)


def _message(event: LostIndex) -> str:
    what, other = f"`{_short(event.text)}`", f"`{_short(event.other)}`"
    if event.form.startswith("told "):
        function = event.form.removeprefix("told ")
        return f"`{function}` is told by {what} to use the current GPU, not {other}: fails on the second GPU"
    match event.form:
        case "round-trip":
            return f"{what} comes back to the current GPU, not to {other}: fails on the second GPU"
        case "convention":
            return f"{what} goes to the current GPU, other tensors here to {other}: fails on the second GPU"
        case "type":
            return f"{what} is a device without its index, the current GPU: fails on the second GPU"
        case "typename":
            return f"{what} names a type without a device's index (and some devices have none): use {other}"
        case "rank":
            return (
                f"{what} is the rank among all processes, not a device's index: fails on the second machine"
            )
        case "positional":
            return "True is taken as the device: this raises"
        case _:
            return f"{what} is the current GPU, not {other}: fails on the second GPU"


def _short(text: str) -> str:
    return text if len(text) <= 60 and "\n" not in text else text.split("\n")[0][:50] + "..."
