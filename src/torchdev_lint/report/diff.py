"""Unified diffs that `patch` and `git apply` take."""

from __future__ import annotations

from collections.abc import Iterator

from torchdev_lint.report.style import Piece


def render(path: str, before: str, after: str) -> Iterator[Piece]:
    """The diff from `before` to `after`; nothing when they are equal."""
    import difflib

    # Only "\n" splits lines in a patch; `str.splitlines` would also split at form feeds.
    old, new = before.split("\n"), after.split("\n")
    old, new = _with_ends(old), _with_ends(new)
    for line in difflib.unified_diff(old, new, path, path):
        style = {"+": "added", "-": "removed", "@": "note"}.get(line[:1], "")
        if line.endswith("\n"):
            yield style, line
        else:
            yield style, f"{line}\n"
            yield "", "\\ No newline at end of file\n"


def _with_ends(lines: list[str]) -> list[str]:
    ended = [f"{line}\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended
