"""Comments that silence diagnostics: `# noqa` as flake8 reads it, and our own `# torchdev: ignore[...]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.source.comments import Comment, Comments, find_comments

_CODES = r"(?P<codes>(?:(?:[A-Z]+[0-9]+|TDV)\b(?:[,\s]+)?)+)"
_NOQA = re.compile(rf"#\s*noqa\b(?::\s*{_CODES})?", re.IGNORECASE)
_FILE_NOQA = re.compile(rf"#\s*flake8[:=]\s*noqa\b(?::\s*{_CODES})?", re.IGNORECASE)
_OWN = re.compile(r"#\s*torchdev:\s*(?P<kind>file-ignore|ignore)\b\s*(?P<list>\[[^\]]*\])?", re.IGNORECASE)
_OWN_ATTEMPT = re.compile(r"#\s*torchdev:", re.IGNORECASE)
_HINT = re.compile(r"noqa|torchdev:", re.IGNORECASE)

NEVER_SUPPRESSED = frozenset({"TDV999"})
"""A file that was not understood has no comments that could be trusted."""


@dataclass(frozen=True, slots=True)
class Directive:
    """One suppression comment.

    `codes` are prefixes of codes or names of rules; None silences everything. It works on the rows from
    `first` to `last`, the whole file when both are 0.
    """

    comment: Comment
    codes: tuple[str, ...] | None
    first: int
    last: int
    span: tuple[int, int] = (0, 0)
    """Where the directive is in the comment's text."""
    listed: tuple[int, int] = (0, 0)
    """Where its codes are in the comment's text."""

    def covers(self, diagnostic: Diagnostic) -> bool:
        """Whether the codes include the diagnostic's; says nothing about the rows."""
        return self.codes is None or any(stands_for(code, diagnostic) for code in self.codes)


def stands_for(code: str, diagnostic: Diagnostic) -> bool:
    """Whether a code of a comment, a prefix or a rule's name, includes the diagnostic's."""
    return diagnostic.code.startswith(code.upper()) or diagnostic.name == code


class Suppressions:
    """The suppression comments of one file."""

    def __init__(self, directives: tuple[Directive, ...], problems: tuple[tuple[int, str], ...]) -> None:
        self.directives = directives
        self.problems = problems
        """Rows of comments that look like ours but say nothing, and why."""

    @classmethod
    def of(cls, text: str, *, noqa: bool = True) -> Suppressions:
        """Read the comments of `text`, which need not be valid Python; without `noqa`, only our own kind."""
        if not _HINT.search(text):
            return cls((), ())
        found = find_comments(text)
        directives: list[Directive] = []
        problems: list[tuple[int, str]] = []
        for comment in found.comments:
            if noqa:
                directives += _noqa_directives(comment, found)
            own, problem = _own_directive(comment, found)
            if own:
                directives.append(own)
            if problem:
                problems.append((comment.start.row, problem))
        return cls(tuple(directives), tuple(problems))

    def suppressing(self, diagnostic: Diagnostic) -> Directive | None:
        """The first comment that silences `diagnostic`, or None."""
        return next(self.all_suppressing(diagnostic), None)

    def all_suppressing(self, diagnostic: Diagnostic) -> Iterator[Directive]:
        """Every comment that silences `diagnostic`."""
        if diagnostic.code in NEVER_SUPPRESSED:
            return
        rows = {diagnostic.range.start.row, diagnostic.noqa_row or diagnostic.range.start.row}
        for directive in self.directives:
            anywhere = directive.first == 0
            if (
                anywhere or any(directive.first <= row <= directive.last for row in rows)
            ) and directive.covers(diagnostic):
                yield directive

    def keep(self, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
        """The diagnostics that no comment silences, in their order."""
        return [diagnostic for diagnostic in diagnostics if self.suppressing(diagnostic) is None]


def noqa_codes(comment: str) -> int | None:
    """The offset behind the last code of the `# noqa: ...` in a comment's text; None without one that has codes."""
    match = None if _FILE_NOQA.search(comment) else _NOQA.search(comment)
    if match is None or not match["codes"]:
        return None
    return match.start("codes") + len(match["codes"].rstrip(", \t"))


def _noqa_directives(comment: Comment, found: Comments) -> list[Directive]:
    match = _FILE_NOQA.search(comment.text)
    if match:
        # Beside code flake8 reads neither a file's nor a line's directive out of it.
        at_start = comment.own_line and match.start() == 0
        spans = (match.span(), match.span("codes"))
        return [Directive(comment, _split(match["codes"]), 0, 0, *spans)] if at_start else []
    match = _NOQA.search(comment.text)
    if match:
        rows = found.rows_with(comment.start.row)
        return [Directive(comment, _split(match["codes"]), *rows, match.span(), match.span("codes"))]
    return []


def _own_directive(comment: Comment, found: Comments) -> tuple[Directive | None, str | None]:
    match = _OWN.search(comment.text)
    if match is None:
        attempt = _OWN_ATTEMPT.match(comment.text)
        return None, "expected `ignore[CODE]` or `file-ignore[CODE]` after `# torchdev:`" if attempt else None
    codes = _split((match["list"] or "").strip("[]"))
    if not codes:
        return None, f"`# torchdev: {match['kind']}` needs codes, as in `{match['kind']}[TDV001]`"
    spans = (match.span(), (match.start("list") + 1, match.end("list") - 1))
    if match["kind"].lower() == "file-ignore":
        return Directive(comment, codes, 0, 0, *spans), None
    rows: tuple[int, int] | None = found.rows_with(comment.start.row)
    if comment.own_line:
        rows = found.logical_line_after(comment.start.row)
    return (Directive(comment, codes, *rows, *spans) if rows else None), None


def _split(codes: str | None) -> tuple[str, ...] | None:
    """The codes of a comma- or blank-separated list; None for an absent or empty one."""
    return tuple(filter(None, re.split(r"[,\s]+", codes))) or None if codes else None
