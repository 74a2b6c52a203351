"""Logging commands of Azure Pipelines.

https://learn.microsoft.com/en-us/azure/devops/pipelines/scripts/logging-commands#logissue-log-an-error-or-warning
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.report.context import Context, is_note


def render(diagnostics: Iterable[Diagnostic], context: Context) -> str:
    """A command for each diagnostic."""
    return "".join(_command(one, context) + "\n" for one in diagnostics)


def _command(one: Diagnostic, context: Context) -> str:
    start = context.in_file(one).start
    facts = {
        "type": "warning" if is_note(one) else "error",
        "sourcepath": os.path.abspath(one.path),
        "linenumber": start.row,
        "columnnumber": start.column,
        "code": one.code,
    }
    listed = "".join(f"{key}={_property(str(value))};" for key, value in facts.items())
    return f"##vso[task.logissue {listed}]{_data(one.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace("]", "%5D").replace(";", "%3B")
