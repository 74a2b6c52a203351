"""TDV014: a module is moved after the state of its optimizer was made.

## What it does
Finds a module that is moved to another device after its optimizer made a step, or restored a state with `load_state_dict`, and
before it steps (again).

## Why it fails
`Module.to` moves the parameters in place, and the optimizer goes on with them; but what it keeps for each parameter (momentum, running
averages) stays where it was made. `load_state_dict` brings a state to where the parameters are at that moment
(torch/optim/optimizer.py, `_process_value_according_to_param_policy`). `optimizer.step()` then raises `RuntimeError: Expected all
tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`. `Adagrad` makes its state when it is built;
`SGD` without momentum has none.

## Example
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])
    model.to(device)

## Use instead
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])

## Fix safety
Unsafe: the module is moved before the state is restored, and everything in between finds it there. Offered when both stand in
one block and the device has a name there.

## Known limits
The optimizer must be built from `module.parameters()` in the file, and step where it can be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import StateBeforeMove
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class OptimizerStateBeforeMove(Rule):
    """See the module's docstring."""

    code = "TDV014"
    name = "optimizer-state-before-move"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (StateBeforeMove,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every move that leaves an optimizer's state behind is a finding, at the move."""
        assert isinstance(event, StateBeforeMove)
        message = (
            f"`{event.module}` is moved to {event.device_name}, but the state of `{event.optimizer}` was "
            f"{event.how} before and stays behind"
        )
        seen = (Note(event.state, f"the state was {event.how} here"), Note(event.step, "the step fails here"))
        fix = None
        if event.earlier is not None:
            edit = NodeEdit(event.earlier, "before", f"{event.move}\n{event.indentation}")
            fix = NodeFix((edit,), Applicability.UNSAFE, f"Move it before, with `{event.move}`")
        yield Finding(event.node, message, seen, fix)
