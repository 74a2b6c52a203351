"""`torchdev-lint rule`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from torchdev_lint.rules.base import HEADINGS
from torchdev_lint.rules.registry import all_rules

Cli = Callable[..., Any]


@pytest.mark.parametrize("word", ["TDV001", "tdv001", "model-input-on-other-device"])
def test_prints_a_rule_s_documentation(cli: Cli, word: str) -> None:
    outcome = cli("rule", word)
    assert outcome.code == 0
    assert outcome.out.startswith("# model-input-on-other-device (TDV001)\n\n")
    assert [line[3:] for line in outcome.out.splitlines() if line.startswith("## ")] == list(HEADINGS)


def test_examples_keep_their_indentation(cli: Cli) -> None:
    for rule in all_rules():
        out = cli("rule", rule.code).out
        for line in rule.documentation().splitlines()[1:]:
            assert line in out.splitlines()


def test_prints_every_rule(cli: Cli) -> None:
    out = cli("rule", "--all").out
    assert all(f"# {rule.name} ({rule.code})" in out for rule in all_rules())


def test_json(cli: Cli) -> None:
    facts = json.loads(cli("rule", "TDV002", "--output-format", "json").out)
    assert (facts["code"], facts["name"], facts["default"]) == ("TDV002", "hardcoded-device-index", True)
    assert facts["fix_availability"] == "Sometimes"
    everything = json.loads(cli("rule", "--all", "--output-format=json").out)
    assert [entry["code"] for entry in everything] == [rule.code for rule in all_rules()]
