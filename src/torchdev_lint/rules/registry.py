"""All rules, by code."""

from __future__ import annotations

from functools import cache

from torchdev_lint.rules.base import Rule
from torchdev_lint.rules.tdv001_model_input_on_other_device import ModelInputOnOtherDevice
from torchdev_lint.rules.tdv002_hardcoded_device_index import HardcodedDeviceIndex
from torchdev_lint.rules.tdv003_discarded_transfer import DiscardedTransferRule
from torchdev_lint.rules.tdv004_mixed_device_operation import MixedDeviceOperation
from torchdev_lint.rules.tdv005_factory_without_device import FactoryWithoutDevice
from torchdev_lint.rules.tdv006_unregistered_tensor import UnregisteredTensorRule
from torchdev_lint.rules.tdv007_unregistered_submodule import UnregisteredSubmoduleRule
from torchdev_lint.rules.tdv008_late_submodule import LateSubmoduleRule
from torchdev_lint.rules.tdv009_load_without_map_location import LoadWithoutMapLocation
from torchdev_lint.rules.tdv010_host_read import HostReadRule
from torchdev_lint.rules.tdv011_generator_on_other_device import GeneratorOnOtherDevice
from torchdev_lint.rules.tdv012_device_object_misuse import DeviceObjectMisuse
from torchdev_lint.rules.tdv013_cpu_only_argument import CpuOnlyArgument
from torchdev_lint.rules.tdv014_optimizer_state_before_move import OptimizerStateBeforeMove
from torchdev_lint.rules.tdv015_device_index_out_of_range import DeviceIndexOutOfRange
from torchdev_lint.rules.tdv016_lost_device_index import LostDeviceIndex
from torchdev_lint.rules.tdv017_device_not_forwarded import DeviceNotForwardedRule
from torchdev_lint.rules.tdv018_device_choice_bypassed import DeviceChoiceBypassed
from torchdev_lint.rules.tdv019_unstated_generator import UnstatedGeneratorRule
from torchdev_lint.rules.tdv020_device_not_passed import DeviceNotPassedRule
from torchdev_lint.rules.tdv021_unmoved_module import UnmovedModuleRule
from torchdev_lint.rules.tdv101_unguarded_cuda import UnguardedCuda
from torchdev_lint.rules.tdv102_indexless_cuda import IndexlessCuda
from torchdev_lint.rules.tdv103_argument_read_on_host import ArgumentReadOnHost
from torchdev_lint.rules.tdv104_ambient_device import AmbientDeviceRule
from torchdev_lint.rules.tdv105_mixed_with_argument import MixedWithArgument
from torchdev_lint.rules.tdv106_unstated_device import UnstatedDeviceRule
from torchdev_lint.rules.tdv107_unmapped_load import UnmappedLoad
from torchdev_lint.rules.tdv108_unproven_host_read import UnprovenHostRead
from torchdev_lint.rules.tdv109_doubtful_device import DoubtfulDeviceRule
from torchdev_lint.rules.tdv110_plain_attribute import PlainAttributeRule


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """The rules, sorted by code."""
    rules: list[type[Rule]] = [
        ModelInputOnOtherDevice,
        HardcodedDeviceIndex,
        DiscardedTransferRule,
        MixedDeviceOperation,
        FactoryWithoutDevice,
        UnregisteredTensorRule,
        UnregisteredSubmoduleRule,
        LateSubmoduleRule,
        LoadWithoutMapLocation,
        HostReadRule,
        GeneratorOnOtherDevice,
        DeviceObjectMisuse,
        CpuOnlyArgument,
        OptimizerStateBeforeMove,
        DeviceIndexOutOfRange,
        LostDeviceIndex,
        DeviceNotForwardedRule,
        DeviceChoiceBypassed,
        UnguardedCuda,
        IndexlessCuda,
        ArgumentReadOnHost,
        AmbientDeviceRule,
        MixedWithArgument,
        UnstatedDeviceRule,
        UnmappedLoad,
        UnprovenHostRead,
        DoubtfulDeviceRule,
        PlainAttributeRule,
        UnstatedGeneratorRule,
        DeviceNotPassedRule,
        UnmovedModuleRule,
    ]
    return tuple(sorted(rules, key=lambda rule: rule.code))


def rule_by_code(code: str) -> type[Rule] | None:
    """The rule with this code; None when there is none."""
    return next((rule for rule in all_rules() if rule.code == code), None)
