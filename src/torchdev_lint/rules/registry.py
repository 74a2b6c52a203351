"""All rules, by code."""

from __future__ import annotations

from functools import cache

from torchdev_lint.rules.base import Rule
from torchdev_lint.rules.tdv001_model_input_on_other_device import ModelInputOnOtherDevice
from torchdev_lint.rules.tdv002_hardcoded_device_index import HardcodedDeviceIndex
from torchdev_lint.rules.tdv003_discarded_transfer import DiscardedTransferRule
from torchdev_lint.rules.tdv004_mixed_device_operation import MixedDeviceOperation
from torchdev_lint.rules.tdv005_factory_without_device import FactoryWithoutDevice


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """The rules, sorted by code."""
    rules: list[type[Rule]] = [
        ModelInputOnOtherDevice,
        HardcodedDeviceIndex,
        DiscardedTransferRule,
        MixedDeviceOperation,
        FactoryWithoutDevice,
    ]
    return tuple(sorted(rules, key=lambda rule: rule.code))


def rule_by_code(code: str) -> type[Rule] | None:
    """The rule with this code; None when there is none."""
    return next((rule for rule in all_rules() if rule.code == code), None)
