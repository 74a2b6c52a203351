"""`torchdev-lint server` as an editor sees it: a real client, over the pipes of a real process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server's tests need pygls: pip install -e '.[lsp]'")

from language_client import ABLE, PLAIN, PULLS, serving, until
from lsprotocol import types
from pygls.exceptions import JsonRpcException

PROGRAM = """\
import torch
from torch import nn

device = torch.device("cuda")
model = nn.Linear(2, 2).to(device)
x = torch.zeros(3, 2)
y = model(x)
"""
"""TDV001 in its last line, with a safe fix."""


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


def session(test: Callable[[Path], Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    """A test that runs in an event loop of its own, in an empty directory."""

    def run(tmp_path: Path) -> None:
        asyncio.run(asyncio.wait_for(test(tmp_path), 180))

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
    for capabilities in (ABLE, PLAIN):
        async with serving(root, capabilities) as editor:
            uri = editor.open("a.py", text)
            for kind in ("source", "source.fixAll", "source.fixAll.torchdev-lint"):
                (action,) = await editor.actions(uri, 0, kind)
                if capabilities is ABLE:
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
    for capabilities, encoding, column in ((ABLE, "utf-8", 24), (PLAIN, "utf-16", 21)):
        async with serving(root, capabilities) as editor:
            assert editor.about.capabilities.position_encoding == encoding
            uri = editor.open("a.py", text)
            (found,) = await editor.diagnostics(uri)
            assert found.range.start == types.Position(6, column)
            start, end = types.Position(6, 0), types.Position(6, column - len("y = model("))
            editor.change(uri, 2, types.TextDocumentContentChangePartial(types.Range(start, end), ""))
            (found,) = await editor.diagnostics(uri, 2)
            assert found.range.start == types.Position(6, len("y = model("))
