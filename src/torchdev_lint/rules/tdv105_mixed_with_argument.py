"""TDV105: an operation mixes a CPU tensor with one that is where a caller put it.

## What it does
Finds the operations of TDV004 one of whose operands goes with an argument of the function, or with the module that has the method
(where the other one was not made for it), when nothing in sight puts that on an accelerator; and what a function makes on the CPU for
an argument (of its size, filled with what is computed from it, or in the place of what another way returns) and returns. Off by
default: it is advice for libraries, whose callers are not known.

## Why it fails
For a caller whose tensors are on an accelerator the function raises
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.
For CPU tensors it works, so that tests without an accelerator pass.

## Example
    weights = torch.linspace(0, 1, 8)

    def weighted(scores: torch.Tensor) -> torch.Tensor:
        return scores * weights

## Use instead
    def weighted(scores: torch.Tensor) -> torch.Tensor:
        return scores * weights.to(scores.device)

## Fix safety
Safe when the device is held by a name or by the other operand: `.to(...)` of the operand that is on the CPU.

## Known limits
As for TDV004. What a function makes for the operation, without `device=`, is TDV005's, which is on, and so is what it returns if a
caller in sight computes with it and its argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import MixedOperation, ReturnedFactory
from torchdev_lint.rules.base import Finding, Rule
from torchdev_lint.rules.tdv004_mixed_device_operation import is_expected, mixed
from torchdev_lint.rules.tdv005_factory_without_device import returned

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class MixedWithArgument(Rule):
    """See the module's docstring."""

    code = "TDV105"
    name = "mixed-with-argument"
    fix_applicability = Applicability.SAFE
    default = False
    answers: ClassVar = (MixedOperation, ReturnedFactory)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Differences from what is only where somebody else may have put it."""
        if isinstance(event, ReturnedFactory):
            if event.beside and not event.met:
                yield returned(event)
            return
        assert isinstance(event, MixedOperation)
        if event.made is None and not is_expected(event):
            yield mixed(event)
