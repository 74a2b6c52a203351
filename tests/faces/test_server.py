"""`torchdev-lint server` as an editor sees it: a real client, over the pipes of a real process."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server's tests need pygls: pip install -e '.[lsp]'")

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

PROGRAM = """\
import torch
from torch import nn

device = torch.device("cuda")
model = nn.Linear(2, 2).to(device)
x = torch.zeros(3, 2)
y = model(x)
"""
"""TDV001 in its last line, with a safe fix."""

ALL = types.ClientCapabilities(
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
PLAIN = types.ClientCapabilities()
PULLS = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
)


class Editor(LanguageClient):
    """A client that keeps what it is told."""

    def __init__(self, root: Path) -> None:
        super().__init__("tests", "1")
        self.root = root
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.registered: list[str] = []
        self.refreshed = 0
        self.settings: dict[str, Any] = {}
        self.about = types.InitializeResult(types.ServerCapabilities())

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.feature(types.WORKSPACE_CONFIGURATION)
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            return [self.settings if item.section == "torchdev-lint" else None for item in params.items]

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered += [one.method for one in params.registrations]

        @self.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def refresh(params: None) -> None:
            self.refreshed += 1

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str, text: str, version: int = 1) -> str:
        uri = self.uri(name)
        item = types.TextDocumentItem(uri, "python", version, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, version: int, *changes: types.TextDocumentContentChangeEvent) -> None:
        document = types.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, list(changes)))

    async def diagnostics(self, uri: str, version: int | None = 1) -> list[types.Diagnostic]:
        """What was published for this version of a document."""

        def found() -> types.PublishDiagnosticsParams | None:
            return next(
                (one for one in reversed(self.published) if (one.uri, one.version) == (uri, version)), None
            )

        await until(lambda: found() is not None)
        params = found()
        assert params is not None
        return list(params.diagnostics)

    async def hints(self, uri: str) -> list[tuple[int, str]]:
        """The rows and labels of the hints in a whole document."""
        everything = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), everything)
        hints = await self.text_document_inlay_hint_async(params) or []
        return [(hint.position.line, label(hint)) for hint in hints]

    async def hovered(self, uri: str, line: int, character: int) -> str | None:
        at = types.Position(line, character)
        params = types.HoverParams(types.TextDocumentIdentifier(uri), at)
        answer = await self.text_document_hover_async(params)
        if answer is None:
            return None
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    async def actions(self, uri: str, line: int, *only: str) -> list[types.CodeAction]:
        where = types.Range(types.Position(line, 0), types.Position(line, 100))
        context = types.CodeActionContext([], list(only) or None)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        answer = await self.text_document_code_action_async(params) or []
        return [one for one in answer if isinstance(one, types.CodeAction)]


async def until(happened: Callable[[], bool]) -> None:
    """Wait for something; the time that a test may take bounds it."""
    while not happened():
        await asyncio.sleep(0.01)


def label(hint: types.InlayHint) -> str:
    return hint.label if isinstance(hint.label, str) else "".join(part.value for part in hint.label)


def edited(text: str, edit: types.WorkspaceEdit | None, uri: str) -> str:
    """`text` with the edits of a document (in ASCII)."""
    assert edit is not None
    changes: list[Any] = list((edit.changes or {}).get(uri, []))
    for change in edit.document_changes or []:
        assert isinstance(change, types.TextDocumentEdit)
        if change.text_document.uri == uri:
            changes += change.edits
    rows = text.splitlines(keepends=True)
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    for one in sorted(changes, key=lambda one: one.range.start.line, reverse=True):
        start = starts[one.range.start.line] + one.range.start.character
        end = starts[one.range.end.line] + one.range.end.character
        text = text[:start] + one.new_text + text[end:]
    return text


@asynccontextmanager
async def serving(
    root: Path, capabilities: types.ClientCapabilities = ALL, options: object = None, **settings: Any
) -> AsyncIterator[Editor]:
    editor = Editor(root)
    editor.settings = settings
    await editor.start_io(sys.executable, "-m", "torchdev_lint", "server", "--stdio", cwd=root)
    process = editor._server
    assert process is not None
    assert process.stderr is not None
    complaints = asyncio.create_task(process.stderr.read())
    try:
        editor.about = await editor.initialize_async(
            types.InitializeParams(
                capabilities=capabilities,
                process_id=os.getpid(),
                root_uri=root.as_uri(),
                initialization_options=options,
            )
        )
        editor.initialized(types.InitializedParams())
        yield editor
        await editor.shutdown_async(None)
        editor.exit(None)
        assert await process.wait() == 0
        assert (await complaints).decode() == ""
    finally:
        if process.returncode is None:
            process.kill()
        await complaints
        await editor.stop()


def session(test: Callable[[Path], Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    """A test that runs in an event loop of its own, in an empty directory."""

    def run(tmp_path: Path) -> None:
        asyncio.run(asyncio.wait_for(test(tmp_path), 60))

    run.__name__ = test.__name__
    return run


# -- diagnostics


@session
async def test_a_finding_has_its_origins_its_severity_and_its_documentation(root: Path) -> None:
    async with serving(root) as editor:
        uri = editor.open("a.py", PROGRAM)
        (found,) = await editor.diagnostics(uri)
        assert (found.code, found.source, found.severity) == ("TDV001", "torchdev-lint", 1)
        assert found.range == types.Range(types.Position(6, 10), types.Position(6, 11))
        assert "`x` is on the CPU" in found.message
        places = [
            (one.location.uri, one.location.range.start.line) for one in found.related_information or []
        ]
        assert places == [(uri, 4), (uri, 5)]
        assert found.code_description is not None
        documentation = Path(found.code_description.href.removeprefix("file://"))
        assert "TDV001: " in documentation.read_text(encoding="utf-8")


@session
async def test_what_is_right_has_no_diagnostics(root: Path) -> None:
    async with serving(root) as editor:
        uri = editor.open("a.py", PROGRAM.replace("model(x)", "model(x.to(device))"))
        assert await editor.diagnostics(uri) == []


@session
async def test_a_client_that_shows_no_related_places_is_told_them_in_the_message(root: Path) -> None:
    async with serving(root, PLAIN) as editor:
        (found,) = await editor.diagnostics(editor.open("a.py", PROGRAM))
        assert found.related_information is None
        assert "(line 5)" in found.message


@session
async def test_a_document_in_another_language_is_left_alone(root: Path) -> None:
    async with serving(root) as editor:
        item = types.TextDocumentItem(editor.uri("a.txt"), "plaintext", 1, PROGRAM)
        editor.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await editor.diagnostics(editor.open("a.py", PROGRAM))
        assert {one.uri for one in editor.published} == {editor.uri("a.py")}
        assert await editor.hints(editor.uri("a.txt")) == []
        assert await editor.hovered(editor.uri("never-opened.py"), 0, 0) is None


@session
async def test_changes_are_followed_and_only_the_last_version_is_told_of(root: Path) -> None:
    async with serving(root) as editor:
        uri = editor.open("a.py", PROGRAM)
        await editor.diagnostics(uri)
        start = types.Position(6, 0)
        for version in range(2, 12):
            change = types.TextDocumentContentChangePartial(types.Range(start, start), f"v{version} = 0\n")
            editor.change(uri, version, change)
        (found,) = await editor.diagnostics(uri, 11)
        assert found.range.start.line == 16
        assert [one.version for one in editor.published] == [1, 11]


@session
async def test_a_closed_document_has_no_diagnostics_any_more(root: Path) -> None:
    async with serving(root) as editor:
        uri = editor.open("a.py", PROGRAM)
        await editor.diagnostics(uri)
        closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        editor.text_document_did_close(closed)
        assert await editor.diagnostics(uri, None) == []


@session
async def test_a_client_that_pulls_is_not_pushed_to(root: Path) -> None:
    async with serving(root, PULLS) as editor:
        uri = editor.open("a.py", PROGRAM)
        document = types.TextDocumentIdentifier(uri)
        report = await editor.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        assert [one.code for one in report.items] == ["TDV001"]
        params = types.DocumentDiagnosticParams(document, previous_result_id=report.result_id)
        again = await editor.text_document_diagnostic_async(params)
        assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
        whole = types.TextDocumentContentChangeWholeDocument("import torch\n")
        editor.change(uri, 2, whole)
        report = await editor.text_document_diagnostic_async(params)
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        assert not report.items
        assert editor.published == []


@session
async def test_what_another_open_file_says_counts_before_it_is_saved(root: Path) -> None:
    (root / "pyproject.toml").write_text("")
    (root / "parts.py").write_text("import torch\n\n\ndef ids():\n    return torch.zeros(3, 2)\n")
    program = PROGRAM.replace("x = torch.zeros(3, 2)", "x = ids()").replace(
        "from torch import nn", "from torch import nn\nfrom parts import ids"
    )
    (root / "a.py").write_text(program)
    async with serving(root) as editor:
        uri = editor.open("a.py", program)
        (found,) = await editor.diagnostics(uri)
        assert editor.uri("parts.py") in {one.location.uri for one in found.related_information or []}
        editor.open("parts.py", "import torch\n\n\ndef ids():\n    return torch.zeros(3, 2).cuda()\n")
        await until(lambda: editor.published[-1].uri == uri and not editor.published[-1].diagnostics)
        assert editor.refreshed


# -- fixes


@session
async def test_a_quick_fix_and_a_comment_are_offered_where_the_finding_is(root: Path) -> None:
    async with serving(root) as editor:
        uri = editor.open("a.py", PROGRAM)
        fix, comment = await editor.actions(uri, 6, "quickfix")
        assert (fix.title, fix.is_preferred) == ("Move it with `.to(device)` (TDV001, safe fix)", True)
        assert edited(PROGRAM, fix.edit, uri).endswith("y = model(x.to(device))\n")
        assert [one.code for one in fix.diagnostics or []] == ["TDV001"]
        assert fix.edit is not None
        (change,) = fix.edit.document_changes or []
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.version == 1
        assert edited(PROGRAM, comment.edit, uri).endswith("y = model(x)  # noqa: TDV001\n")
        assert not comment.is_preferred
        assert await editor.actions(uri, 5, "quickfix") == []
        assert await editor.actions(uri, 6, "refactor") == []


@session
async def test_an_unsafe_fix_says_so_and_is_not_preferred(root: Path) -> None:
    text = PROGRAM.replace('"cuda"', '"cuda:0"').replace("model(x)", "model(x.to(device))")
    async with serving(root) as editor:
        uri = editor.open("a.py", text)
        fix, comment = await editor.actions(uri, 3, "quickfix")
        assert "(TDV002, unsafe fix)" in fix.title
        assert not fix.is_preferred
        assert "# noqa" in comment.title
        assert await editor.actions(uri, 3, "source.fixAll") == []


@session
async def test_all_safe_fixes_at_once(root: Path) -> None:
    text = PROGRAM + "z = model(torch.ones(1, 2))\n"
    for capabilities in (ALL, PLAIN):
        async with serving(root, capabilities) as editor:
            uri = editor.open("a.py", text)
            for kind in ("source", "source.fixAll", "source.fixAll.torchdev-lint"):
                (action,) = await editor.actions(uri, 0, kind)
                if capabilities is ALL:
                    assert action.edit is None
                    action = await editor.code_action_resolve_async(action)
                fixed = edited(text, action.edit, uri)
                assert "model(x.to(device))" in fixed
                assert "model(torch.ones(1, 2).to(device))" in fixed
            assert await editor.actions(uri, 0, "source.organizeImports") == []


@session
async def test_a_fix_of_a_text_that_has_changed_is_refused(root: Path) -> None:
    async with serving(root) as editor:
        uri = editor.open("a.py", PROGRAM)
        (action,) = await editor.actions(uri, 0, "source.fixAll")
        editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument("\n" + PROGRAM))
        with pytest.raises(JsonRpcException, match="the text has changed"):
            await editor.code_action_resolve_async(action)


# -- hover and hints


@session
async def test_hovering_over_a_finding_shows_the_rule_and_elsewhere_the_device(root: Path) -> None:
    async with serving(root) as editor:
        uri = editor.open("a.py", PROGRAM)
        text = await editor.hovered(uri, 6, 10)
        assert text is not None
        assert "a tensor on the CPU, made on line 6" in text
        assert "## TDV001 model-input-on-other-device" in text
        assert "## Why it fails" in text
        assert await editor.hovered(uri, 4, 2) == "a module `Linear` on `cuda`, moved on line 5"
        assert await editor.hovered(uri, 5, 8) == "a tensor on the CPU, made on line 6"
        assert await editor.hovered(uri, 2, 0) is None
        assert await editor.hovered(uri, 0, 2) is None


@session
async def test_hints_show_where_tensors_and_modules_are(root: Path) -> None:
    text = PROGRAM + (
        "name = 'cuda'\n"
        "u = unknown()\n\n\n"
        "def move(t: torch.Tensor, device):\n"
        "    moved = t.to(device)\n"
        "    for one in [moved]:\n"
        "        pass\n"
        "    both = [x.cuda() for x in (moved, t)]\n"
        "    return moved\n"
    )
    async with serving(root) as editor:
        uri = editor.open("a.py", text)
        assert await editor.hints(uri) == [
            (4, "@ cuda"),
            (5, "@ cpu"),
            (6, "@ cuda"),
            (12, "@ device"),
            (13, "@ device"),
        ]


@session
async def test_hints_can_be_turned_off(root: Path) -> None:
    async with serving(root, PLAIN, {"inlayHints": False}) as editor:
        assert await editor.hints(editor.open("a.py", PROGRAM)) == []


# -- positions


@session
async def test_columns_are_counted_in_the_units_that_were_agreed_on(root: Path) -> None:
    text = PROGRAM.replace("y = model(x)", "s = '\u00e9\U0001f600'; y = model(x)")
    for capabilities, encoding, column in ((ALL, "utf-8", 24), (PLAIN, "utf-16", 21)):
        async with serving(root, capabilities) as editor:
            assert editor.about.capabilities.position_encoding == encoding
            uri = editor.open("a.py", text)
            (found,) = await editor.diagnostics(uri)
            assert found.range.start == types.Position(6, column)
            start, end = types.Position(6, 0), types.Position(6, column - len("y = model("))
            editor.change(uri, 2, types.TextDocumentContentChangePartial(types.Range(start, end), ""))
            (found,) = await editor.diagnostics(uri, 2)
            assert found.range.start == types.Position(6, len("y = model("))
