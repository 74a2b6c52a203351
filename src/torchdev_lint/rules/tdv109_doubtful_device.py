"""TDV109: a device is used in a way that is right for some of the devices that the code takes, and wrong for others.

## What it does
Finds, by what the text of a function shows:

* comparisons that miss devices: `device == "cuda"` of what may be `"cuda:0"` or a `torch.device`, `x.device == torch.device("cuda")` (a
  tensor's device has an index), two devices of which one may lack it where more hangs on it than a copy;
* devices for something else: `device_type=device` and `torch.autocast(device)`, `x.cuda(device)` and `torch.cuda.synchronize(device)` of
  what may be the CPU, `f"cuda:{device}"` of a device, `device.split(":")[1]`, `device.type` of what may be a string;
* less than a tensor's device: `torch.empty(n, dtype=x.dtype, device="cuda")` for an argument `x`, `.cuda(x.get_device())`,
  `y.type(x.type())`, what the machine has (`is_available()`) in a function that is given tensors, and what TDV016 tells, in a program
  that has nothing on a second GPU;
* devices that are missing: None where None raises, a parameter as it was given although a default was chosen for it under another name,
  `self.device` in `to(self, device)` before it is the new one.

What reads as a mistake whoever calls is told by rules that are on: TDV004 (indices that stay), TDV012 (names bound on one way only, what
an `or` passes over), TDV016 (the number of a device left out).

Off by default.

## Why it fails
Nothing happens with the devices that the author had. With others the branch that moves something is not taken, something goes to the
first GPU or stays on the CPU, and `RuntimeError: Expected all tensors to be on the same device` follows; or PyTorch raises at once:
`ValueError: Expected a cuda device, but got: cpu`, ``ValueError: Expected `device_type` of type `str` ``, `RuntimeError: Device index
must not be negative`, `ValueError: invalid type: 'torch.mps.FloatTensor'`; or Python does (`UnboundLocalError`, `AttributeError`).

## Example
    def encode(model, ids: torch.Tensor, device: str):
        model.to(device)
        if device == "cuda":
            ids = ids.to(device)
        return model(ids)

## Use instead
    def encode(model, ids: torch.Tensor, device: str):
        model.to(device)
        if torch.device(device).type == "cuda":
            ids = ids.to(device)
        return model(ids)

## Fix safety
Unsafe: a branch is then taken for more devices than before. Offered where it is certain that a device is asked.

## Known limits
Nobody knows that it fails: it needs a caller, or a machine, that is not in sight. In 74 repositories (1,008,000 lines without tests) it
told 41 places, 0.4 in 10,000 lines, some of which rules that are on by default tell, too: 21 raise on some machine or would be mended,
14 can be argued about, 6 were wrong (five of them are silent since). Eighteen of all are `y.type(x.type())`, which fails on MPS only.
Silent is what has only names of types (`.type`, choices of an option, constants), what the same function asks in another way, too
(`startswith`, `isinstance`), or refuses (`raise`), and files of tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import LostIndex
from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.rules.base import Finding, Rule
from torchdev_lint.rules.doubts import doubts
from torchdev_lint.rules.tdv016_lost_device_index import lost

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class DoubtfulDeviceRule(Rule):
    """See the module's docstring."""

    code = "TDV109"
    name = "doubtful-device"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (DoubtfulDevice, LostIndex)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every doubtful use that no other rule tells is a finding, and a lost index that TDV016 does not tell."""
        if isinstance(event, LostIndex):
            if event.alone:
                yield lost(event)
            return
        assert isinstance(event, DoubtfulDevice)
        yield from doubts(self.code, event)
