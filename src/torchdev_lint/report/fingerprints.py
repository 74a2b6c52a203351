"""What identifies a finding across versions of a file: not the row, which changes with every line above it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.report.context import Context


def fingerprints(diagnostics: Iterable[Diagnostic], context: Context) -> list[str]:
    """A hash for each diagnostic: of its rule, its file and the text of its first row, and which of these it is."""
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for one in diagnostics:
        if one.fingerprint is not None:
            found.append(one.fingerprint)
            continue
        lines = context.sources.lines(one.path, one.cell)
        row = "" if lines is None else " ".join(lines.line(one.range.start.row).split())
        path = context.relative(one.path) or one.path
        key = (one.code, path, row or one.message)
        digest = hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogatepass"))
        seen[key] += 1
        found.append(digest.hexdigest()[:32])
    return found
