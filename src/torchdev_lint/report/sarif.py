"""SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html.

Where each device comes from is told twice: as related locations, and as a code flow that ends at the finding, which is what
viewers let one step through.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from torchdev_lint.diagnostics import Diagnostic, Edit, Fix, Range
from torchdev_lint.report.context import TOOL, Context, RuleText, Tool, file_uri, is_note
from torchdev_lint.report.excerpt import place
from torchdev_lint.report.fingerprints import fingerprints

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
BASE = "%SRCROOT%"
FINGERPRINT = "torchdevLint/v1"

_Shape = dict[str, Any]


def render(diagnostics: Sequence[Diagnostic], context: Context) -> str:
    """A log with a run for each tool; artifacts are relative to the root, places are those of the files themselves."""
    marks = dict(zip(map(id, diagnostics), fingerprints(diagnostics, context), strict=True))
    # A tool that found nothing has a run, too: a reader must see that it was there.
    runs = [
        _run(tool, [one for one in diagnostics if one.tool == tool], marks, context)
        for tool in (*context.tools, TOOL)
    ]
    return json.dumps(
        {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}, indent=2, sort_keys=True, ensure_ascii=False
    )


def _run(tool: str, diagnostics: Sequence[Diagnostic], marks: Mapping[int, str], context: Context) -> _Shape:
    rules = [
        context.rules[code] for code in sorted({one.code for one in diagnostics}) if code in context.rules
    ]
    indexes = {rule.code: number for number, rule in enumerate(rules)}
    driver: _Shape = {"name": tool, "rules": [_rule(rule) for rule in rules]}
    about = context.tools.get(tool, Tool(context.version))
    if about.version:
        driver["version"] = about.version
    if about.url:
        driver["informationUri"] = about.url
    return {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {BASE: {"uri": file_uri(context.root).rstrip("/") + "/"}},
        "results": [_result(one, marks[id(one)], indexes.get(one.code), context) for one in diagnostics],
    }


def _rule(rule: RuleText) -> _Shape:
    shape: _Shape = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": rule.summary, "markdown": rule.explanation},
        "defaultConfiguration": {"enabled": rule.enabled, "level": "error"},
        "properties": {
            "id": rule.code,
            "kind": rule.tool,
            "name": rule.name,
            "problem.severity": "error",
        },
    }
    return shape if rule.url is None else {**shape, "helpUri": rule.url}


def _result(one: Diagnostic, mark: str, index: int | None, context: Context) -> _Shape:
    shape: _Shape = {
        "ruleId": one.code,
        "level": "note" if is_note(one) else "error",
        "message": {"text": one.message},
        "locations": [_location(one.path, one.cell, one.range, context)],
        "partialFingerprints": {FINGERPRINT: mark},
    }
    if index is not None:
        shape["ruleIndex"] = index
    if one.related:
        origins = [
            {
                **_location(related.path or one.path, related.cell, related.range, context),
                "message": {"text": related.message},
            }
            for related in one.related
        ]
        here = {**_location(one.path, one.cell, one.range, context), "message": {"text": one.message}}
        shape["relatedLocations"] = [{"id": number, **at} for number, at in enumerate(origins, 1)]
        steps = [{"location": at, "importance": "important"} for at in origins]
        steps.append({"location": here, "importance": "essential"})
        shape["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if one.fix is not None:
        fix = _fix(one, one.fix, context)
        if fix is not None:
            shape["fixes"] = [fix]
    return shape


def _location(path: str, cell: int | None, where: Range, context: Context) -> _Shape:
    region = _region(context.sources.in_file(path, cell, where))
    physical: _Shape = {"artifactLocation": _artifact(path, context), "region": region}
    lines = context.sources.lines(path)
    if cell is None and lines is not None:
        rows = [lines.line(row) for row in range(where.start.row, where.end.row + 1)]
        physical["contextRegion"] = {
            "startLine": where.start.row,
            "endLine": where.end.row,
            "snippet": {"text": "\n".join(rows)},
        }
    shape: _Shape = {"physicalLocation": physical}
    if cell is not None:
        # The region is that of the JSON text; this is what a reader knows the place as.
        name = f"cell {cell}"
        shape["logicalLocations"] = [{"name": name, "fullyQualifiedName": place(path, cell, where)}]
    return shape


def _artifact(path: str, context: Context) -> _Shape:
    relative = context.relative(path)
    if relative is None:
        return {"uri": file_uri(path)}
    return {"uri": quote(os.fsencode(relative), safe="/"), "uriBaseId": BASE}


def _region(where: Range) -> dict[str, int]:
    return {
        "startLine": where.start.row,
        "startColumn": where.start.column,
        "endLine": where.end.row,
        "endColumn": where.end.column,
    }


def _fix(one: Diagnostic, fix: Fix, context: Context) -> _Shape | None:
    edits = context.sources.edits_in_file(one)
    if not edits:
        return None
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(one.path, context),
                "replacements": [_replacement(edit) for edit in edits],
            }
        ],
        "properties": {"applicability": fix.applicability.value},
    }


def _replacement(edit: Edit) -> _Shape:
    shape: _Shape = {"deletedRegion": _region(edit.range)}
    if edit.content:
        shape["insertedContent"] = {"text": edit.content}
    return shape
