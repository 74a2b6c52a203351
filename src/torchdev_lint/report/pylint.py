"""`path:row: [CODE] message`, as pylint's `parseable` format."""

from __future__ import annotations

from collections.abc import Iterable

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.report.context import Context
from torchdev_lint.report.excerpt import visible


def render(diagnostics: Iterable[Diagnostic], context: Context) -> str:
    """A line for each diagnostic; rows are those of the file itself."""
    return "".join(
        f"{visible(one.path)}:{context.in_file(one).start.row}: [{one.code}] {visible(one.message)}\n"
        for one in diagnostics
    )
