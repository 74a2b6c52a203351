"""TDV110: a module keeps tensors where `Module.to` does not look for them, and computes with them.

## What it does
Finds tensors that the `__init__` of an `nn.Module`, or a method that it calls, makes or is given and keeps as plain attributes (also in
lists, tuples and dicts), and modules in tuples and lists, where another method of the class
computes with them and brings them nowhere first. That they meet a tensor of an accelerator is not needed. Off by default: it is for
those who want all that a module owns to be registered.

## Why it fails
`Module.to` moves parameters, buffers and submodules. What was merely assigned stays where it was made, and
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!` follows where it meets what
moved. It is not in `state_dict` either.

## Example
    class Prior(nn.Module):
        def __init__(self, engine: Engine, length: int):
            super().__init__()
            self.engine = engine
            self.scale = torch.linspace(0.1, 1.0, length)

        def forward(self, batch):
            return self.engine.run(batch, self.scale)

## Use instead
    class Prior(nn.Module):
        def __init__(self, engine: Engine, length: int):
            super().__init__()
            self.engine = engine
            self.register_buffer("scale", torch.linspace(0.1, 1.0, length), persistent=False)

        def forward(self, batch):
            return self.engine.run(batch, self.scale)

## Fix safety
Unsafe: code outside may assign another value to the attribute, or rely on where it is. `persistent=False` keeps the tensor out of
`state_dict`, so that old checkpoints still load; modules that are registered get keys there. A `lambda` brings its tensors to its
argument, if it has one. Tensors in a container have no fix.

## Known limits
Nobody knows that it fails: whoever is given the tensor may bring it along, or nobody moves the module. What is a tensor, and what is a
module, is told by the text of the class. Nothing is said of what is made with `device=`, of what another method sets or `to` moves, of
what is only asked for its shape, is an index, or is told a device where it is used; nor in tests, data sets and transforms. In ten
libraries (997,000 lines) it tells 49 places, 0.5 in 10,000 lines. What is certain is TDV006's and
TDV007's; functions that hold tensors, and tables of which parts are added to what comes in, are TDV006's, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import PlainState
from torchdev_lint.rules.base import Finding, Rule
from torchdev_lint.rules.tdv006_unregistered_tensor import kept_plainly

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class PlainAttributeRule(Rule):
    """See the module's docstring."""

    code = "TDV110"
    name = "plain-attribute"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (PlainState,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every such attribute is a finding, at its assignment, unless it is TDV006's."""
        assert isinstance(event, PlainState)
        if not event.plain:
            yield kept_plainly(event)
