"""What a client can do, out of what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types
from pygls.capabilities import get_capability


@dataclass(frozen=True, slots=True)
class Client:
    """A client. One that says nothing can do nothing but have diagnostics pushed to it."""

    pulls: bool = False
    """Asks for diagnostics; then they are not pushed, or they would be shown twice."""
    related: bool = False
    """Shows places that belong to a diagnostic."""
    versioned: bool = False
    """Takes edits that say which version they are for."""
    resolves_edits: bool = False
    """Asks for the edit of a code action when that is chosen."""
    markdown: bool = False
    refreshes_diagnostics: bool = False
    refreshes_hints: bool = False
    has_settings: bool = False
    """Answers `workspace/configuration`."""
    registers_settings: bool = False
    watches: bool = False
    """Can be asked to watch files."""

    @classmethod
    def of(cls, given: types.ClientCapabilities) -> Client:
        """The client that says this of itself."""
        resolved = get_capability(given, "text_document.code_action.resolve_support.properties", []) or []
        formats = get_capability(given, "text_document.hover.content_format", []) or []

        def has(path: str) -> bool:
            return bool(get_capability(given, path, False))

        return cls(
            pulls=given.text_document is not None and given.text_document.diagnostic is not None,
            related=has("text_document.publish_diagnostics.related_information")
            or has("text_document.diagnostic.related_information"),
            versioned=has("workspace.workspace_edit.document_changes"),
            resolves_edits="edit" in resolved,
            markdown=types.MarkupKind.Markdown in formats,
            refreshes_diagnostics=has("workspace.diagnostics.refresh_support"),
            refreshes_hints=has("workspace.inlay_hint.refresh_support"),
            has_settings=has("workspace.configuration"),
            registers_settings=has("workspace.did_change_configuration.dynamic_registration"),
            watches=has("workspace.did_change_watched_files.dynamic_registration"),
        )
