"""TDV003: the result of moving a tensor is thrown away.

## What it does
Finds `x.to(device)`, `x.cuda()` and `x.cpu()` of a tensor that stand as a statement of their own, and `x = x.to(device)` of what a loop
runs over when nothing of its turn reads `x` any more: `for x in batch.values(): x = x.to(device)`. So too `batch.to(device)` of an object
whose class, a part of the program, has a `to` that returns another one and leaves the object as it is.

## Why it fails
`Tensor.to` returns a copy on the device; the tensor itself stays where it is (only `Module.to` works in place). The next
operation that needs it on the device raises
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.

## Example
    ids.to(device)
    logits = model(ids)

## Use instead
    ids = ids.to(device)
    logits = model(ids)

## Fix safety
Unsafe: the tensor then really moves, and code that relied on it staying sees the difference.

## Known limits
Only what is certainly a tensor is reported: modules, tokenizer results (`BatchEncoding`), batches of unknown kind and objects of
unknown classes may well move in place. Nothing is said where nobody misses the copy: in a function that moves nothing else and makes all
that meets the tensor, and where all that is given it moves it first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import DiscardedTransfer
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Rule
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class DiscardedTransferRule(Rule):
    """See the module's docstring."""

    code = "TDV003"
    name = "discarded-transfer"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (DiscardedTransfer,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every discarded transfer of a tensor is a finding."""
        assert isinstance(event, DiscardedTransfer)
        text = event.receiver_text
        what = quoted(text, "the tensor")
        fix = None
        if event.together is not None:
            names = event.together.names
            edit = NodeEdit(event.together.node, "before", f"{names} = ")
            message = f"Assign the results to `{names}`"
            fix = NodeFix((edit,), Applicability.UNSAFE, message, cures_cause=True)
        elif event.assignable:
            edit = NodeEdit(event.node, "before", f"{text} = ")
            message = f"Assign the result to {quoted(text, 'it')}"
            fix = NodeFix((edit,), Applicability.UNSAFE, message, cures_cause=True)
        yield Finding(
            event.node, f"{what} stays where it is: the copy on {event.device} is thrown away", fix=fix
        )
