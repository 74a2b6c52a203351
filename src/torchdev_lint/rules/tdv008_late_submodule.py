"""TDV008: a module is attached to one that was moved before.

## What it does
Finds submodules that are assigned to a module after its `.to(device)` or `.cuda()`, when the module is then called.

## Why it fails
`Module.to` moves what is there at that moment. What is attached later stays where it was made:
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.

## Example
    model = resnet18().to(device)
    model.fc = nn.Linear(512, 10)
    model(images.to(device))

## Use instead
    model.fc = nn.Linear(512, 10).to(device)

## Fix safety
Safe when a name in scope certainly holds the module's device: `.to(device)` is added to the new part. Unsafe where a function of
another file attaches it: the module is moved once more, behind the call, if it was moved in the same block.

## Known limits
Of a part that a function of another file attaches to the module which it is given, the call is reported: that call, or the move,
belongs elsewhere. A later `.to(device)` of the whole module mends it and silences the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import LateSubmodule
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule
from torchdev_lint.rules.edits import moved
from torchdev_lint.rules.stories import notes

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class LateSubmoduleRule(Rule):
    """See the module's docstring."""

    code = "TDV008"
    name = "late-submodule"
    fix_applicability = Applicability.SAFE
    answers: ClassVar = (LateSubmodule,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every part that stayed behind when the module is called is a finding, where it is attached."""
        assert isinstance(event, LateSubmodule)
        part = f"`{event.attribute}`" if event.attribute else "a part"
        attached = (
            f"`{event.by}` attaches a part to a module that was moved before"
            if event.by
            else f"{part} is attached after the module was moved"
        )
        message = f"{attached}: it stays on {event.device}, the module is on {event.module_device}"
        shown = (*notes(event.module, "the module", event.module_device), Note(event.meets, "called here"))
        fix = None
        if event.value is not None and event.target is not None:
            edits = moved(event.value, f".to({event.target})", parenthesize=event.needs_parentheses)
            fix = NodeFix(edits, Applicability.SAFE, f"Move it with `.to({event.target})`")
        elif event.again is not None:
            edit = NodeEdit(event.again, "after", f"\n{event.indentation}{event.move}")
            fix = NodeFix((edit,), Applicability.UNSAFE, f"Move the module again, with `{event.move}`")
        yield Finding(event.node, message, shown, fix)
