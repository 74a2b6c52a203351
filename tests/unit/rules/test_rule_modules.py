"""What holds for every rule: its documentation, its class data, where it lives."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.base import HEADINGS, Rule
from torchdev_lint.rules.registry import all_rules, rule_by_code

RULES = all_rules()
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def test_codes_and_names_are_unique_and_sorted() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)


@every_rule
def test_a_rule_is_found_by_its_code(rule: type[Rule]) -> None:
    assert rule_by_code(rule.code) is rule
    assert rule_by_code(rule.name) is None


@every_rule
def test_class_data(rule: type[Rule]) -> None:
    assert re.fullmatch(r"TDV\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert rule.answers
    assert set(rule.witness) <= {"cpu", "simulated", "cuda"}
    assert rule.witness
    assert rule.fix_applicability is None or isinstance(rule.fix_applicability, Applicability)


@every_rule
def test_the_module_is_named_after_the_rule(rule: type[Rule]) -> None:
    file = Path(sys.modules[rule.__module__].__file__ or "").stem
    assert file == f"{rule.code.lower()}_{rule.name.replace('-', '_')}"


@every_rule
def test_documentation(rule: type[Rule]) -> None:
    assert rule.documentation().startswith(f"{rule.code}: ")
    assert tuple(rule.sections()) == HEADINGS
    assert all(rule.sections().values())
    assert rule.summary()[0].islower()
    assert f"{rule.code}: {rule.summary()}." == rule.documentation().splitlines()[0]


@every_rule
def test_documentation_is_there_where_docstrings_were_left_out(
    rule: type[Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = rule.documentation()
    monkeypatch.setattr(sys.modules[rule.__module__], "__doc__", None)  # as `python -OO` does
    assert rule.documentation() == written


def _code(section: str) -> str:
    lines = [line for line in section.splitlines() if line.startswith("    ") or not line]
    return textwrap.dedent("\n".join(lines))


@every_rule
def test_the_examples_are_python(rule: type[Rule]) -> None:
    for heading in ("Example", "Use instead"):
        ast.parse(_code(rule.sections()[heading]))


SELF_CONTAINED = {"TDV001", "TDV002", "TDV005"}
"""Rules whose examples need nothing but the imports of torch and nn; the others' are fragments."""


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.code in SELF_CONTAINED], ids=lambda rule: rule.code
)
def test_the_example_is_found_and_what_to_use_instead_is_not(rule: type[Rule]) -> None:
    def codes(heading: str) -> set[str]:
        text = f"import torch\nfrom torch import nn\n{_code(rule.sections()[heading])}\n"
        return {found.code for found in check_source(text, "example.py", Config(select=(rule.code,)))}

    assert codes("Example") == {rule.code}
    assert codes("Use instead") == set()
