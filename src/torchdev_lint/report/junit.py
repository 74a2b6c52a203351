"""JUnit's XML, a suite for each file and a failed test for each finding."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.report.context import TOOL, Context, is_note
from torchdev_lint.report.excerpt import visible

PACKAGE = "org.torchdev-lint"

_PASSED = f"""\
    <testsuite name="{TOOL}" tests="1" skipped="0" errors="0" failures="0" package="{PACKAGE}">
        <testcase name="No errors found" classname="{TOOL}"/>
    </testsuite>
"""


def render(diagnostics: Sequence[Diagnostic], context: Context) -> str:
    """The document; without findings a single test that passed, since some readers fail on none."""
    diagnostics = [one for one in diagnostics if not is_note(one)]
    count = len(diagnostics)
    suites = "".join(
        _suite(path, list(group), context) for path, group in groupby(diagnostics, key=lambda one: one.path)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="{TOOL}" tests="{count or 1}" skipped="0" failures="{count}" errors="0">\n'
        f"{suites or _PASSED}"
        "</testsuites>\n"
    )


def _suite(path: str, found: list[Diagnostic], context: Context) -> str:
    counts = f'tests="{len(found)}" skipped="0" errors="0" failures="{len(found)}"'
    cases = "".join(_case(one, context) for one in found)
    return (
        f'    <testsuite name="{_text(os.path.abspath(path))}" {counts} package="{PACKAGE}">\n'
        f"{cases}"
        "    </testsuite>\n"
    )


def _case(one: Diagnostic, context: Context) -> str:
    start = context.in_file(one).start
    cell = f"cell {one.cell}, " if one.cell is not None else ""
    said = f"{cell}line {one.range.start.row}, col {one.range.start.column}, {one.message}"
    name = _text(os.path.splitext(os.path.abspath(one.path))[0])
    return (
        f'        <testcase name="org.{one.tool}.{one.code}" classname="{name}" line="{start.row}" column="{start.column}">\n'
        "            <properties>\n"
        '                <property name="severity" value="error"/>\n'
        "            </properties>\n"
        f'            <failure message="{_text(one.message)}">{_text(said)}</failure>\n'
        "        </testcase>\n"
    )


def _text(text: str) -> str:
    """`text` in XML, where control characters cannot even be written as references."""
    return escape(visible(text), {'"': "&quot;"})
