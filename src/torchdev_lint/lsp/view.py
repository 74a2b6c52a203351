"""Diagnostics, edits and locations as the protocol has them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lsprotocol import types
from pygls.uris import from_fs_path

from torchdev_lint.config import REVEALED, SYNTAX_ERROR, UNUSED_SUPPRESSION
from torchdev_lint.diagnostics import Diagnostic, Edit, Range, Related
from torchdev_lint.lsp.analysis import Analysis
from torchdev_lint.lsp.places import Places
from torchdev_lint.lsp.programs import Part
from torchdev_lint.rules.registry import rule_by_code
from torchdev_lint.source.document import dominant_newline

SOURCE = "torchdev-lint"


@dataclass(slots=True)
class View:
    """One analysis in the client's terms. `uris`: how the client calls what it has open, by path.

    `related` and `versioned` say what the client can do: show related places, take edits of a version.
    """

    analysis: Analysis
    encoding: str
    uris: Mapping[str, str]
    related: bool = True
    versioned: bool = True
    _places: dict[str, Places] = field(default_factory=dict)

    def places(self, part: Part) -> Places:
        """The positions of a part of the program."""
        if part.uri not in self._places:
            self._places[part.uri] = Places(part.text, self.encoding)
        return self._places[part.uri]

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """Those of one part."""
        part = self.analysis.program.part_at(uri)
        if part is None:
            return []
        return [self.diagnostic(one, part) for one in self.analysis.placed if one.cell == part.cell]

    def diagnostic(self, one: Diagnostic, part: Part) -> types.Diagnostic:
        """A diagnostic of a part."""
        notes = [(note, self.location(note)) for note in one.related]
        related = [
            types.DiagnosticRelatedInformation(place, note.message)
            for note, place in notes
            if place is not None
        ]
        message = one.message
        if not self.related:
            lines = [f"{note.message} (line {note.range.start.row})" for note in one.related]
            message = "\n".join([message, *lines])
        uri = documentation_uri(one.code)
        return types.Diagnostic(
            range=self.places(part).range(_visible(one.range)),
            message=message,
            severity=severity(one.code),
            code=one.code,
            code_description=None if uri is None else types.CodeDescription(uri),
            source=SOURCE,
            tags=[types.DiagnosticTag.Unnecessary] if one.code == UNUSED_SUPPRESSION else None,
            related_information=related if self.related and related else None,
        )

    def location(self, note: Related) -> types.Location | None:
        """Where a note is, in this program or in another file."""
        if note.path is None:
            part = self.analysis.program.part(note.cell)
            return None if part is None else types.Location(part.uri, self.places(part).range(note.range))
        text = (self.analysis.texts or {}).get(note.path, "")
        uri = self.uris.get(note.path) or from_fs_path(note.path)
        return None if not uri else types.Location(uri, Places(text, self.encoding).range(note.range))

    def edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit | None:
        """Edits with positions in the parts; None when a part of them is not open any more."""
        grouped: dict[str, list[types.TextEdit]] = {}
        versions: dict[str, int | None] = {}
        for edit in edits:
            part = self.analysis.program.part(edit.cell)
            if part is None:
                return None
            content = edit.content.replace("\n", dominant_newline(part.text))
            grouped.setdefault(part.uri, []).append(
                types.TextEdit(self.places(part).range(edit.range), content)
            )
            versions[part.uri] = part.version
        if not self.versioned:
            return types.WorkspaceEdit(changes=dict(grouped))
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(uri, versions[uri]), list(changed)
                )
                for uri, changed in grouped.items()
            ]
        )


def severity(code: str) -> types.DiagnosticSeverity:
    """How loud a finding is: a rule that has to be asked for warns, what was asked for by `reveal_device` informs."""
    if code == REVEALED:
        return types.DiagnosticSeverity.Information
    if code == UNUSED_SUPPRESSION:
        return types.DiagnosticSeverity.Warning
    rule = rule_by_code(code)
    if code != SYNTAX_ERROR and rule is not None and not rule.default:
        return types.DiagnosticSeverity.Warning
    return types.DiagnosticSeverity.Error


def documentation_uri(code: str) -> str | None:
    """Where a rule's documentation stands: the docstring of its module, which is there without a network."""
    rule = rule_by_code(code)
    file = None if rule is None else getattr(sys.modules[rule.__module__], "__file__", None)
    return None if file is None else from_fs_path(os.path.abspath(file))


def _visible(place: Range) -> Range:
    """A range with at least one character, where there is none to see."""
    if place.start != place.end:
        return place
    end = place.end
    return Range(place.start, type(end)(end.row, end.column + 1))
