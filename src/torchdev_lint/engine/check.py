"""The pure core of every face: source text in, diagnostics out."""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from torchdev_lint.config import SYNTAX_ERROR
from torchdev_lint.diagnostics import Diagnostic, Edit, Fix, Position, Range, Related
from torchdev_lint.engine.parsing import ParseError, parse_module
from torchdev_lint.files import named_beside

if TYPE_CHECKING:
    import libcst as cst

    from torchdev_lint.config import Config
    from torchdev_lint.engine.memory import Memory
    from torchdev_lint.flow.activation.analysis import Recording
    from torchdev_lint.flow.activation.events import Event
    from torchdev_lint.flow.project.projects import Sources
    from torchdev_lint.rules.base import Finding, Rule

REVEAL = "reveal_device"
"""The name under which code asks what was inferred."""

SYNTAX_NAME = "syntax-error"
"""The name of the diagnostic of a text that does not parse."""


def check_source(
    text: str,
    path: str,
    config: Config,
    sources: Sources | None = None,
    recorder: Recording | None = None,
    memory: Memory | None = None,
) -> list[Diagnostic]:
    """Check one module's source text (decoded, BOM removed, newlines as in the file).

    What it imports from other files of its project is read through `sources`; without them every file is on its own. A
    `recorder` is told of what was executed; it may end the check by an exception of its own. What a `memory` remembers of the last
    text of this file is not read again.
    Pure: reads no file itself, prints nothing. Returns the diagnostics of the rules that `config` selects for `path`, sorted by
    position, before suppression comments are applied. A text that does not parse gives one TDV999.
    """
    from torchdev_lint.flow.activation.analysis import Options
    from torchdev_lint.flow.execution.interpreter import read_module
    from torchdev_lint.flow.project.projects import Project
    from torchdev_lint.rules.registry import all_rules
    from torchdev_lint.rules.revealed_device import RevealedDevice
    from torchdev_lint.stubs.shelf import shelf
    from torchdev_lint.torch_api.factories import DEFAULT_TENSOR_CONSTRUCTORS

    selected: list[type[Rule]] = [rule for rule in all_rules() if config.selects(rule.code, path)]
    if not selected:
        return []
    if REVEAL in text and config.selects(RevealedDevice.code, path):
        selected.append(RevealedDevice)
    unified = unify_newlines(text)
    constructors = DEFAULT_TENSOR_CONSTRUCTORS | frozenset(config.tensor_constructors)
    options = Options(
        constructors,
        shelf(config.stubs),
        path.endswith(".ipynb"),
        frozenset(config.device_sources),
        audits=any(not rule.default for rule in selected),
    )

    def around(sources: Sources) -> Project:
        return Project(
            os.path.abspath(path), sources, _roots(config), lines=unified.count("\n"), given=config.given
        )

    project = None if sources is None else around(sources)
    own = None if sources is None or project is None else sources.text(project.path)
    try:
        if memory is not None:
            read = memory.read(unified, path, config, options, around, sources, recorder)
            if isinstance(read, ParseError):
                return [unanalysed(path, read)]
            module, events, project = read
        else:
            tree: cst.Module | Diagnostic | None = None
            if sources is not None and project is not None and own == unified:
                tree = sources.tree(project.path)
            tree = tree or parse(unified, path)
            if isinstance(tree, Diagnostic):
                return [tree]
            module = tree
            events = read_module(module, options, recorder, project, unified)
    except RecursionError:
        return [unanalysed(path, ParseError("Not analysed: nested too deeply"))]
    answers: list[tuple[type[Rule], Finding, Event]] = []
    for rule in selected:
        checker = rule()
        for event in events:
            if isinstance(event, rule.answers):
                answers += [(rule, finding, event) for finding in checker.check(event)]
    if not answers:
        return []
    again: set[int] = set()
    if len(answers) > 1:
        from torchdev_lint.flow.telling.repeated import repeated

        again = repeated(module, [event for _, _, event in answers], cells=options.in_cells)
    findings = [(rule, finding) for rule, finding, event in answers if id(event) not in again]
    elsewhere = (
        [] if project is None else [(named_beside(path, other), tree) for other, tree in project.read()]
    )
    return sorted(_diagnostics(module, path, findings, elsewhere, unified), key=Diagnostic.sort_key)


def _roots(config: Config) -> list[str]:
    """The directories that the configuration lets imports start from."""
    return [os.path.normpath(os.path.join(os.path.abspath(config.root), name)) for name in config.src]


def parse(text: str, path: str) -> cst.Module | Diagnostic:
    """The tree of `text`, whose line ends are all "\\n"; a TDV999 when it does not parse."""
    try:
        return parse_module(text, path)
    except ParseError as error:
        return unanalysed(path, error)


def unify_newlines(text: str) -> str:
    """The text with "\\n" for every line end: rows and columns stay what they are."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def unanalysed(path: str, error: ParseError) -> Diagnostic:
    """The diagnostic of a text that does not parse, or cannot be analysed."""
    place = Position(max(error.row, 1), max(error.column, 1))
    return Diagnostic(path, SYNTAX_ERROR, SYNTAX_NAME, error.message, Range(place, place), noqa_row=None)


def _diagnostics(
    module: cst.Module,
    path: str,
    findings: list[tuple[type[Rule], Finding]],
    elsewhere: list[tuple[str, cst.Module]],
    text: str,
) -> list[Diagnostic]:
    """The findings with positions; one that lies in another file is that file's, and left out."""
    from torchdev_lint.flow.syntax.positions import rendered

    nodes = []
    for _, finding in findings:
        nodes.append(finding.node)
        nodes += [note.node for note in finding.notes]
        nodes += [edit.node for edit in finding.fix.edits] if finding.fix is not None else []
    found, code = rendered(module, nodes)
    exact = code == text
    to_range = _ranger(code)
    findings = [(rule, finding) for rule, finding in findings if id(finding.node) in found]
    places: dict[int, tuple[str | None, Range]] = {
        key: (None, to_range(*span)) for key, span in found.items()
    }
    places |= _places_elsewhere(findings, places, elsewhere)
    diagnostics = []
    for rule, finding in findings:
        place = to_range(*found[id(finding.node)])
        related = tuple(
            Related(places[id(note.node)][1], note.message, places[id(note.node)][0])
            for note in finding.notes
            if id(note.node) in places
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


def _places_elsewhere(
    findings: list[tuple[type[Rule], Finding]], known: Container[int], files: list[tuple[str, cst.Module]]
) -> dict[int, tuple[str | None, Range]]:
    """Path and range of the notes that lie in other files, by `id(node)`."""
    from torchdev_lint.flow.syntax.positions import spans

    sought = {id(note.node): note.node for _, finding in findings for note in finding.notes}
    sought = {key: node for key, node in sought.items() if key not in known}
    places: dict[int, tuple[str | None, Range]] = {}
    for path, module in files:
        if not sought:
            break
        found = spans(module, list(sought.values()))
        if any(key in sought for key in found):
            to_range = _ranger(module.code)
            places |= {key: (path, to_range(*span)) for key, span in found.items()}
            sought = {key: node for key, node in sought.items() if key not in found}
    return places


def _resolve_fix(
    finding: Finding, found: dict[int, tuple[int, int]], to_range: Callable[[int, int], Range]
) -> Fix | None:
    if finding.fix is None or any(id(edit.node) not in found for edit in finding.fix.edits):
        return None
    edits = []
    for edit in finding.fix.edits:
        start, end = found[id(edit.node)]
        match edit.place:
            case "before":
                end = start
            case "after":
                start = end
            case "replace":
                pass
            case _:
                raise AssertionError(edit.place)
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
