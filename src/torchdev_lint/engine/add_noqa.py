"""`--add-noqa`: a comment on every line with a finding, so that only new ones are reported from then on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from torchdev_lint.config import REVEALED, SYNTAX_ERROR, UNUSED_SUPPRESSION, Config
from torchdev_lint.diagnostics import Diagnostic, Edit, Position, Range
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.parsing import judge_of
from torchdev_lint.engine.prefilter import may_matter
from torchdev_lint.fixes.edits import apply_edits
from torchdev_lint.source.comments import Comment, find_comments
from torchdev_lint.source.document import SourceError
from torchdev_lint.source.lines import LineIndex
from torchdev_lint.source.reading import read_source
from torchdev_lint.source.suppression import noqa_codes

_NEVER = frozenset({SYNTAX_ERROR, REVEALED, UNUSED_SUPPRESSION})


@dataclass(frozen=True, slots=True)
class Added:
    """The new content of a file, and on how many lines a comment was written."""

    data: bytes
    count: int = 0


def add_noqa(data: bytes, path: str, config: Config, reason: str) -> Added:
    """`data` with a comment for each finding, `reason` behind it. Raises `SourceError` when it cannot be done."""
    if not may_matter(data, config):
        return Added(data)
    source = read_source(data, path)
    broken = _broken_cells(source)
    program = source.analysed(source.text, broken)
    found = [one for one in findings(program, path, config) if one.code not in _NEVER]
    if not found:
        return Added(data)
    edits = noqa_edits(program, found, reason)
    text = apply_edits(source.text, edits, source.newline)
    after = source.analysed(text, broken)
    left = [one for one in findings(after, path, config) if one.code not in _NEVER]
    if left or not judge_of(program)(after):
        raise SourceError("comments cannot be placed where they would be read")
    return Added(source.encode(text), len(edits))


def _broken_cells(source: object) -> frozenset[int]:
    from torchdev_lint.source.notebook import Notebook

    if not isinstance(source, Notebook):
        return frozenset()
    from torchdev_lint.engine.notebooks import broken_cells

    return frozenset(broken_cells(source))


def noqa_edits(text: str, found: list[Diagnostic], reason: str = "") -> list[Edit]:
    """The edits of `text` that silence its diagnostics, one for each row; none for what no comment can silence."""
    found = [one for one in found if one.code not in _NEVER]
    comments = find_comments(text)
    lines = LineIndex(text)
    wanted: dict[int, list[str]] = defaultdict(list)
    for one in found:
        row = comments.rows_with(one.range.start.row)[1]
        if one.code not in wanted[row]:
            wanted[row].append(one.code)
    by_row = {comment.start.row: comment for comment in comments.comments}
    return [
        _edit(row, sorted(codes), lines.line(row), by_row.get(row), reason)
        for row, codes in sorted(wanted.items())
    ]


def _edit(row: int, codes: list[str], line: str, comment: Comment | None, reason: str) -> Edit:
    listed = noqa_codes(comment.text) if comment is not None else None
    if comment is not None and listed is not None:
        column = comment.start.column + listed
        return Edit(Range(Position(row, column), Position(row, column)), f", {', '.join(codes)}")
    end = len(line.rstrip())
    said = f"  # noqa: {', '.join(codes)}{f' {reason}' if reason else ''}"
    return Edit(Range(Position(row, end + 1), Position(row, len(line) + 1)), said)
