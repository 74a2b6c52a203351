"""Ruff's findings as ours: from its JSON, and from what it says it has fixed."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range
from torchdev_lint.report.context import RuleText, Tool
from torchdev_lint.shim.program import Ruff

TOOL = "ruff"
SYNTAX = "invalid-syntax"
"""Ruff's code for what does not parse."""
HOME = "https://docs.astral.sh/ruff"

_ARROW = re.compile(r" *--> ")
_FIXED = re.compile(r"^ +(?P<count>\d+) \N{MULTIPLICATION SIGN} (?P<code>\S+) \((?P<name>\S+)\)$")

Counts = dict[str, Counter[tuple[str, str]]]
"""By path, how often each (code, name) was fixed."""


def shown(path: str) -> str:
    """`path` as Ruff prints it: relative to the working directory where it is below, else absolute."""
    absolute = os.path.abspath(path)
    here = os.path.join(os.getcwd(), "")
    return absolute.removeprefix(here) if absolute.startswith(here) else absolute


def read(data: bytes, path: str | None = None) -> list[Diagnostic]:
    """The findings in Ruff's JSON; all are in `path` if that is given."""
    return [_diagnostic(item, path) for item in json.loads(data or b"[]")]


def _diagnostic(item: dict[str, Any], path: str | None) -> Diagnostic:
    cell = item["cell"]
    return Diagnostic(
        shown(item["filename"]) if path is None else path,
        item["code"] or SYNTAX,
        item.get("name") or item["code"] or SYNTAX,
        item["message"],
        _range(item),
        fix=_fix(item["fix"], cell),
        noqa_row=item["noqa_row"],
        cell=cell,
        tool=TOOL,
        url=item["url"],
    )


def _fix(fix: dict[str, Any] | None, cell: int | None) -> Fix | None:
    if fix is None:
        return None
    edits = tuple(Edit(_range(edit), edit["content"], cell) for edit in fix["edits"])
    return Fix(edits, Applicability(fix["applicability"]), fix["message"] or "")


def _range(item: dict[str, Any]) -> Range:
    return Range(_position(item["location"]), _position(item["end_location"]))


def _position(place: dict[str, int]) -> Position:
    return Position(place["row"], place["column"])


def drawn(found: list[Diagnostic], plain: str, shown_as: str) -> list[Diagnostic]:
    """The findings with their drawings, from Ruff's `full` report of the same run: `plain`, and as it is to be shown.

    The places are found in the plain one. Where the two do not fit, the findings come back as they are.
    """
    lines, styled = plain.splitlines(keepends=True), shown_as.splitlines(keepends=True)
    starts: list[int] = []
    for number, (line, following) in enumerate(pairwise(lines)):
        if (
            len(starts) < len(found)
            and line.startswith(f"{found[len(starts)].label} ")
            and _ARROW.match(following)
        ):
            starts.append(number)
    if len(starts) != len(found) or len(lines) != len(styled):
        return found
    ends = [*starts[1:], len(lines)]
    texts = ("".join(styled[start:end]).rstrip() + "\n" for start, end in zip(starts, ends, strict=True))
    return [replace(one, drawing=text) for one, text in zip(found, texts, strict=True)]


def fixed(text: str) -> Counter[tuple[str, str]]:
    """What `--show-fixes` lists, whatever the file."""
    return sum(fixed_by_path(text).values(), Counter())


def fixed_by_path(text: str) -> Counts:
    """What `--show-fixes` lists."""
    counts: Counts = {}
    path = ""
    for line in text.splitlines():
        match = _FIXED.match(line)
        if match is not None:
            counter = counts.setdefault(shown(path), Counter())
            counter[match["code"], match["name"]] += int(match["count"])
        elif line.startswith("- ") and line.endswith(":"):
            path = line[2:-1]
    return counts


def rule_texts(ruff: Ruff, form: str, codes: set[str]) -> tuple[dict[str, RuleText], dict[str, Tool]]:
    """What Ruff says of the rules `codes` and of itself, for the formats that repeat it."""
    if form not in ("sarif", "html"):
        return {}, {}
    version = ruff.run(["version"]).out.decode().split()
    tools = {TOOL: Tool(version[1] if len(version) > 1 else "", HOME)}
    if not codes:
        return {}, tools
    rules = json.loads(ruff.run(["rule", "--all", "--output-format=json"]).out)
    return {
        rule["code"]: RuleText(
            rule["code"],
            rule["name"],
            rule["summary"],
            rule["explanation"] or rule["summary"],
            True,
            TOOL,
            f"{HOME}/rules/{rule['name']}",
        )
        for rule in rules
        if rule["code"] in codes
    }, tools
