"""TDV105: an operation mixes a CPU tensor with one that is where a caller put it.

## What it does
Finds the operations of TDV004 one of whose operands goes with an argument of the function, or with the module that has the method, when
nothing in sight puts that on an accelerator. Off by default: it is advice for libraries, whose callers are not known.

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
As for TDV004. What a function makes for the operation, without `device=`, is TDV005's, which is on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.events import MixedOperation
from torchdev_lint.rules.base import Finding, Rule
from torchdev_lint.rules.tdv004_mixed_device_operation import mixed

if TYPE_CHECKING:
    from torchdev_lint.flow.events import Event


class MixedWithArgument(Rule):
    """See the module's docstring."""

    code = "TDV105"
    name = "mixed-with-argument"
    fix_applicability = Applicability.SAFE
    default = False
    answers: ClassVar = (MixedOperation,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Differences from what is only where somebody else may have put it."""
        assert isinstance(event, MixedOperation)
        if event.made is None and not event.certain:
            yield mixed(event)
