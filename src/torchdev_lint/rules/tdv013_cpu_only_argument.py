"""TDV013: an argument that must be on the CPU is on an accelerator.

## What it does
Finds the `lengths` of `torch.nn.utils.rnn.pack_padded_sequence`, the indices of `tensor_split` and the states of random generators
(`torch.set_rng_state`) that are on an accelerator, and what is pinned there: `x.pin_memory()`, and the tensors of a `DataLoader` with
`pin_memory=True`.

## Why it fails
These are read on the host. `RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor`
(torch/nn/utils/rnn.py); `tensor_split expected tensor_indices_or_sections to be on cpu, but it's on cuda:0`; `TypeError: RNG
state must be a torch.ByteTensor` when a checkpoint was loaded to the accelerator with the states in it; `cannot pin
'torch.cuda.FloatTensor' only dense CPU tensors can be pinned`. (`ctc_loss` takes its lengths from either.)

## Example
    lengths = (tokens != padding).sum(1)
    packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)

## Use instead
    packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)

## Fix safety
Safe: on the CPU, `.cpu()` returns the tensor itself.

## Known limits
Lengths that a function is given may be on the CPU, and mostly are: they are only reported when a caller in the file brings them to
an accelerator, when they are computed from another tensor that the function is given, or when they are part of the batch of a
LightningModule's step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import HostArgument
from torchdev_lint.rules.base import Finding, NodeFix, Rule
from torchdev_lint.rules.edits import moved
from torchdev_lint.rules.stories import notes
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class CpuOnlyArgument(Rule):
    """See the module's docstring."""

    code = "TDV013"
    name = "cpu-only-argument"
    fix_applicability = Applicability.SAFE
    answers: ClassVar = (HostArgument,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every such argument on an accelerator is a finding."""
        assert isinstance(event, HostArgument)
        where = f"is on {event.device_name}" if event.certain else f"is where {event.device_name} is"
        short = quoted(event.text, "")
        what = f", but {short}" if short else ": this"
        message = f"`{event.function}` needs its `{event.parameter}` on the CPU{what} {where}"
        fix = None
        if event.value_node is not None:
            edits = moved(event.value_node, ".cpu()", parenthesize=event.needs_parentheses)
            fix = NodeFix(edits, Applicability.SAFE, "Bring it to the CPU with `.cpu()`")
        yield Finding(event.node, message, tuple(notes(event.device, "it", event.device_name)), fix)
