"""TDV020: a call leaves out a device that is at hand.

## What it does
Finds calls of a function, a method or a constructor that may be told a device (`device=None`, `device="cpu"`) and is not, where the
calling function has a `device` that it puts other things on, the class keeps one in `self.device`, or another call of the same function
beside it is told one: `MLP(4, 2)` beside `MLP(4, 4, device=self.device)`. A layer of `torch.nn` is told where the others of the
function are given `device=`. What is called must be known: a function or class of the project that does something with the device.

## Why it fails
What is made there is on the device that the function has by default, the CPU as a rule; what it meets is on the other one: `RuntimeError:
Expected all tensors to be on the same device`. On a machine without an accelerator nothing shows it.

## Example
    def evaluate(model, loader, device):
        for batch in loader:
            noise = make_noise(batch.shape)
            print(model(batch.to(device) + noise))

## Use instead
    def evaluate(model, loader, device):
        for batch in loader:
            noise = make_noise(batch.shape, device=device)
            print(model(batch.to(device) + noise))

## Fix safety
Unsafe: whoever got along with the function's default may not with the device that is at hand.

## Known limits
Nobody knows that it fails: what is at hand may be meant for other things. Silent is the rule where the result is moved, or is handed to
what is told the device; where the function, left alone, works where what it is given is, or asks for the same device as all of the
program; where it only moves what it is given if it is told to (`device=None` of what converts); where the result is called a
configuration, or only indexes something; of layers, where other files of the program move whole models; in tests, data sets and functions
that save or show something. In the five million lines of TDV019 it told twelve places: three fail (NeMo's generator of batches stays on
`cuda` whatever `--device` says), four (layers that are left out of `device=`) fail once somebody gives a device, four were wrong and are
silent since, one can be argued about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import DeviceNotPassed
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event

_NEAR = {
    "beside": "another call here is given it",
    "parameter": "it is a parameter of the calling function",
    "class": "the class keeps it here",
    "argument": "it is where this argument is",
}


class DeviceNotPassedRule(Rule):
    """See the module's docstring."""

    code = "TDV020"
    name = "device-not-passed"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (DeviceNotPassed,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every such call is a finding."""
        assert isinstance(event, DeviceNotPassed)
        message = f"`{event.function}` is called without `{event.keyword}=`: `{event.text}` is at hand"
        notes = [Note(event.near, _NEAR[event.how])]
        if event.parameter is not event.near:
            notes.append(Note(event.parameter, f"`{event.function}` declares it here"))
        yield Finding(event.node, message, tuple(notes), _fix(event))


def _fix(event: DeviceNotPassed) -> NodeFix:
    edit = NodeEdit(event.node, "replace", event.whole)
    if not event.whole:
        edit = NodeEdit(event.node.args[-1], "after", f", {event.written}")
    return NodeFix((edit,), Applicability.UNSAFE, f"Hand it on with `{event.written}`")
