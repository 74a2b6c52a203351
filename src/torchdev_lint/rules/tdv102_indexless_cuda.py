"""TDV102: the current device is kept under a name, and something changes which device is current.

## What it does
Finds a constant of the module or an attribute of `self` that holds `cuda` without an index, in a program that puts something there and
then calls `torch.cuda.set_device`, or that uses it in another thread while `set_device` is called elsewhere. Off by default.

## Why it fails
`cuda` is no device but "whatever is current": it is looked up anew at each transfer. After `torch.cuda.set_device(1)` it is `cuda:1`, and
what was put there before is still on `cuda:0`. The current device belongs to a thread, and each new thread starts with `cuda:0`, so that
an input moved by a worker does not meet the model that the main thread moved:
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!`.

## Example
    torch.cuda.set_device(1)
    DEVICE = "cuda"
    model.to(DEVICE)
    threading.Thread(target=serve).start()    # model(x.to(DEVICE)): x goes to cuda:0

## Use instead
    DEVICE = f"cuda:{torch.cuda.current_device()}"

## Fix safety
Unsafe: the device is looked up once, where it is kept, and stays.

## Known limits
The change must stand in the same file. In the case from which the rule comes (privateGPT's issue 1851) it does not: a library keeps
`torch.device("cuda")` in an attribute, another library makes a second GPU current, and a web server calls both from threads of its own.
No file of the program is wrong by itself, and no finding in one file can prove the failure; the harness shows it when the three are put
together. Where `set_device` runs first in each process and nothing runs in threads, an index-less `cuda` is right and not
reported. Modules moved by `.cuda()`, without a name for the device, are not reported either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import CurrentDeviceKept
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class IndexlessCuda(Rule):
    """See the module's docstring."""

    code = "TDV102"
    name = "indexless-cuda"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (CurrentDeviceKept,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every device that is kept and changes its meaning is a finding."""
        assert isinstance(event, CurrentDeviceKept)
        fix = None
        if event.pinned is not None:
            edit = NodeEdit(event.literal, "replace", event.pinned)
            fix = NodeFix(
                (edit,), Applicability.UNSAFE, "Keep the device that is current here", cures_cause=True
            )
        if event.how == "thread":
            why = "it is used in a thread, where device 0 is current"
            note = Note(event.change, "the thread is started here")
        else:
            why = "another device is made current after something was put there"
            note = Note(event.change, "the current device changes here")
        yield Finding(
            event.node, f"`{event.text}` is whatever CUDA device is current, and {why}", (note,), fix
        )
