"""The language server: which message is answered by what.

What changes documents is handled at once and in order; questions are coroutines, which wait for the analysis and can be
cancelled.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any, BinaryIO, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException
from pygls.lsp.server import LanguageServer

from torchdev_lint import __version__
from torchdev_lint.lsp import actions
from torchdev_lint.lsp.analysis import Analysis
from torchdev_lint.lsp.client import Client
from torchdev_lint.lsp.hints import inlay_hints
from torchdev_lint.lsp.hover import hover
from torchdev_lint.lsp.preferences import SECTION, read_preferences
from torchdev_lint.lsp.programs import path_of
from torchdev_lint.lsp.session import OutdatedError, Session, root_of
from torchdev_lint.lsp.view import SOURCE, View

Answer = TypeVar("Answer")

SERVER_CANCELLED = types.LSPErrorCodes.ServerCancelled.value
WATCHED = "**/*.{py,pyi,toml}"
"""Files whose changes on disk matter: modules that are imported, configurations, stub files."""
PARENT_CHECK = 2.0
"""Seconds between looks at whether the client is still there."""
_SYNCHRONISATION = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)

logger = logging.getLogger(__name__)


class Server(LanguageServer):
    """The server of one client."""

    def __init__(self) -> None:
        super().__init__(
            SOURCE,
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=types.NotebookDocumentSyncOptions(
                [
                    types.NotebookDocumentFilterWithNotebook("*", [types.NotebookCellLanguage("python")]),
                ]
            ),
        )
        for method in _SYNCHRONISATION:
            # `documents` has the texts: pygls' own copies would have to be kept right, too.
            self.protocol.fm.builtin_features.pop(method, None)
        self.client = Client()
        self.session = Session(os.getcwd(), self.show)
        self._shown: dict[str, list[str]] = {}
        self._told: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def shutdown(self) -> None:
        """End: the client is gone, or has said so."""
        self.session.close()
        super().shutdown()  # type: ignore[no-untyped-call]

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that nobody waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def view(self, analysis: Analysis) -> View:
        """An analysis as this client is to see it."""
        documents = self.session.documents
        return View(
            analysis, documents.encoding, self.session.uris(), self.client.related, self.client.versioned
        )

    def show(self, uri: str, aware: bool) -> None:
        """A program has not changed for a while: show what is wrong with it. `aware`: the client knows of the change."""
        if not self.client.pulls:
            self.background(self.push(uri))
        if not aware:
            self.background(self.refresh())

    async def push(self, uri: str) -> None:
        """Check a program and publish its diagnostics, unless it changes meanwhile."""
        try:
            analysis = await self.session.analysis(uri)
        except OutdatedError:
            return
        if analysis is None:
            return
        self.tell(analysis.problem)
        view = self.view(analysis)
        parts = analysis.program.parts
        for gone in set(self._shown.get(uri, [])) - {part.uri for part in parts}:
            self._publish(gone, None, [])
        self._shown[uri] = [part.uri for part in parts]
        for part in parts:
            self._publish(part.uri, part.version, view.diagnostics(part.uri))

    async def refresh(self) -> None:
        """Have the client ask again what it asks by itself."""
        if self.client.pulls and self.client.refreshes_diagnostics:
            await self.workspace_diagnostic_refresh_async(None)
        if self.client.refreshes_hints:
            await self.workspace_inlay_hint_refresh_async(None)

    def clear(self, uri: str) -> None:
        """A program was closed: what was shown of it goes away."""
        self.session.forget(uri)
        for part in self._shown.pop(uri, []):
            self._publish(part, None, [])

    def tell(self, problem: str | None) -> None:
        """Show the user what is in the way, once."""
        if problem is not None and problem != self._told:
            self.window_show_message(
                types.ShowMessageParams(types.MessageType.Error, f"torchdev-lint: {problem}")
            )
        self._told = problem

    def _publish(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def configure(self, given: object) -> None:
        """Take over the client's settings."""
        preferences, problems = read_preferences(given)
        self._told = None
        for problem in problems:
            self.window_show_message(
                types.ShowMessageParams(types.MessageType.Error, f"torchdev-lint: {problem}")
            )
        if preferences != self.session.preferences:
            self.session.configure(preferences)

    async def ask_for_settings(self) -> None:
        """Have the client say what the user has set."""
        items = [types.ConfigurationItem(section=SECTION)]
        answer = await self.workspace_configuration_async(types.ConfigurationParams(items))
        if answer and answer[0] is not None:  # Else what it said when it began stays.
            self.configure(answer[0])

    async def register(self) -> None:
        """Ask to be told of files that change on disk, and of settings."""
        wanted = []
        if self.client.watches:
            watchers = [types.FileSystemWatcher(glob_pattern=WATCHED)]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            wanted.append(types.Registration("watched-files", method, options))
        if self.client.registers_settings:
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            section = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
            wanted.append(types.Registration("settings", method, section))
        if wanted:
            await self.client_register_capability_async(types.RegistrationParams(wanted))

    async def watch_parent(self, process: int) -> None:
        """End with the process that started us, even if it leaves the pipe open."""
        while _is_alive(process):
            await asyncio.sleep(PARENT_CHECK)
        logger.warning("the client (process %d) has gone", process)
        self.session.close()
        os._exit(1)  # A thread is still reading from the pipe, and would wait for ever.


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # There, asking a process for a sign of life ends it.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


# -- messages that change something


def initialize(ls: Server, params: types.InitializeParams) -> None:
    folders = params.workspace_folders or []
    uri = folders[0].uri if folders else params.root_uri
    ls.session.enter(root_of(uri, params.root_path))
    ls.client = Client.of(params.capabilities)
    ls.session.documents.encoding = str(ls.workspace.position_encoding or "utf-16")
    if params.initialization_options is not None:
        ls.configure(params.initialization_options)
    if params.process_id is not None:
        ls.background(ls.watch_parent(params.process_id))


async def initialized(ls: Server, params: types.InitializedParams) -> None:
    await ls.register()
    if ls.client.has_settings:
        await ls.ask_for_settings()


def did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    ls.session.documents.open(params.text_document)
    ls.session.touch(params.text_document.uri, 0)


def did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    if ls.session.documents.change(params.text_document, params.content_changes):
        ls.session.touch(ls.session.documents.owner(params.text_document.uri))


def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    # Those that import the file have been checked with the text that was open; but it may be new on disk.
    ls.session.saved()


def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.session.documents.close(uri)
    ls.session.touch(uri, 0)
    ls.clear(uri)


def did_open_notebook(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    ls.session.documents.open_notebook(params)
    ls.session.touch(params.notebook_document.uri, 0)


def did_change_notebook(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    if ls.session.documents.change_notebook(params):
        ls.session.touch(params.notebook_document.uri)


def did_close_notebook(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    ls.session.documents.close_notebook(params)
    ls.clear(params.notebook_document.uri)


async def did_change_configuration(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    if params.settings:
        ls.configure(params.settings)
    elif ls.client.has_settings:
        await ls.ask_for_settings()
    else:
        ls.configure(None)


def did_change_watched_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    ls.tell(None)
    if any(change.uri.endswith(".toml") for change in params.changes):
        ls.session.configure(ls.session.preferences)
        return
    paths = [path_of(change.uri, ls.session.root) for change in params.changes]
    came_or_went = any(change.type != types.FileChangeType.Changed for change in params.changes)
    ls.session.changed_on_disk(paths, came_or_went=came_or_went)


# -- questions


async def diagnostic(
    ls: Server, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
    uri = params.text_document.uri
    try:
        await ls.session.settled(uri)
        analysis = await ls.session.analysis(uri)
    except OutdatedError:
        data = types.DiagnosticServerCancellationData(retrigger_request=True)
        raise JsonRpcException("the text has changed", SERVER_CANCELLED, data) from None
    if analysis is None:
        return types.RelatedFullDocumentDiagnosticReport([])
    ls.tell(analysis.problem)
    found = ls.view(analysis).diagnostics(uri)
    name = str(analysis.program.serial)
    if params.previous_result_id == name:
        return types.RelatedUnchangedDocumentDiagnosticReport(name)
    return types.RelatedFullDocumentDiagnosticReport(found, result_id=name)


async def on_hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    uri = params.text_document.uri
    found = await ls.session.knowledge(uri)
    if found is None:
        return None
    analysis, knowledge = found
    return hover(ls.view(analysis), knowledge, uri, params.position, markdown=ls.client.markdown)


async def on_inlay_hint(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    if not ls.session.preferences.inlay_hints:
        return None
    uri = params.text_document.uri
    await ls.session.settled(uri)
    found = await ls.session.knowledge(uri)
    if found is None:
        return None
    analysis, knowledge = found
    return inlay_hints(ls.view(analysis), knowledge, uri, params.range)


async def on_code_action(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    uri, only = params.text_document.uri, params.context.only
    analysis = await ls.session.analysis(uri)
    if analysis is None:
        return []
    view = ls.view(analysis)
    offered: list[types.CodeAction] = []
    if actions.wants(only, types.CodeActionKind.QuickFix.value):
        offered += actions.quick_fixes(view, uri, params.range)
    if actions.wants(only, actions.FIX_ALL) and actions.offers_fix_all(view):
        if ls.client.resolves_edits:
            offered.append(actions.fix_all(None, {"uri": uri, "serial": analysis.program.serial}))
        else:
            edit = await _all_fixes(ls, uri)
            offered += [actions.fix_all(edit)] if edit is not None else []
    return offered


async def on_resolve(ls: Server, action: types.CodeAction) -> types.CodeAction:
    data = action.data
    if action.edit is None and isinstance(data, dict) and isinstance(data.get("uri"), str):
        analysis = await ls.session.analysis(data["uri"])
        if analysis is None or analysis.program.serial != data.get("serial"):
            raise OutdatedError
        action.edit = await _all_fixes(ls, data["uri"])
    return action


async def _all_fixes(ls: Server, uri: str) -> types.WorkspaceEdit | None:
    found = await ls.session.fixed(uri)
    if found is None or found[1] is None:
        return None
    analysis, text = found[0], found[1]
    return ls.view(analysis).edit(actions.edits_to(analysis.program, text))


def _answering(
    function: Callable[..., Coroutine[Any, Any, Answer]],
) -> Callable[..., Coroutine[Any, Any, Answer]]:
    """The question as it is put to pygls: a text that changed meanwhile is no error of the server."""

    async def answer(ls: Server, params: Any) -> Answer:
        try:
            return await function(ls, params)
        except OutdatedError:
            raise JsonRpcContentModified("the text has changed") from None

    return answer


def build() -> Server:
    """A server that is ready to be started."""
    server = Server()
    for method, handler in (
        (types.INITIALIZE, initialize),
        (types.INITIALIZED, initialized),
        (types.TEXT_DOCUMENT_DID_OPEN, did_open),
        (types.TEXT_DOCUMENT_DID_CHANGE, did_change),
        (types.TEXT_DOCUMENT_DID_SAVE, did_save),
        (types.TEXT_DOCUMENT_DID_CLOSE, did_close),
        (types.NOTEBOOK_DOCUMENT_DID_OPEN, did_open_notebook),
        (types.NOTEBOOK_DOCUMENT_DID_CHANGE, did_change_notebook),
        (types.NOTEBOOK_DOCUMENT_DID_CLOSE, did_close_notebook),
        (types.WORKSPACE_DID_CHANGE_CONFIGURATION, did_change_configuration),
        (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, did_change_watched_files),
    ):
        server.feature(method)(handler)
    diagnostics = types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE
    )
    code_actions = types.CodeActionOptions(code_action_kinds=actions.KINDS, resolve_provider=True)
    for question, function, options in (
        (types.TEXT_DOCUMENT_DIAGNOSTIC, diagnostic, diagnostics),
        (types.TEXT_DOCUMENT_HOVER, on_hover, None),
        (types.TEXT_DOCUMENT_INLAY_HINT, on_inlay_hint, None),
        (types.TEXT_DOCUMENT_CODE_ACTION, on_code_action, code_actions),
        (types.CODE_ACTION_RESOLVE, on_resolve, None),
    ):
        server.feature(question, options)(_answering(function))
    return server


def serve(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Serve one client over two pipes until it says that it is done, or goes away."""
    build().start_io(stdin, stdout)
