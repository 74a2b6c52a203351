"""TDV005: a tensor is made without `device=` and meets one that is elsewhere.

## What it does
Finds `torch.zeros`, `arange`, `tensor`, `ones`, `rand` and the other factory functions called without `device=` whose result
then meets, in the same function, a tensor that is on another device, or begins a list that goes on with such tensors and is
concatenated. Also where a function makes one for a tensor that it is given (of its size, or filled with what is computed from it, or
in the place of what another way returns), returns it, and a caller in sight computes with both (what no
caller shows is TDV105's). And where it is one of two ways through a function whose results the program keeps and joins, or where one
method of an optimizer makes what another brings together with the parameters or their gradients, or it keeps what it has made of a
parameter's size as that one's state (`self.state[p]["m"] = torch.zeros(p.shape)`); or where the statement itself brings what comes of
both to where the other one is, too late: `torch.index_select(torch.arange(n), 0, rank).type_as(scores)` with `rank = scores.argsort()`.

## Why it fails
A factory without `device=` makes a CPU tensor (unless a default device was set). The operation that meets both raises
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.

## Example
    ids = torch.zeros(height, width, device=device)
    ids = ids + torch.arange(width)

## Use instead
    ids = ids + torch.arange(width, device=device)

## Fix safety
Safe when the tensor is used nowhere else: it is made in the expression in which it fails. Otherwise unsafe: other uses may want
it on the CPU.

## Known limits
Otherwise the factory and the operation must stand in one function. Tensors that may be 0-dim are legal in pointwise operations and not
reported there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import MixedOperation, ReturnedFactory
from torchdev_lint.flow.activation.placement_events import UnstatedDevice
from torchdev_lint.rules.base import Finding, NodeFix, Note, Rule
from torchdev_lint.rules.edits import made_elsewhere, moved
from torchdev_lint.rules.stories import notes
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event, Made


class FactoryWithoutDevice(Rule):
    """See the module's docstring."""

    code = "TDV005"
    name = "factory-without-device"
    fix_applicability = Applicability.SAFE
    answers: ClassVar = (MixedOperation, ReturnedFactory, UnstatedDevice)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Differences whose operand at fault was made by a factory of the same function are findings."""
        if isinstance(event, UnstatedDevice):
            if event.late:
                yield _late(event)
            return
        if isinstance(event, ReturnedFactory):
            if event.met or not event.beside:
                yield returned(event)
            return
        assert isinstance(event, MixedOperation)
        if event.made is None:
            return
        other = quoted(event.other, "the other operand")
        how = " without `device=`" if event.made.keyword else ""
        message = f"made on {event.right_device}{how}, but meets {other} on {event.left_device}"
        meets = Note(event.node, "they meet here")
        shown = (*notes(event.left, "the other operand", event.left_device), meets)
        yield Finding(event.made.node, message, shown, _fix(event, event.made))


def _late(event: UnstatedDevice) -> Finding:
    how = " without `device=`" if event.made.keyword else ""
    message = f"made on the CPU{how}, and brought to where `{event.late}` is only after it has met what was computed from that"
    fix = None if event.made.target is None else made_elsewhere(event.made, event.made.target)
    return Finding(event.made.node, message, (Note(event.goes, "they meet here"),), fix)


def returned(event: ReturnedFactory) -> Finding:
    """What a function makes on the CPU and returns: beside what it moves (TDV005), or for an argument (TDV105)."""
    how = " without `device=`" if event.made.keyword else ""
    message = f"made on the CPU{how} for `{event.beside}`, which may be on an accelerator, and returned by `{event.function}`"
    if event.there:
        message = f"made on the CPU{how}, but `{event.function}` returns it with others that it moves to `{event.there}`"
    if event.otherwise:
        message = f"made on the CPU{how}, but `{event.function}` otherwise returns what is on {event.otherwise}, and they are joined"
    if event.kept:
        message = f"made on the CPU{how}, but kept as the state of `{event.kept}`, a parameter that may be on an accelerator"
    fix = None if event.made.target is None else made_elsewhere(event.made, event.made.target)
    return Finding(event.made.node, message, (), fix)


def _fix(event: MixedOperation, made: Made) -> NodeFix | None:
    if made.target is not None:
        return made_elsewhere(made, made.target)
    if event.target is None or event.place.container:
        return None
    move = f".to({event.target})"
    edits = moved(event.place.value_node, move, parenthesize=event.place.needs_parentheses)
    return NodeFix(edits, Applicability.UNSAFE, f"Move it with `{move}`")
