"""TDV110: a module is run on inputs that were moved, and nothing in sight moves the module.

## What it does
Finds modules that a function or script makes or loads, and runs on tensors that it has moved to a device (or was given), without moving
the module anywhere: what `load_model(path)`, `from_pretrained`, a class or a function of another file gives. Also modules that only one
of two branches moves, and layers that are made without the `device=` of the others in their class. Off by default.

## Why it fails
Nearly every module is made on the CPU, and what its inputs were moved to is not:
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`. It works only where the
one who makes the module places it, which cannot be seen.

## Example
    from models.vgg import vgg16

    def evaluate(loader, path, device):
        model = vgg16()
        model.load_state_dict(torch.load(path, map_location=device))
        for images, labels in loader:
            scores = model(images.to(device))

## Use instead
        model = vgg16().to(device)

## Fix safety
Unsafe: the module may be placed where it is made.

## Known limits
A module that is handed to anything else than an optimizer, a function of the file, or one that gets the moved inputs as well, is not
reported: it may be moved there. Nor is one that is kept in a list or attribute, or returned. Nothing is said of files with `device_map`,
`accelerator.prepare`, a default device, or tests, nor of what is made of a whole configuration. In ten repositories with 554,000 lines,
and 460 files chosen for what the two rules TDV109 and TDV110 look at, nothing is told. What is certain is TDV001's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.placement_events import LayerWithoutDevice, UnmovedModule
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.events import Event


class UnmovedModuleRule(Rule):
    """See the module's docstring."""

    code = "TDV110"
    name = "unmoved-module"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (UnmovedModule, LayerWithoutDevice)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every such module or layer is a finding."""
        if isinstance(event, LayerWithoutDevice):
            message = (
                f"`{event.layer}` is made without the `device=` that other layers of the class are given"
            )
            note = Note(event.other, "it is given here")
            edits = (
                (NodeEdit(event.node.args[-1], "after", f", device={event.text}"),) if event.node.args else ()
            )
            fix = (
                NodeFix(edits, Applicability.UNSAFE, f"Make it with `device={event.text}`") if edits else None
            )
            yield Finding(event.node, message, (note,), fix)
            return
        assert isinstance(event, UnmovedModule)
        fix = None
        if event.move:
            edit = NodeEdit(event.made, "after", event.move)
            fix = NodeFix((edit,), Applicability.UNSAFE, f"Move it with `{event.move}`")
        if not event.given:
            message = f"`{event.name}` is moved in one branch, and not where it is made here"
            yield Finding(event.node, message, (Note(event.meets, "it is moved here"),), fix)
            return
        there = (
            f", which was moved to `{event.device}`"
            if event.device and not event.device.endswith(".device")
            else ""
        )
        given = quoted(event.given, "an input")
        message = f"nothing in sight moves `{event.name}`, and it is run on {given}{there}"
        notes = tuple(
            Note(node, what)
            for node, what in ((event.made, "it comes from here"), (event.meets, "it is run here"))
            if node is not event.node
        )
        yield Finding(event.node, message, notes, fix)
