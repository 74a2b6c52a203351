"""`torchdev-lint rule`: prints the documentation of rules."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from torchdev_lint import __version__
from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError, did_you_mean
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.rules.base import Rule
from torchdev_lint.rules.registry import all_rules


def parser() -> argparse.ArgumentParser:
    """The arguments of `rule`."""
    made = Parser(
        prog="torchdev-lint rule", description="Print the documentation of a rule.", allow_abbrev=False
    )
    made.add_argument("rule", nargs="?", metavar="CODE", help="the code or the name of a rule")
    made.add_argument("--all", action="store_true", help="every rule")
    made.add_argument("--output-format", choices=("text", "json"), default="text")
    return made


def explain(arguments: Sequence[str]) -> int:
    """Print what `arguments` ask for; returns the exit code. Raises `ConfigError` for an unknown rule."""
    made = parser()
    given = made.parse_args(arguments)
    if bool(given.rule) == given.all:
        made.error("give either the code of a rule or --all")
    rules = all_rules() if given.all else (_find(given.rule),)
    if given.output_format == "json":
        facts = [_facts(rule) for rule in rules]
        print(json.dumps(facts if given.all else facts[0], indent=2))
    else:
        print("\n\n".join(_text(rule) for rule in rules))
    return 0


def _find(wanted: str) -> type[Rule]:
    rules = all_rules()
    for rule in rules:
        if wanted in (rule.code, rule.name) or wanted.upper() == rule.code:
            return rule
    known = [word for rule in rules for word in (rule.code, rule.name)]
    near = did_you_mean(wanted, known) or "; `torchdev-lint rule --all` prints all of them"
    raise ConfigError(f"unknown rule {wanted!r}{near}")


def _text(rule: type[Rule]) -> str:
    _, _, body = rule.documentation().partition("\n")
    head = [f"# {rule.name} ({rule.code})", sentence(rule.summary()), availability(rule)]
    return "\n\n".join([*head, body.strip("\n")])


def sentence(text: str) -> str:
    """`text` with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def availability(rule: type[Rule]) -> str:
    """What to expect of the rule's fix, and whether the rule has to be asked for."""
    match rule.fix_applicability:
        case Applicability.SAFE:
            fix = "A safe fix is sometimes available."
        case Applicability.UNSAFE:
            fix = "An unsafe fix is sometimes available."
        case Applicability.DISPLAY_ONLY:
            fix = "A fix is sometimes shown, but never applied."
        case None:
            fix = "There is no fix."
    return fix if rule.default else f"{fix} The rule is off unless it is selected."


def all_facts() -> list[dict[str, Any]]:
    """What `--all --output-format json` prints, as data."""
    return [_facts(rule) for rule in all_rules()]


def _facts(rule: type[Rule]) -> dict[str, Any]:
    """Ruff's keys, so that whatever reads `ruff rule --output-format json` can read this."""
    return {
        "name": rule.name,
        "code": rule.code,
        "linter": "torchdev-lint",
        "summary": rule.summary(),
        "message_formats": [rule.summary()],
        "fix": availability(rule),
        "fix_availability": "Sometimes" if rule.fix_applicability else "None",
        "explanation": rule.documentation(),
        "default": rule.default,
        "preview": False,
        "status": {"Stable": {"since": __version__}},
        "category": "correctness",
        "source_location": {"file": f"src/{rule.__module__.replace('.', '/')}.py", "line": 1},
    }
