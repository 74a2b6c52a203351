"""The codes that are written down are those of the rules."""

from torchdev_lint.rules.codes import CODES, OFF_BY_DEFAULT
from torchdev_lint.rules.registry import all_rules


def test_codes_are_those_of_the_registry() -> None:
    assert tuple(rule.code for rule in all_rules()) == CODES
    assert {rule.code for rule in all_rules() if not rule.default} == OFF_BY_DEFAULT
