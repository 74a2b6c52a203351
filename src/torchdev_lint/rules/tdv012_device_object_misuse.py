"""TDV012: a device is taken for what it is not.

## What it does
Finds a `torch.device` that is compared with a string (`x.device == "cpu"`, `device in ("cpu", "cuda")`) or treated as one (`"cuda" in
device`, `device.startswith("cuda")`), truth tests of a device's index (`if device:`, `device or -1`), calls of the attributes `is_cuda`
and `device`, device names that PyTorch does not know (`"gpu"`, `"CUDA"`), `get_device()` given as a device, and
`torch.cuda.device(...)`, a context manager, given as one, `x.cuda` without a call where a tensor is wanted, and a function for
`map_location` that gives the name of a device; `torch.cuda(0)`, a module that is called; `.to(device)` of a list or a tuple of tensors;
and `device=` for a legacy constructor, which makes tensors of the CPU only. Also what a device is lost by: a name that is bound on one
way only and used on all, an `or` that binds closer than the `if` behind it (`device or "cuda" if available else "cpu"`), and one that
takes the first device for none (`device.index or -1`).

## Why it fails
A `torch.device` never equals a string: `torch.device("cpu") == "cpu"` is False (and `!=` is True) on every device, so that the branch
that moves the data is never, or always, taken. Index 0, the first GPU, counts as false. The others raise where they stand: `TypeError:
argument of type 'torch.device' is not iterable`, `TypeError: 'bool' object is not callable`, `RuntimeError: Expected one of cpu, cuda,
... device type at start of device string: gpu`, `TypeError: zeros(): argument 'device' must be torch.device, not device`, and, as
`get_device()` of a CPU tensor is -1, `RuntimeError: Device index must not be negative`; `AttributeError: 'list' object has no attribute
'to'`; `RuntimeError: legacy constructor expects device type: cpu but device type: cuda was passed` (torch/csrc/utils/tensor_new.cpp). A
function for `map_location` has to give a storage (`torch/serialization.py`).

## Example
    if model.device == "cpu":
        model.to("cuda")

## Use instead
    if model.device.type == "cpu":
        model.to("cuda")

## Fix safety
Unsafe: the branch is then taken as it reads. `.type` is compared where the string names a type, `str(device)` where it has an index;
an index is compared with None (or with 0, where -1 stands for none).

## Known limits
Only what is a `torch.device` for certain is reported: the `.device` of a tensor or of a library's model, the result of
`torch.device(...)`, a parameter annotated so. A value that may be a string is not, nor a comparison joined with another (`or`, `and`)
that reads the same value differently. An index must be known to be an integer (an annotation, a default of -1, `type=int` of an
option) and be used as an index in the same function; where the default is 0, 0 may well mean "no device".
`get_device()` of a tensor that may be anywhere is reported only in files that ask for an accelerator (`is_available()`), name the CPU,
or put things on devices of any kind (`.to(self.device)`). A name is taken for bound where a test asks again what it was bound under, or
what was bound along with it.
A list is one for certain, of tensors, and nothing asks what it is (`isinstance`, `hasattr`); of dicts nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import DeviceMisuse
from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Rule
from torchdev_lint.rules.doubts import doubts
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class DeviceObjectMisuse(Rule):
    """See the module's docstring."""

    code = "TDV012"
    name = "device-object-misuse"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (DeviceMisuse, DoubtfulDevice)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every misuse is a finding."""
        if isinstance(event, DoubtfulDevice):
            yield from doubts(self.code, event)
            return
        assert isinstance(event, DeviceMisuse)
        fix = None
        if event.replacement is not None:
            edit = NodeEdit(event.replaced, "replace", event.replacement)
            fix = NodeFix(
                (edit,),
                Applicability.UNSAFE,
                f"Write {quoted(event.replacement, 'what is meant')}",
                cures_cause=True,
            )
        yield Finding(event.node, _message(event), fix=fix)


def _message(event: DeviceMisuse) -> str:
    text = quoted(event.text, "the device")
    match event.form:
        case "comparison":
            outcome = "always differs from" if event.always else "never equals"
            what = f"the string `{event.other}`" if _is_string_literal(event.other) else "a string"
            return f"{text} is a torch.device: it {outcome} {what}"
        case "text":
            return f"{text} is a torch.device, not a string: this raises"
        case "truth":
            return f"{text} is a device's index: 0, the first device, counts as false"
        case "call":
            return f"{text} is an attribute, not a method: calling it raises"
        case "name":
            outcome = (
                f"{quoted(event.other, 'the device')} is never called that" if event.other else "this raises"
            )
            return f'"{event.text}" is no device type of PyTorch\'s: {outcome}'
        case "context":
            return f"{text} is a context manager (torch.cuda.device), no torch.device: this raises"
        case "container":
            return f"{text} is a {event.other}: it cannot be moved, only what it holds"
        case "module":
            return f"{text} is a module, no function: calling it raises"
        case "legacy":
            device = quoted(event.other, "the device")
            told = f"with {device} it raises"
            if not _is_string_literal(event.other):
                told = f"it raises where {device} is another device"
            return f"{text} makes CPU tensors only: {told}"
        case _:
            return f"{text} is -1 where {quoted(event.other, 'the tensor')} is on the CPU: this raises"


def _is_string_literal(text: str) -> bool:
    return text[:1] in ("'", '"')
