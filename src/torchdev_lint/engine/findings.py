"""What a text is told off for: the check's diagnostics, less what was deselected or suppressed."""

from __future__ import annotations

from torchdev_lint.config import SYNTAX_ERROR, Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.source.suppression import Suppressions


def findings(text: str, path: str, config: Config, *, noqa: bool = True) -> list[Diagnostic]:
    """The diagnostics of `text`, sorted; without `noqa`, `# noqa` comments are left to the caller."""
    from torchdev_lint.engine.check import check_source  # Loads LibCST; files without torch never get here.

    found = check_source(text, path, config)
    if not config.selects(SYNTAX_ERROR, path):
        found = [one for one in found if one.code != SYNTAX_ERROR]
    if not found:
        return []
    return sorted(Suppressions.of(text, noqa=noqa).keep(found), key=Diagnostic.sort_key)
