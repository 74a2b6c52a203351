"""TDV006: a tensor kept as a plain attribute of a module does not move with it.

## What it does
Finds tensors that an `nn.Module` keeps as plain attributes (also inside lists, tuples and dicts, or in an object of a class
that is no module; also where they are parameters or buffers under a condition only) and uses together with what moves: its
inputs, its parameters and buffers, the outputs of its submodules. Also, by the text of the class alone, functions that hold tensors
(`self.normalize = lambda x: (x - mean) / std`), and tables that a function of another file makes, of which parts are added to what
comes in (`x + self.positions[:, :n]`).

## Why it fails
`Module.to` moves parameters, buffers and submodules. A tensor that was merely assigned stays on the CPU:
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.

## Example
    class Scale(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.steps = torch.arange(n)

        def forward(self, x):
            return x * self.steps

## Use instead
            self.register_buffer("steps", torch.arange(n), persistent=False)

## Fix safety
Unsafe: code outside may assign another value to the attribute, or rely on where it is. `persistent=False` keeps the tensor out
of `state_dict`, so that old checkpoints still load. A list of tensors that is written out and only read becomes an `nn.ParameterList` of
parameters that are not trained; these are in `state_dict`, which old checkpoints lack. Tensors in other containers have no fix: make each a
buffer, or move it where it is used.

## Known limits
Attributes that other methods assign or move are not reported, but for what a setter without arguments makes that `__init__` calls, and
a state that `forward` carries on from call to call (`self.mem = self.mem * beta + x`); nor classes that override `_apply`, `to` or
`cuda`. A tensor that is handed to `__init__` is taken to be where the caller wants it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import UnregisteredTensor
from torchdev_lint.flow.activation.placement_events import PlainState
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule
from torchdev_lint.rules.edits import is_brought_along, moved
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class UnregisteredTensorRule(Rule):
    """See the module's docstring."""

    code = "TDV006"
    name = "unregistered-tensor"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (UnregisteredTensor, PlainState)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every unregistered tensor that meets what moves is a finding, at its assignment."""
        if isinstance(event, PlainState):
            if event.plain:
                yield kept_plainly(event)
            return
        assert isinstance(event, UnregisteredTensor)
        what = f"`self.{event.attribute}`"
        if event.value is None:
            what = f"a tensor in {what}"
        met = quoted(event.met, "something")
        message = f"{what} is not registered: it stays on the CPU and meets {met} on {event.met_device}"
        yield Finding(event.node, message, (Note(event.meets, "they meet here"),), _fix(event))


def _fix(event: UnregisteredTensor) -> NodeFix | None:
    if event.listed is not None and event.nn is not None:
        one = f"{event.nn}.Parameter(t, requires_grad=False)"
        before = NodeEdit(event.listed, "before", f"{event.nn}.ParameterList({one} for t in ")
        both = (before, NodeEdit(event.listed, "after", ")"))
        return NodeFix(both, Applicability.UNSAFE, f"Keep them in `{event.nn}.ParameterList`")
    if event.value is None or event.receiver is None or (event.late and event.target is None):
        return _at_use(event)
    if event.late:
        edits = moved(event.value, f".to({event.target})", parenthesize=event.needs_parentheses)
        return NodeFix(edits, Applicability.UNSAFE, f"Move it with `.to({event.target})`")
    registered = f"{event.receiver}.register_buffer({event.named}, {event.value_text}, persistent=False)"
    edit = NodeEdit(event.node, "replace", registered)
    return NodeFix((edit,), Applicability.UNSAFE, f"Register `{event.attribute}` as a buffer")


def _at_use(event: UnregisteredTensor) -> NodeFix | None:
    """What cannot be registered, since it is assigned twice, or may be something else, is moved where it is used."""
    if event.use is None or is_brought_along(event.use[0]):
        return None
    place, target = event.use
    edits = moved(place.value_node, f".to({target})", parenthesize=place.needs_parentheses)
    return NodeFix(edits, Applicability.UNSAFE, f"Move it with `.to({target})` where it is used")


_WHAT = {
    "tensor": "`self.{name}` is a tensor, and neither a parameter nor a buffer",
    "tensors": "`self.{name}` holds tensors that are neither parameters nor buffers",
    "modules": "`self.{name}` holds modules that are not registered",
    "function": "`self.{name}` is a function that holds tensors of its own",
}

_CURES = {
    "tensor": "Register `{name}` as a buffer",
    "modules": "Register `{name}` as modules",
    "function": "Bring what `{name}` holds to what it is given",
}


def kept_plainly(event: PlainState) -> Finding:
    """What is said of a tensor, or of what holds some, that the text of a class shows to be a plain attribute."""
    message = f"{_WHAT[event.kind].format(name=event.attribute)}: `Module.to` leaves it where it is"
    fix = None
    if event.cure:
        edit = NodeEdit(event.node, "replace", event.cure)
        fix = NodeFix((edit,), Applicability.UNSAFE, _CURES[event.kind].format(name=event.attribute))
    return Finding(event.node, message, (Note(event.use, "it is used here"),), fix)
