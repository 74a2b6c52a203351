"""How often each rule was broken, the most frequent first."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from torchdev_lint.diagnostics import Applicability, Diagnostic


def render(diagnostics: Iterable[Diagnostic], fixable: Collection[Applicability]) -> str:
    """A line per rule: count, code, whether `--fix` cures all `[*]`, some `[-]` or none `[ ]`, name."""
    rows = _rows(diagnostics, fixable)
    if not rows:
        return ""
    width = max(len(str(row["count"])) for row in rows)
    marked = any(row["fixable_count"] for row in rows)
    lines = []
    for row in rows:
        mark = "[*]" if row["fixable"] else "[-]" if row["fixable_count"] else "[ ]"
        lines.append(f"{row['count']:>{width}}\t{row['code']}\t{mark + ' ' if marked else ''}{row['name']}\n")
    return "".join(lines)


def render_json(diagnostics: Iterable[Diagnostic], fixable: Collection[Applicability]) -> str:
    """The same as an array of objects, keys as Ruff has them."""
    return json.dumps(_rows(diagnostics, fixable), indent=2)


def _rows(diagnostics: Iterable[Diagnostic], fixable: Collection[Applicability]) -> list[dict[str, Any]]:
    by_rule: dict[tuple[str, str], list[Diagnostic]] = defaultdict(list)
    for one in diagnostics:
        by_rule[one.code, one.name].append(one)
    rows = []
    for (code, name), found in sorted(by_rule.items(), key=lambda item: (-len(item[1]), item[0])):
        count = sum(one.fix is not None and one.fix.applicability in fixable for one in found)
        rows.append(
            {
                "code": code,
                "name": name,
                "count": len(found),
                "fixable": count == len(found),
                "fixable_count": count,
            }
        )
    return rows
