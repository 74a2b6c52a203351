"""GitLab's Code Quality report.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torchdev_lint.diagnostics import Diagnostic, Position
from torchdev_lint.report.context import Context, is_note
from torchdev_lint.report.fingerprints import fingerprints


def render(diagnostics: Sequence[Diagnostic], context: Context) -> str:
    """An array; paths are relative to the project of the CI job, else to the working directory."""
    project = os.environ.get("CI_PROJECT_DIR")
    context = replace(context, root=project) if project else context
    marks = fingerprints(diagnostics, context)
    shapes = [_shape(one, mark, context) for one, mark in zip(diagnostics, marks, strict=True)]
    return json.dumps(shapes, indent=2, ensure_ascii=False)


def _shape(one: Diagnostic, mark: str, context: Context) -> dict[str, Any]:
    where = context.in_file(one)
    return {
        "check_name": one.code,
        "description": f"{one.code}: {one.message}",
        "severity": "info" if is_note(one) else "major",
        "fingerprint": mark,
        "location": {
            "path": context.relative(one.path) or os.path.abspath(one.path),
            "positions": {"begin": _position(where.start), "end": _position(where.end)},
        },
    }


def _position(position: Position) -> dict[str, int]:
    return {"line": position.row, "column": position.column}
