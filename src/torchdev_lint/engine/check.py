"""The pure core of every face: source text in, diagnostics out."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchdev_lint.config import SYNTAX_ERROR
from torchdev_lint.diagnostics import Diagnostic, Edit, Fix, Position, Range, Related
from torchdev_lint.rules.registry import all_rules

if TYPE_CHECKING:
    import libcst as cst

    from torchdev_lint.config import Config
    from torchdev_lint.rules.base import Finding, Rule

SYNTAX_NAME = "syntax-error"
"""The name of the diagnostic of a text that does not parse."""


def check_source(text: str, path: str, config: Config) -> list[Diagnostic]:
    """Check one module's source text (decoded, BOM removed, newlines as in the file).

    Pure: reads no file, prints nothing. Returns the diagnostics of the rules that `config` selects for `path`, sorted by
    position, before suppression comments are applied. A text that does not parse gives one TDV999.
    """
    import libcst as cst

    from torchdev_lint.flow.frame import Options
    from torchdev_lint.flow.interpreter import read_module
    from torchdev_lint.torch_api.factories import DEFAULT_TENSOR_CONSTRUCTORS

    selected = [rule for rule in all_rules() if config.selects(rule.code, path)]
    if not selected:
        return []
    unified = unify_newlines(text)
    try:
        module = cst.parse_module(unified)
    except cst.ParserSyntaxError as error:
        return [syntax_error(path, error.message, error.editor_line, error.editor_column)]
    except (cst.CSTValidationError, UnicodeError) as error:
        return [syntax_error(path, str(error), 1, 1)]
    except RecursionError:
        return [syntax_error(path, "nested too deeply to be parsed", 1, 1)]
    constructors = DEFAULT_TENSOR_CONSTRUCTORS | frozenset(config.tensor_constructors)
    events = read_module(module, Options(constructors))
    findings: list[tuple[type[Rule], Finding]] = []
    for rule in selected:
        checker = rule()
        for event in events:
            if isinstance(event, rule.answers):
                findings += [(rule, finding) for finding in checker.check(event)]
    if not findings:
        return []
    exact = module.code == unified
    return sorted((_diagnostics(module, path, findings, exact=exact)), key=Diagnostic.sort_key)


def unify_newlines(text: str) -> str:
    """The text with "\\n" for every line end: rows and columns stay what they are."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def syntax_error(path: str, message: str, row: int, column: int) -> Diagnostic:
    """The diagnostic of a text that does not parse; `row` and `column` are 1-based."""
    place = Position(max(row, 1), max(column, 1))
    first = message.strip().splitlines()[0] if message.strip() else "the file does not parse"
    return Diagnostic(
        path, SYNTAX_ERROR, SYNTAX_NAME, f"Syntax error: {first}", Range(place, place), noqa_row=None
    )


def _diagnostics(
    module: cst.Module, path: str, findings: list[tuple[type[Rule], Finding]], *, exact: bool
) -> list[Diagnostic]:
    from torchdev_lint.flow.positions import spans

    nodes = []
    for _, finding in findings:
        nodes.append(finding.node)
        nodes += [note.node for note in finding.notes]
        nodes += [edit.node for edit in finding.fix.edits] if finding.fix is not None else []
    found = spans(module, nodes)
    to_range = _ranger(module.code)
    diagnostics = []
    for rule, finding in findings:
        if id(finding.node) not in found:
            continue
        place = to_range(*found[id(finding.node)])
        related = tuple(
            Related(to_range(*found[id(note.node)]), note.message)
            for note in finding.notes
            if id(note.node) in found
        )
        diagnostics.append(
            Diagnostic(
                path,
                rule.code,
                rule.name,
                finding.message,
                place,
                related,
                _resolve_fix(finding, found, to_range) if exact else None,
                place.start.row,
            )
        )
    return diagnostics


def _resolve_fix(
    finding: Finding, found: dict[int, tuple[int, int]], to_range: Callable[[int, int], Range]
) -> Fix | None:
    if finding.fix is None or any(id(edit.node) not in found for edit in finding.fix.edits):
        return None
    edits = []
    for edit in finding.fix.edits:
        start, end = found[id(edit.node)]
        if edit.place == "before":
            end = start
        elif edit.place == "after":
            start = end
        edits.append(Edit(to_range(start, end), edit.content))
    given = finding.fix
    return Fix(tuple(sorted(edits)), given.applicability, given.message, given.cures_cause)


def _ranger(text: str) -> Callable[[int, int], Range]:
    starts = [0]
    for index, character in enumerate(text):
        if character == "\n":
            starts.append(index + 1)

    def position(offset: int) -> Position:
        row = bisect.bisect_right(starts, offset)
        return Position(row, offset - starts[row - 1] + 1)

    return lambda start, end: Range(position(start), position(end))
