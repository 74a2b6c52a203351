"""TDV109: a module keeps a tensor as a plain attribute, which no method moves.

## What it does
Finds tensors that a module keeps under `self` without registering them, and has meet its inputs, its parameters or what its layers
give, where nothing in sight shows that the module is ever moved, or where the tensors come from. Off by default: it is for those who
bring a module to an accelerator, or want it to be movable.

## Why it fails
`Module.to` moves parameters, buffers and submodules, and leaves behind what was merely assigned:
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`, as soon as anybody
moves the module. An override of `to` that moves some of the attributes forgets the others in the same way.

## Example
    class Weighted(nn.Module):
        def __init__(self, weight: torch.Tensor):
            super().__init__()
            self.weight = weight

        def forward(self, x):
            return x @ self.weight

## Use instead
            self.register_buffer("weight", weight, persistent=False)

## Fix safety
Unsafe: code outside may assign another value to the attribute, or rely on where it is. `persistent=False` keeps the tensor out
of `state_dict`, so that old checkpoints still load.

## Known limits
Who makes the module may move it before it is given its tensors, or never: of ten repositories with 554,000 lines the rule tells two
attributes, both tensors that a caller hands to `__init__`. What is certain, or likely by what the class shows, is TDV006's. Attributes
that any method moves, wherever it uses them, are not reported, nor those that other code of the file sets; nor a tensor that `forward`
keeps where its input was (`if self.mask is None: self.mask = ...`), which is an idiom and fails only where the module is moved later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.placement_events import PlainAttribute
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.events import Event


class PlainTensorAttribute(Rule):
    """See the module's docstring."""

    code = "TDV109"
    name = "plain-tensor-attribute"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (PlainAttribute,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every such attribute is a finding."""
        assert isinstance(event, PlainAttribute)
        what, met = f"`self.{event.attribute}`", quoted(event.met, "a tensor")
        note = Note(event.meets, "they meet here")
        if event.mover:
            message = f"`{event.mover}` does not move {what}, which meets {met}"
            yield Finding(event.node, message, (Note(event.assigned, "it is kept here"), note))
            return
        message = f"{what} is not registered: it stays behind when the module is moved, and meets {met}"
        yield Finding(event.node, message, (note,), _fix(event))


def _fix(event: PlainAttribute) -> NodeFix | None:
    if event.value is None:
        return None
    registered = f'self.register_buffer("{event.attribute}", {event.value_text}, persistent=False)'
    edit = NodeEdit(event.assigned, "replace", registered)
    return NodeFix((edit,), Applicability.UNSAFE, f"Register `{event.attribute}` as a buffer")
