"""Applies text edits, and picks out of many fixes those that can be applied together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit
from torchdev_lint.source.lines import LineIndex


class EditError(ValueError):
    """Edits that cannot be applied to the text: outside it, or overlapping."""


def apply_edits(text: str, edits: Iterable[Edit], newline: str = "\n") -> str:
    """`text` with `edits` made; "\\n" in their content becomes `newline`. Raises `EditError`.

    Insertions at one place are made in the order given.
    """
    lines = LineIndex(text)
    pieces: list[str] = []
    done = 0
    for start, end, content in sorted(_spans(lines, edits), key=lambda span: span[:2]):
        if start < done:
            raise EditError(f"overlapping edits at {lines.position(start)}")
        pieces += [text[done:start], _with_newline(content, newline)]
        done = end
    return "".join([*pieces, text[done:]])


def choose_fixes(diagnostics: Sequence[Diagnostic], allowed: Collection[Applicability]) -> list[Diagnostic]:
    """The diagnostics whose fixes may be applied in one round: earlier ones first, none touching another.

    Diagnostics that share one and the same set of edits are chosen together. Fixes that cure causes have a round of
    their own: what is left to cure shows only after it.
    """
    causes = [
        one for one in diagnostics if one.fix and one.fix.cures_cause and one.fix.applicability in allowed
    ]
    diagnostics = causes or diagnostics
    chosen: list[Diagnostic] = []
    taken: list[Edit] = []
    seen: set[tuple[Edit, ...]] = set()
    for diagnostic in sorted(diagnostics, key=Diagnostic.sort_key):
        fix = diagnostic.fix
        if fix is None or fix.applicability not in allowed or not fix.edits:
            continue
        if fix.edits not in seen:
            if any(_touch(edit, other) for edit in fix.edits for other in taken):
                continue
            seen.add(fix.edits)
            taken += fix.edits
        chosen.append(diagnostic)
    return chosen


def edits_of(diagnostics: Iterable[Diagnostic]) -> list[Edit]:
    """The edits of the diagnostics' fixes, those of fixes that are the same only once."""
    fixes = dict.fromkeys(diagnostic.fix.edits for diagnostic in diagnostics if diagnostic.fix is not None)
    return [edit for edits in fixes for edit in edits]


def _touch(left: Edit, right: Edit) -> bool:
    """Whether two edits overlap or meet: where they meet, the order of what they insert is not known."""
    return left.range.start <= right.range.end and right.range.start <= left.range.end


def _spans(lines: LineIndex, edits: Iterable[Edit]) -> list[tuple[int, int, str]]:
    try:
        spans = [
            (lines.offset(edit.range.start), lines.offset(edit.range.end), edit.content) for edit in edits
        ]
    except ValueError as error:
        raise EditError(str(error)) from None
    if any(end < start for start, end, _ in spans):
        raise EditError("an edit ends before it starts")
    return spans


def _with_newline(content: str, newline: str) -> str:
    return content if newline == "\n" else content.replace("\r\n", "\n").replace("\n", newline)
