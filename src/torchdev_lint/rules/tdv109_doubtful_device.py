"""TDV109: a device is used in a way that is right for some of the devices that the code takes.

## What it does
x
## Why it fails
x
## Example
    x
## Use instead
    x
## Fix safety
x
## Known limits
x
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.placement_events import DoubtfulDevice
from torchdev_lint.rules.base import Finding, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.events import Event


class DoubtfulDeviceRule(Rule):
    """See the module's docstring."""

    code = "TDV109"
    name = "doubtful-device"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (DoubtfulDevice,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every doubtful use is a finding."""
        assert isinstance(event, DoubtfulDevice)
        yield Finding(event.node, f"{event.form}|{event.text}|{event.other}|{event.kinds}")
