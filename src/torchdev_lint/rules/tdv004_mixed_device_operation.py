"""TDV004: the operands of an operation are on different devices.

## What it does
Finds operators, functions and tensor methods whose tensor operands are certainly on different devices, and CPU tensors indexed
by a tensor on an accelerator; and what a module's method has a helper, or a tokenizer, make on the CPU and brings together with the
module's own tensors. Operands that were just made by a factory without `device=` are TDV005's. Also indices that stay where they came
from, while what came with them is moved to the tensor that they index (`table[chosen.rows.long()]` beside
`chosen.ids.to(table.device)`).

## Why it fails
PyTorch's operators need their operands on one device:
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.

## Example
    history = torch.zeros(10)
    for batch in loader:
        scores = model(batch.to(device))
        best = torch.maximum(history, scores)

## Use instead
        best = torch.maximum(history.to(scores.device), scores)

## Fix safety
Safe when the device is held by a name or by the other operand: `.to(...)` of the operand that is on the CPU.

## Known limits
What PyTorch admits is not reported: a 0-dim CPU tensor (or one that may be 0-dim) in pointwise operations, a CPU index or mask
on an accelerator's tensor, `copy_`, assignment to items and slices. Where the other operand is only where a caller may have put it,
it is TDV105 that speaks, which is off by default: of 39 such findings in four batches of code that nobody had looked at one was true
(docs/precision.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import MixedOperation
from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.rules.base import Finding, NodeFix, Note, Rule
from torchdev_lint.rules.doubts import doubts
from torchdev_lint.rules.edits import is_brought_along, moved
from torchdev_lint.rules.stories import notes
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class MixedDeviceOperation(Rule):
    """See the module's docstring."""

    code = "TDV004"
    name = "mixed-device-operation"
    fix_applicability = Applicability.SAFE
    answers: ClassVar = (MixedOperation, DoubtfulDevice)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Differences are findings, but for the operands that TDV005 reports where they are made."""
        if isinstance(event, DoubtfulDevice):
            yield from doubts(self.code, event)
            return
        assert isinstance(event, MixedOperation)
        if event.made is None and is_expected(event):
            yield mixed(event)


def is_expected(event: MixedOperation) -> bool:
    """Whether it comes about with every accelerator, or once the module is moved whose method has something made for its own tensors."""
    return event.certain or event.for_module


def mixed(event: MixedOperation) -> Finding:
    """The finding at the operand at fault."""
    shown = [
        *notes(event.left, "the other operand", event.left_device),
        *notes(event.right, "it", event.right_device),
    ]
    node = event.place.node if event.bound is None else event.bound
    if event.bound is not None:
        shown.append(Note(event.place.node, "it is given on here"))
    return Finding(node, _message(event), tuple(note for note in shown if note.node is not node), _fix(event))


def _message(event: MixedOperation) -> str:
    if event.operation == "index":
        return f"a tensor on {event.right_device} is indexed by one on {event.left_device}"
    text = event.place.text
    what, other = quoted(text, "an operand"), quoted(event.other, "the other operand")
    if what == other:  # a list that holds both
        what, other = f"a tensor in {what}", "another in it"
    if event.place.in_object:
        what = f"what {what} keeps"
    through = f": `{event.through}` needs them on one device" if event.through else ""
    return f"{what} is on {event.right_device}, but {other} is on {event.left_device}{through}"


def _fix(event: MixedOperation) -> NodeFix | None:
    place, target, sure = event.place, event.target, Applicability.SAFE
    if event.onto is not None:
        # what is changed in place stays, on the host as a rule: a total, a histogram
        (place, target), sure = event.onto, Applicability.UNSAFE
    if target is None or place.container or is_brought_along(place):
        return None
    move = f".to({target})"
    edits = moved(place.value_node, move, parenthesize=place.needs_parentheses)
    what = "it" if event.onto is None else quoted(place.text, "the other operand")
    return NodeFix(edits, sure, f"Move {what} with `{move}`")
