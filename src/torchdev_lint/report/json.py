"""Ruff's JSON, key for key, so that whatever reads Ruff's output can read this."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from torchdev_lint.config import SYNTAX_ERROR
from torchdev_lint.diagnostics import Diagnostic, Edit, Fix, Position


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """An array with sorted keys, indented by two, without a newline at its end."""
    return json.dumps([_item(one) for one in diagnostics], indent=2, sort_keys=True, ensure_ascii=False)


def _item(one: Diagnostic) -> dict[str, Any]:
    return {
        "cell": one.cell,
        "code": one.code,
        "end_location": _location(one.range.end),
        "filename": os.path.abspath(one.path),
        "fix": _fix(one.fix) if one.fix is not None else None,
        "location": _location(one.range.start),
        "message": one.message,
        "name": one.name,
        "noqa_row": None if one.code == SYNTAX_ERROR else one.noqa_row or one.range.start.row,
        "severity": "error",
        "url": None,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "edits": [_edit(edit) for edit in fix.edits],
        "message": fix.message,
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "content": edit.content,
        "end_location": _location(edit.range.end),
        "location": _location(edit.range.start),
    }


def _location(position: Position) -> dict[str, int]:
    return {"column": position.column, "row": position.row}
