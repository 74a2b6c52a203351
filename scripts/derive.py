"""Writes what is derived: rules.md from the rules, the JSON Schema and docs/configuration.md from the options, docs/reference.md from the
parsers of the command line, docs/modules.md from the docstrings of the modules, the marked parts of README.md and docs/tutorial.md from the
tool itself, and what is said of the fixtures (tests/unit/rules/said).

    python scripts/derive.py            write
    python scripts/derive.py --check    only say what is out of date

A derived part of README.md stands between `<!-- derived: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from configuration_document import CONFIGURATION, SCHEMA, configuration, schema_text
from fixture_files import ROOT
from modules_document import MODULES, modules_document
from reference_document import REFERENCE, reference
from said_document import said_documents
from tutorial_document import TUTORIAL, tutorial

from torchdev_lint.cli import main as torchdev_lint
from torchdev_lint.cli_rule import availability, sentence
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.rules.base import HEADINGS, Rule
from torchdev_lint.rules.registry import all_rules

RULES = ROOT / "rules.md"
README = ROOT / "README.md"
EXAMPLE = "examples/generate_text.py"

_PART = re.compile(r"(?<=<!-- derived: )(?P<name>\w+)( -->\n)(?:.*?\n)??(<!-- end -->)", re.DOTALL)

_FIXES: Mapping[Applicability | None, str] = {
    Applicability.SAFE: "safe",
    Applicability.UNSAFE: "unsafe",
    Applicability.DISPLAY_ONLY: "shown only",
    None: "none",
}


def rules_document(rules: Sequence[type[Rule]] = ()) -> str:
    """The whole of rules.md."""
    rules = rules or all_rules()
    parts = [
        "# Rules",
        "Written by `python scripts/derive.py` from the documentation in `src/torchdev_lint/rules`; "
        "`torchdev-lint rule CODE` prints the same.",
        rule_table("", rules),
        *(_rule(rule) for rule in rules),
    ]
    return "\n\n".join(parts) + "\n"


def rule_table(document: str, rules: Sequence[type[Rule]] = ()) -> str:
    """A row per rule; `document` is where the links lead, empty for the same file."""
    lines = ["| code | name | what it finds | fix | on |", "|---|---|---|---|---|"]
    for rule in rules or all_rules():
        link = f"{document}#{rule.code.lower()}-{rule.name}"
        fix, on = _FIXES[rule.fix_applicability], "yes" if rule.default else "when selected"
        lines.append(f"| [{rule.code}]({link}) | {rule.name} | {rule.summary()} | {fix} | {on} |")
    return "\n".join(lines)


def _rule(rule: type[Rule]) -> str:
    head = f"{sentence(rule.summary())} {availability(rule)}"
    sections = rule.sections()
    body = [f"### {heading}\n\n{_spaced(sections[heading])}" for heading in HEADINGS if heading in sections]
    return "\n\n".join([f"## {rule.code}: {rule.name}", head, *body])


def _spaced(section: str) -> str:
    """Markdown wants a blank line before indented code."""
    return re.sub(r"^(?! {4})(.+)\n(?= {4})", r"\1\n\n", section, flags=re.MULTILINE)


def tool_output(*arguments: str) -> str:
    """What the command line prints on standard output, in the root of the project, without colours."""
    out, before = io.StringIO(), Path.cwd()
    os.chdir(ROOT)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            torchdev_lint(["--isolated", "--color=never", *arguments])
    finally:
        os.chdir(before)
    return out.getvalue()


PARTS: Mapping[str, Callable[[], str]] = {
    "output": lambda: f"```console\n$ torchdev-lint {EXAMPLE}\n{tool_output(EXAMPLE)}```",
    "diff": lambda: f"```diff\n{tool_output('--diff', EXAMPLE)}```",
    "rules": lambda: rule_table("rules.md"),
}


def readme(text: str) -> str:
    """README.md with its derived parts as they are to be. Raises KeyError for a part that is not known."""
    return _PART.sub(lambda match: f"{match['name']}{match[2]}{PARTS[match['name']]()}\n{match[3]}", text)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 1 when something is out of date and --check is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(argv)
    wanted = {
        RULES: rules_document(),
        README: readme(README.read_text(encoding="utf-8")),
        CONFIGURATION: configuration(CONFIGURATION.read_text(encoding="utf-8")),
        SCHEMA: schema_text(),
        TUTORIAL: tutorial(TUTORIAL.read_text(encoding="utf-8"), tool_output),
        REFERENCE: reference(),
        MODULES: modules_document(),
        **said_documents(),
    }
    old = [
        path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in old:
        print(f"{path.name} is out of date" if options.check else f"{path.name} is written anew")
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    return 1 if old and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
