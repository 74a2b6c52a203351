"""Diagnostics as plain lists, for JSON, and back."""

from __future__ import annotations

import os
from typing import Any

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range, Related
from torchdev_lint.files import named_beside

FIELDS = "path code name message range related fix noqa_row cell".split()
"""The fields of a diagnostic that are kept; all of them, which a test compares."""


def to_plain(one: Diagnostic) -> list[Any]:
    """A diagnostic as JSON has it; its path is kept by whoever asks, those of other files are absolute."""
    fix = one.fix
    return [
        one.code,
        one.name,
        one.message,
        _place(one.range),
        [
            [_place(note.range), note.message, note.path and os.path.abspath(note.path), note.cell]
            for note in one.related
        ],
        None
        if fix is None
        else [
            [[_place(edit.range), edit.content, edit.cell] for edit in fix.edits],
            fix.applicability.value,
            fix.message,
            fix.cures_cause,
        ],
        one.noqa_row,
        one.cell,
    ]


def from_plain(path: str, plain: list[Any]) -> Diagnostic:
    """The diagnostic again, of a file that the user calls `path`. Raises `TypeError`, `ValueError` or `IndexError` for anything
    else."""
    code, name, message, place, related, fix, noqa_row, cell = plain
    return Diagnostic(
        path,
        code,
        name,
        message,
        _range(place),
        tuple(
            Related(_range(where), said, other and named_beside(path, other), number)
            for where, said, other, number in related
        ),
        None
        if fix is None
        else Fix(
            tuple(Edit(_range(where), content, number) for where, content, number in fix[0]),
            Applicability(fix[1]),
            fix[2],
            fix[3],
        ),
        noqa_row,
        cell,
    )


def _place(place: Range) -> list[int]:
    return [place.start.row, place.start.column, place.end.row, place.end.column]


def _range(plain: list[int]) -> Range:
    row, column, end_row, end_column = plain
    return Range(Position(row, column), Position(end_row, end_column))
