"""The objects of `json`, one per line."""

from __future__ import annotations

import json
from collections.abc import Iterable

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.report.context import Context
from torchdev_lint.report.json import item


def render(diagnostics: Iterable[Diagnostic], context: Context) -> str:
    """A line for each diagnostic."""
    return "".join(
        json.dumps(item(one), sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
        for one in diagnostics
    )
