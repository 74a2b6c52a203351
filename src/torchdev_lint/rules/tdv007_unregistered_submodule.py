"""TDV007: modules in a plain list or dict do not move with the module that holds them.

## What it does
Finds modules that an `nn.Module` keeps in a plain list, tuple or dict and calls with inputs that move with it.

## Why it fails
`Module.to` (like `parameters()` and `state_dict()`) only sees what is registered. Modules in a plain container stay on the CPU:
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`. An
optimizer made from `parameters()` does not train them either.

## Example
    class Tower(nn.Module):
        def __init__(self, width, depth):
            super().__init__()
            self.layers = [nn.Linear(width, width) for _ in range(depth)]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

## Use instead
            self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

## Fix safety
Unsafe: the modules begin to move, and their parameters to be trained and saved. Written where the container is
a display, a comprehension, `list(...)` or `tuple(...)`, and `torch.nn` (or `torch`) is imported. One given module in a list or
tuple of its own, `(teacher,)`, is kept out of `parameters()` and `state_dict()` on purpose: it is moved along by an `_apply` of the class.

## Known limits
Containers that are filled elsewhere than in `__init__`, and modules that are moved one by one, are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import UnregisteredModule
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class UnregisteredSubmoduleRule(Rule):
    """See the module's docstring."""

    code = "TDV007"
    name = "unregistered-submodule"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (UnregisteredModule,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every plain container of modules that are called is a finding, at its assignment."""
        assert isinstance(event, UnregisteredModule)
        message = (
            f"the modules in `self.{event.attribute}` are not registered: they stay on the CPU, "
            f"but are called with an input on {event.met_device}"
        )
        yield Finding(event.node, message, (Note(event.meets, "called here"),), _fix(event))


def _fix(event: UnregisteredModule) -> NodeFix | None:
    if event.apply_before is not None:
        lines = (
            "def _apply(self, fn, recurse=True):",
            f"{event.indentation}super()._apply(fn, recurse)",
            f"{event.indentation}self.{event.attribute}[0]._apply(fn)",
            f"{event.indentation}return self",
        )
        text = "".join(f"{event.indentation}{line}\n" for line in lines)
        # the place of a method begins with the blank lines above it, that of a decorator below them
        text = f"{text}\n" if hasattr(event.apply_before, "decorator") else f"\n{text}"
        edit = NodeEdit(event.apply_before, "before", text)
        return NodeFix((edit,), Applicability.UNSAFE, "Move it along with an `_apply`")
    if event.value is None or event.nn is None:
        return None
    kind = f"{event.nn}.ModuleDict" if event.container == "dict" else f"{event.nn}.ModuleList"
    listing = getattr(event.value, "func", None)
    if listing is not None:  # `list(members)`
        return NodeFix((NodeEdit(listing, "replace", kind),), Applicability.UNSAFE, f"Keep them in `{kind}`")
    edits = (NodeEdit(event.value, "before", f"{kind}("), NodeEdit(event.value, "after", ")"))
    return NodeFix(edits, Applicability.UNSAFE, f"Keep them in `{kind}`")
