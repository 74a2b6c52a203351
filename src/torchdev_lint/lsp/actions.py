"""Code actions: a finding's fix, a comment that silences it, all safe fixes at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lsprotocol import types

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range
from torchdev_lint.engine.add_noqa import noqa_edits
from torchdev_lint.lsp.programs import Part, Program
from torchdev_lint.lsp.view import View
from torchdev_lint.source.lines import LineIndex

FIX_ALL = "source.fixAll.torchdev-lint"
KINDS: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, FIX_ALL]


def wants(only: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether a client that asks for the kinds `only` (None: all) wants actions of this kind: kinds are prefixes."""
    if only is None:
        return True
    asked = [one.value if isinstance(one, types.CodeActionKind) else one for one in only]
    return any(one == "" or kind == one or kind.startswith(f"{one}.") for one in asked)


def quick_fixes(view: View, uri: str, within: types.Range) -> Iterator[types.CodeAction]:
    """The actions for the findings that touch a range of one part."""
    program = view.analysis.program
    part = program.part_at(uri)
    if part is None:
        return
    places = view.places(part)
    start, end = places.own(within.start), places.own(within.end)
    found = [(program.placed(one), one) for one in view.analysis.found]
    touched = [
        (placed, one)
        for placed, one in found
        if placed.cell == part.cell and placed.range.start <= end and start <= placed.range.end
    ]
    for placed, _ in touched:
        yield from _fix(view, part, placed)
    for placed, one in touched:
        yield from _suppression(view, part, placed, one)


def _fix(view: View, part: Part, one: Diagnostic) -> Iterator[types.CodeAction]:
    if one.fix is None or one.fix.applicability is Applicability.DISPLAY_ONLY:
        return
    edit = view.edit(one.fix.edits)
    if edit is not None:
        safe = one.fix.applicability is Applicability.SAFE
        yield types.CodeAction(
            title=f"{one.fix.message} ({one.code}, {'safe' if safe else 'unsafe'} fix)",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[view.diagnostic(one, part)],
            is_preferred=True if safe else None,
            edit=edit,
        )


def _suppression(view: View, part: Part, placed: Diagnostic, one: Diagnostic) -> Iterator[types.CodeAction]:
    edits = noqa_edits(view.analysis.code, [one])
    if not edits:
        return
    comment = replace(one, fix=Fix(tuple(edits), Applicability.SAFE, ""))
    fix = view.analysis.program.placed(comment).fix
    edit = None if fix is None else view.edit(fix.edits)
    if edit is not None:
        yield types.CodeAction(
            title=f"Suppress {one.code} on this line (# noqa: {one.code})",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[view.diagnostic(placed, part)],
            edit=edit,
        )


def offers_fix_all(view: View) -> bool:
    """Whether there is a safe fix at all."""
    return any(one.fix and one.fix.applicability is Applicability.SAFE for one in view.analysis.found)


def fix_all(edit: types.WorkspaceEdit | None, data: object = None) -> types.CodeAction:
    """The action that applies all safe fixes; without an edit, one that is still to be resolved by its `data`."""
    return types.CodeAction(
        title="torchdev-lint: apply all safe fixes",
        kind=FIX_ALL,
        edit=edit,
        data=data if edit is None else None,
    )


def edits_to(program: Program, text: str) -> list[Edit]:
    """Edits, by whole rows, that make `text` of the program's text, with positions in its parts."""
    if program.cells is None:
        return list(_differences(program.parts[0].text, text, None))
    edits: list[Edit] = []
    for part, content in zip(program.parts, program.cells.split(text), strict=True):
        edits += _differences(part.text, content, part.cell)
    return edits


def _differences(before: str, after: str, cell: int | None) -> Iterator[Edit]:
    old, new = _rows(before), _rows(after)
    lines = LineIndex(before)
    starts = [0]
    for row in old:
        starts.append(starts[-1] + len(row))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag != "equal":
            place = Range(lines.position(starts[first]), lines.position(starts[last]))
            content = "".join(new[new_first:new_last])
            yield Edit(place, content.replace("\r\n", "\n"), cell)


def _rows(text: str) -> list[str]:
    """The rows with their ends."""
    index = LineIndex(text)
    offsets = [index.offset(Position(row, 1)) for row in range(1, index.count + 1)]
    return [text[start:end] for start, end in zip(offsets, [*offsets[1:], len(text)], strict=True)]
