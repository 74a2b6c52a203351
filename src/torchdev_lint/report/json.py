"""Ruff's JSON, key for key, so that whatever reads Ruff's output can read this."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchdev_lint.config import SYNTAX_ERROR
from torchdev_lint.diagnostics import TOOL, Diagnostic, Edit, Fix, Position

if TYPE_CHECKING:
    from torchdev_lint.report.context import Context


def render(diagnostics: Iterable[Diagnostic], context: Context | None = None) -> str:
    """An array with sorted keys, indented by two, without a newline at its end."""
    return json.dumps([item(one) for one in diagnostics], indent=2, sort_keys=True, ensure_ascii=False)


def item(one: Diagnostic) -> dict[str, Any]:
    """The object of one diagnostic."""
    return {
        "cell": one.cell,
        "code": one.code,
        "end_location": _location(one.range.end),
        "filename": os.path.abspath(one.path),
        "fix": _fix(one.fix, one.cell) if one.fix is not None else None,
        "location": _location(one.range.start),
        "message": one.message,
        "name": one.name,
        "noqa_row": _noqa_row(one),
        "severity": "error",
        "url": one.url,
    }


def _noqa_row(one: Diagnostic) -> int | None:
    if one.tool != TOOL:
        return one.noqa_row
    return None if one.code == SYNTAX_ERROR else one.noqa_row or one.range.start.row


def _fix(fix: Fix, cell: int | None) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "edits": [_edit(edit, cell) for edit in fix.edits],
        "message": fix.message or None,
    }


def _edit(edit: Edit, cell: int | None) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "content": edit.content,
        "end_location": _location(edit.range.end),
        "location": _location(edit.range.start),
    }
    # Ruff's fixes never leave the cell of their diagnostic, so it has no key for this.
    return shape if edit.cell == cell else {"cell": edit.cell, **shape}


def _location(position: Position) -> dict[str, int]:
    return {"column": position.column, "row": position.row}
