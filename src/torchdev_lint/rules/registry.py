"""All rules, by code."""

from __future__ import annotations

from functools import cache

from torchdev_lint.rules.base import Rule
from torchdev_lint.rules.tdv001_model_input_on_other_device import ModelInputOnOtherDevice
from torchdev_lint.rules.tdv002_hardcoded_device_index import HardcodedDeviceIndex


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """The rules, sorted by code."""
    rules: list[type[Rule]] = [ModelInputOnOtherDevice, HardcodedDeviceIndex]
    return tuple(sorted(rules, key=lambda rule: rule.code))


def rule_by_code(code: str) -> type[Rule] | None:
    """The rule with this code; None when there is none."""
    return next((rule for rule in all_rules() if rule.code == code), None)
