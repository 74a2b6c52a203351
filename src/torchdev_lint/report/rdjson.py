"""Reviewdog Diagnostic Format: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf.

Its columns count bytes of UTF-8, unlike those of every other format here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from torchdev_lint.diagnostics import Diagnostic, Position, Range
from torchdev_lint.report.context import TOOL, Context, is_note
from torchdev_lint.source.lines import LineIndex


def render(diagnostics: Iterable[Diagnostic], context: Context) -> str:
    """A `DiagnosticResult` with sorted keys; places are those of the file itself."""
    result = {
        "source": {"name": TOOL},
        "severity": "WARNING",
        "diagnostics": [_shape(one, context) for one in diagnostics],
    }
    return json.dumps(result, indent=2, sort_keys=True, ensure_ascii=False)


def _shape(one: Diagnostic, context: Context) -> dict[str, Any]:
    sources = context.sources
    lines = sources.file_lines(one.path)
    shape: dict[str, Any] = {
        "code": {"value": one.code} if one.url is None else {"value": one.code, "url": one.url},
        "location": _location(one.path, context.in_file(one), lines),
        "message": one.message,
    }
    if one.tool != TOOL:
        shape["source"] = {"name": one.tool}
    if is_note(one):
        shape["severity"] = "INFO"
    edits = sources.edits_in_file(one)
    if edits:
        shape["suggestions"] = [{"range": _range(edit.range, lines), "text": edit.content} for edit in edits]
    if one.related:
        shape["related_locations"] = [
            {
                "message": related.message,
                "location": _location(
                    path := related.path or one.path,
                    sources.in_file(path, related.cell, related.range),
                    sources.file_lines(path),
                ),
            }
            for related in one.related
        ]
    return shape


def _location(path: str, place: Range, lines: LineIndex | None) -> dict[str, Any]:
    return {"path": os.path.abspath(path), "range": _range(place, lines)}


def _range(place: Range, lines: LineIndex | None) -> dict[str, Any]:
    return {"start": _position(place.start, lines), "end": _position(place.end, lines)}


def _position(position: Position, lines: LineIndex | None) -> dict[str, int]:
    before = "" if lines is None else lines.line(position.row)[: position.column - 1]
    wider = len(before.encode("utf-8", "surrogatepass")) - len(before)
    return {"line": position.row, "column": position.column + wider}
