"""A language client for tests and measurements: starts `torchdev-lint server` and keeps what it is told."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from cattrs import Converter
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

SERVER = (sys.executable, "-m", "torchdev_lint", "server", "--stdio")

ABLE = types.ClientCapabilities(
    general=types.GeneralClientCapabilities(
        position_encodings=[types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16]
    ),
    notebook_document=types.NotebookDocumentClientCapabilities(
        types.NotebookDocumentSyncClientCapabilities()
    ),
    text_document=types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        code_action=types.CodeActionClientCapabilities(
            resolve_support=types.ClientCodeActionResolveOptions(["edit"])
        ),
    ),
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        configuration=True,
        did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
    ),
)
"""A client that can do all that the server makes use of, but for pulling diagnostics."""
PLAIN = types.ClientCapabilities()
"""A client that can do nothing beyond the first version of the protocol."""
PULLS = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
)


def _converter() -> Converter:
    """pygls' converter, which also reads how other servers offer notebooks: without naming a kind of notebook."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook_func(
        lambda wanted: types.NotebookDocumentFilterScheme in get_args(wanted), lambda given, _: given
    )
    return cast(Converter, converter)


class Editor(LanguageClient):
    """A client whose documents lie in the directory `root`."""

    def __init__(self, root: Path) -> None:
        super().__init__("tests", "1", converter_factory=_converter)
        self.root = root
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.registered: list[str] = []
        self.refreshed = 0
        self.settings: dict[str, Any] | None = {}
        """What it answers when it is asked for the user's settings."""
        self.about = types.InitializeResult(types.ServerCapabilities())

        for method, answer in (
            (types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, self._publish),
            (types.WINDOW_SHOW_MESSAGE, self._show),
            (types.WORKSPACE_CONFIGURATION, self._configuration),
            (types.CLIENT_REGISTER_CAPABILITY, self._register),
            (types.WORKSPACE_INLAY_HINT_REFRESH, self._refresh),
        ):
            self.feature(method)(partial(answer))

    def _publish(self, params: types.PublishDiagnosticsParams) -> None:
        self.published.append(params)

    def _show(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params.message)

    def _configuration(self, params: types.ConfigurationParams) -> list[Any]:
        return [self.settings if item.section == "torchdev-lint" else None for item in params.items]

    def _register(self, params: types.RegistrationParams) -> None:
        self.registered += [one.method for one in params.registrations]

    def _refresh(self, params: None) -> None:
        self.refreshed += 1

    def uri(self, name: str) -> str:
        """The URI of a file in the directory."""
        return (self.root / name).as_uri()

    def open(self, name: str, text: str) -> str:
        """Open a Python file; returns its URI."""
        uri = self.uri(name)
        item = types.TextDocumentItem(uri, "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, version: int, *changes: types.TextDocumentContentChangeEvent) -> None:
        """Edit a file."""
        document = types.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, list(changes)))

    async def diagnostics(self, uri: str, version: int | None = 1) -> list[types.Diagnostic]:
        """What was published for this version of a document, as soon as it is."""

        def latest() -> types.PublishDiagnosticsParams | None:
            ours = (one for one in reversed(self.published) if (one.uri, one.version) == (uri, version))
            return next(ours, None)

        await until(lambda: latest() is not None)
        found = latest()
        return [] if found is None else list(found.diagnostics)

    async def hints(self, uri: str) -> list[tuple[int, str]]:
        """The rows and labels of the hints in a whole document."""
        everything = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), everything)
        hints = await self.text_document_inlay_hint_async(params) or []
        return [(hint.position.line, _label(hint)) for hint in hints]

    async def hovered(self, uri: str, line: int, character: int) -> str | None:
        """The text that is shown under the mouse."""
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        answer = await self.text_document_hover_async(params)
        if answer is None or not isinstance(answer.contents, types.MarkupContent):
            return None
        return answer.contents.value

    async def actions(self, uri: str, line: int, *only: str) -> list[types.CodeAction]:
        """The code actions for a row, of some kinds or of all."""
        where = types.Range(types.Position(line, 0), types.Position(line, 100))
        context = types.CodeActionContext([], list(only) or None)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        answer = await self.text_document_code_action_async(params) or []
        return [one for one in answer if isinstance(one, types.CodeAction)]


def _label(hint: types.InlayHint) -> str:
    return hint.label if isinstance(hint.label, str) else "".join(part.value for part in hint.label)


async def until(happened: Callable[[], bool]) -> None:
    """Wait for something."""
    while not happened():
        await asyncio.sleep(0.005)


@asynccontextmanager
async def started(root: Path, *command: str, stderr: str | None = "") -> AsyncIterator[Editor]:
    """A client with a server (default: ours) that was started and nothing else.

    At the end the server must have ended with exit code 0, and `stderr` be all that it said there (None: whatever it is).
    """
    editor = Editor(root)
    await editor.start_io(*(command or SERVER), cwd=root)
    process = editor._server
    assert process is not None
    assert process.stderr is not None
    complaints = asyncio.ensure_future(process.stderr.read())
    try:
        yield editor
        code = await process.wait()
        said = (await complaints).decode()
        assert code == 0, said
        assert stderr is None or said == stderr, said
    finally:
        if process.returncode is None:
            process.kill()
        await complaints
        await editor.stop()  # type: ignore[no-untyped-call]


async def begin(editor: Editor, capabilities: types.ClientCapabilities, options: object = None) -> None:
    """Introduce the client to its server."""
    editor.about = await editor.initialize_async(
        types.InitializeParams(
            capabilities=capabilities,
            process_id=os.getpid(),
            root_uri=editor.root.as_uri(),
            initialization_options=options,
        )
    )
    editor.initialized(types.InitializedParams())


async def end(editor: Editor) -> None:
    """Have the server end."""
    await editor.shutdown_async(None)
    editor.exit(None)


@asynccontextmanager
async def serving(
    root: Path, capabilities: types.ClientCapabilities = ABLE, options: object = None, **settings: Any
) -> AsyncIterator[Editor]:
    """A client in the middle of its session with our server, from the first message to the last."""
    async with started(root) as editor:
        editor.settings = settings
        await begin(editor, capabilities, options)
        yield editor
        await end(editor)
