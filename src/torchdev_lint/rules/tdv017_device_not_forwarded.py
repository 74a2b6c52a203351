"""TDV017: a declared device reaches nothing.

## What it does
Finds a parameter `device` or `map_location` that its function never hands on, although the function makes or loads tensors; a
function that hands its `map_location` to one load and not to another; a function that loads a checkpoint to its `device` and
returns the model that it built and filled without moving it (`load_state_dict` copies); and a class that stores its `device`
and never reads it, although it makes tensors or runs a model that it was given.

## Why it fails
The caller names a device and gets tensors on another: the next operation raises `RuntimeError: Expected all tensors to be on the same
device`; a loading function raises `RuntimeError: Attempting to deserialize object on a CUDA device` although it was told
where to load.

## Example
    def load_weights(path, map_location=None):
        return torch.load(path)

    def causal_mask(size, device):
        return torch.ones(size, size).tril()

## Use instead
    def load_weights(path, map_location=None):
        return torch.load(path, map_location=map_location)

    def causal_mask(size, device):
        return torch.ones(size, size, device=device).tril()

## Fix safety
Unsafe: callers that got along with the device that was not used may not with the one they ask for. Offered for the load, and for
the one call that makes a tensor, and for the model that is returned.

## Known limits
A parameter that is read for anything but its own default counts as handed on. Silent are functions whose parameters somebody else
decides (methods of derived classes, decorated functions, functions that are passed around), that place things by other
means (`.to`, `type_as`, `zeros_like`), and parameters that are documented as unused or deprecated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import DeviceNotForwarded
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class DeviceNotForwardedRule(Rule):
    """See the module's docstring."""

    code = "TDV017"
    name = "device-not-forwarded"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (DeviceNotForwarded,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every declared device that is lost is a finding, where the tensors are made or loaded."""
        assert isinstance(event, DeviceNotForwarded)
        declared = Note(event.parameter, f"`{event.name}` is declared here")
        yield Finding(event.node, _message(event), (declared,), _fix(event))


def _message(event: DeviceNotForwarded) -> str:
    if event.keyword == "to":
        return f"`{event.owner}` takes a `{event.name}` and returns `{event.function}` where it was built: only the checkpoint is there"
    if event.run is not None:
        return f"`{event.owner}` stores its `{event.stored}` and runs `{event.run.value}` wherever that is"
    if event.stored:
        return f"made without `device=`: `{event.owner}` stores its `{event.stored}` and never uses it"
    if event.keyword == "map_location":
        return f"`{event.owner}` does not hand its `{event.name}` on to `{event.function}`"
    return f"made without `device=`: `{event.owner}` takes a `{event.name}` and never uses it"


def _fix(event: DeviceNotForwarded) -> NodeFix | None:
    if not event.fixable:
        return None
    if event.run is not None:
        move = f".to({event.name})"
        return NodeFix((NodeEdit(event.run, "after", move),), Applicability.UNSAFE, f"Move it with `{move}`")
    value = f"self.{event.stored}" if event.stored else event.name
    edits = tuple(NodeEdit(call.args[-1], "after", f", {event.keyword}={value}") for call in event.calls)
    return NodeFix(edits, Applicability.UNSAFE, f"Hand it on with `{event.keyword}={value}`")
