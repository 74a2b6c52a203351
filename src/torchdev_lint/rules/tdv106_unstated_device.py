"""TDV106: a tensor is made without `device=` where a device is at hand, and goes where nothing is known of it.

## What it does
Finds `torch.zeros`, `tensor`, `rand` and the other factory functions called without `device=` where one could be told, and whose result
goes where nothing is known of it. At hand is a device, a tensor that is somewhere, `self.device`, the device of the module that the
method belongs to; or, by what the function does with it, a tensor that comes from elsewhere:

* what is made, or drawn from a distribution of what is made, meets it in an operation, is joined with it, or is indexed by it;
* or it was made for it: with its size, with its `dtype`, in its place, to be filled with it. Then it counts that the result is handed to
  a function, returned, or kept in an attribute; as it does in a class that keeps a device, and where another branch that binds the same
  name says `device=`.

Off by default: it is for those who want every factory to say where.

## Why it fails
What is made without `device=` is on the CPU. If it is used with what is on the device at hand, as most that is made there is, PyTorch
raises
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`, in code that is not in
sight: another function, a library, the caller.

## Example
    class Wrapper:
        def __init__(self, engine, device: torch.device):
            self.engine = engine
            self.device = device

        def prompt(self, ids: list[int]):
            return torch.tensor(ids, device=self.device)

        def width(self, features: int) -> int:
            return self.engine.run(torch.rand(1, features)).shape[-1]

## Use instead
    class Wrapper:
        def __init__(self, engine, device: torch.device):
            self.engine = engine
            self.device = device

        def prompt(self, ids: list[int]):
            return torch.tensor(ids, device=self.device)

        def width(self, features: int) -> int:
            return self.engine.run(torch.rand(1, features, device=self.device)).shape[-1]

## Fix safety
Unsafe: whoever gets the tensor may want it on the CPU.

## Known limits
Nobody knows that it fails. In 39 repositories drawn at random (415,000 lines) it tells 24 places, 0.6 in 10,000 lines. Of these and four in
three others, 6
raise on an accelerator or would have been mended, 16 can be argued about (results that are collected on the CPU, or filled by copies),
6 are wrong: numbers and sizes as tensors, what a helper in another file moves. Of those that only the function's text shows, 5 of 16 are
right and none is wrong.

What is certain, or likely by what the function shows, is TDV001's, TDV004's, TDV005's and TDV105's. Nothing is said of what is made in
`__init__` (but for what meets a buffer that is registered of an argument, in a method that it is handed to), in tests, data sets and
transforms, unless a transform is a layer or asks its tensors for their device; nor where a library
is used with a default device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import UnstatedDevice
from torchdev_lint.rules.base import Finding, Note, Rule
from torchdev_lint.rules.edits import made_elsewhere

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event

_GOES = {
    "meets": "meets a tensor that may be there",
    "given": "is given to what cannot be read",
    "returned": "is returned",
    "handed": "is handed on",
    "kept": "is kept",
}


class UnstatedDeviceRule(Rule):
    """See the module's docstring."""

    code = "TDV106"
    name = "unstated-device"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (UnstatedDevice,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every such factory is a finding, unless the function says itself that it is in the wrong place (TDV005)."""
        assert isinstance(event, UnstatedDevice)
        if event.late:
            return
        how = " without `device=`" if event.made.keyword else ""
        message = f"made on the CPU{how}, although {event.near} is at hand, and {_GOES[event.how]}"
        goes = (Note(event.goes, "it goes here"),) if event.how != "returned" else ()
        fix = None if event.made.target is None else made_elsewhere(event.made, event.made.target)
        yield Finding(event.made.node, message, goes, fix)
