"""Workflow commands of GitHub Actions, which show as annotations.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#setting-an-error-message
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from torchdev_lint.diagnostics import Diagnostic, Related
from torchdev_lint.report.context import Context, is_note
from torchdev_lint.report.excerpt import place


def render(diagnostics: Iterable[Diagnostic], context: Context) -> str:
    """A command for each diagnostic, its origins and its fix as more lines of the message."""
    return "".join(_command(one, context) + "\n" for one in diagnostics)


def _command(one: Diagnostic, context: Context) -> str:
    where = context.in_file(one)
    start, end = where.start, where.end
    facts = {"title": f"{one.tool} ({one.code})", "file": os.path.abspath(one.path), "line": start.row}
    if start.row == end.row:
        facts |= {"col": start.column, "endLine": end.row, "endColumn": end.column}
    else:
        facts["endLine"] = end.row  # GitHub takes columns only within one line.
    lines = [f"{place(one.path, one.cell, one.range)}: {one.label} {one.message}"]
    lines += [f"  note: {related.message} ({_place(related, one)})" for related in one.related]
    if one.fix is not None:
        lines.append(f"  help: {one.fix.message}")
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in facts.items())
    return f"::{'notice' if is_note(one) else 'error'} {listed}::{_data(chr(10).join(lines))}"


def _place(related: Related, one: Diagnostic) -> str:
    return place(related.path or one.path, related.cell, related.range)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
