"""The language server's session: notebooks, configuration, cancellation, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server's tests need pygls: pip install -e '.[lsp]'")

from language_client import ABLE, PLAIN, SERVER, Editor, begin, end, serving, started, until
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
"""TDV001 in its last line."""


def session(test: Callable[[Path], Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    """A test that runs in an event loop of its own, in an empty directory."""

    def run(tmp_path: Path) -> None:
        asyncio.run(asyncio.wait_for(test(tmp_path), 180))

    run.__name__ = test.__name__
    return run


# -- notebooks

CELLS = (
    ("code", "import torch\nfrom torch import nn\n\n%matplotlib inline\ndevice = torch.device('cuda')"),
    ("markdown", "# the model"),
    ("code", "model = nn.Linear(2, 2).to(device)\nx = torch.zeros(3, 2)"),
    ("code", "%time y = model(x)"),
)


def cell_uri(editor: Editor, number: int) -> str:
    return f"{editor.uri('a.ipynb').replace('file:', 'vscode-notebook-cell:')}#c{number}"


def open_notebook(editor: Editor, *cells: tuple[str, str]) -> None:
    items = [
        types.TextDocumentItem(cell_uri(editor, number), "python" if kind == "code" else "markdown", 1, text)
        for number, (kind, text) in enumerate(cells, start=1)
    ]
    kinds = {"code": types.NotebookCellKind.Code, "markdown": types.NotebookCellKind.Markup}
    held = [types.NotebookCell(kinds[kind], item.uri) for (kind, _), item in zip(cells, items, strict=True)]
    notebook = types.NotebookDocument(editor.uri("a.ipynb"), "jupyter-notebook", 1, held)
    editor.notebook_document_did_open(
        types.DidOpenNotebookDocumentParams(
            notebook, [item for item in items if item.language_id == "python"]
        )
    )


def change_notebook(editor: Editor, version: int, **changes: Any) -> None:
    editor.notebook_document_did_change(
        types.DidChangeNotebookDocumentParams(
            types.VersionedNotebookDocumentIdentifier(version, editor.uri("a.ipynb")),
            types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(**changes)),
        )
    )


@session
async def test_the_cells_of_a_notebook_are_one_program(root: Path) -> None:
    async with serving(root) as editor:
        open_notebook(editor, *CELLS)
        last = cell_uri(editor, 4)
        (found,) = await editor.diagnostics(last)
        assert (found.code, found.range.start) == ("TDV001", types.Position(0, 16))
        places = [
            (one.location.uri, one.location.range.start.line) for one in found.related_information or []
        ]
        assert places == [(cell_uri(editor, 3), 0), (cell_uri(editor, 3), 1)]
        assert await editor.diagnostics(cell_uri(editor, 3)) == []
        assert await editor.hints(cell_uri(editor, 3)) == [(0, "@ cuda"), (1, "@ cpu")]
        assert await editor.hints(cell_uri(editor, 1)) == []
        assert "made on line 2 of cell 3" in (await editor.hovered(last, 0, 16) or "")
        fix, comment, *_ = await editor.actions(last, 0)
        assert fix.edit is not None
        assert comment.edit is not None
        (change,) = comment.edit.document_changes or []
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.edits[0].range.start) == (last, types.Position(0, 18))
        (action,) = await editor.actions(cell_uri(editor, 1), 0, "source.fixAll")
        action = await editor.code_action_resolve_async(action)
        assert action.edit is not None
        (change,) = action.edit.document_changes or []
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.uri == last
        (edit,) = change.edits
        assert isinstance(edit, types.TextEdit)
        assert edit.new_text == "%time y = model(x.to(device))"


@session
async def test_cells_are_edited_added_moved_and_removed(root: Path) -> None:
    async with serving(root) as editor:
        open_notebook(editor, *CELLS)
        last = cell_uri(editor, 4)
        await editor.diagnostics(last)
        document = types.VersionedTextDocumentIdentifier(2, cell_uri(editor, 3))
        at = types.Position(1, len("x = torch.zeros(3, 2)"))
        partial = types.TextDocumentContentChangePartial(types.Range(at, at), ".cuda()")
        change_notebook(
            editor, 2, text_content=[types.NotebookDocumentCellContentChanges(document, [partial])]
        )
        await until(lambda: editor.published[-1].uri == last and not editor.published[-1].diagnostics)
        # a new cell that takes the tensor back to the CPU
        new = types.TextDocumentItem(cell_uri(editor, 9), "python", 1, "x = x.cpu()")
        array = types.NotebookCellArrayChange(
            3, 0, [types.NotebookCell(types.NotebookCellKind.Code, new.uri)]
        )
        structure = types.NotebookDocumentCellChangeStructure(array, did_open=[new])
        change_notebook(editor, 3, structure=structure)
        await until(lambda: editor.published[-1].uri == last and bool(editor.published[-1].diagnostics))
        # and away with it
        array = types.NotebookCellArrayChange(3, 1)
        closed = [types.TextDocumentIdentifier(new.uri)]
        change_notebook(
            editor, 4, structure=types.NotebookDocumentCellChangeStructure(array, did_close=closed)
        )
        await until(lambda: editor.published[-1].uri == last and not editor.published[-1].diagnostics)
        assert await editor.diagnostics(new.uri, None) == []


@session
async def test_a_half_written_cell_is_told_of_in_that_cell_and_the_others_are_read(root: Path) -> None:
    async with serving(root) as editor:
        open_notebook(editor, *CELLS, ("code", "for i in"))
        (broken,) = await editor.diagnostics(cell_uri(editor, 5))
        assert (broken.code, broken.range.start.line) == ("TDV999", 0)
        assert [one.code for one in await editor.diagnostics(cell_uri(editor, 4))] == ["TDV001"]
        notebook = types.NotebookDocumentIdentifier(editor.uri("a.ipynb"))
        cells = [types.TextDocumentIdentifier(cell_uri(editor, number)) for number in (1, 3, 4, 5)]
        editor.notebook_document_did_close(types.DidCloseNotebookDocumentParams(notebook, cells))
        assert await editor.diagnostics(cell_uri(editor, 5), None) == []
        assert await editor.diagnostics(cell_uri(editor, 4), None) == []


# -- configuration


@session
async def test_the_users_settings_go_over_the_projects(root: Path) -> None:
    async with serving(root, ABLE, ignore=["TDV001"]) as editor:
        uri = editor.open("a.py", PROGRAM)
        await until(lambda: bool(editor.published) and not editor.published[-1].diagnostics)
        assert types.WORKSPACE_DID_CHANGE_CONFIGURATION in editor.registered
        editor.settings = {}
        editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await until(lambda: bool(editor.published[-1].diagnostics))
        settings = {"torchdev-lint": {"select": ["TDV002"]}}
        editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
        await until(lambda: not editor.published[-1].diagnostics)
        assert editor.published[-1].uri == uri


@session
async def test_settings_that_cannot_be_used_are_told_of_and_left_out(root: Path) -> None:
    options = {"torchdev-lint": {"selekt": ["TDV001"], "delay": "soon", "inlayHints": False}}
    async with serving(root, PLAIN, options) as editor:
        uri = editor.open("a.py", PROGRAM)
        assert [one.code for one in await editor.diagnostics(uri)] == ["TDV001"]
        assert await editor.hints(uri) == []
        assert editor.messages == [
            "torchdev-lint: settings: unknown key 'selekt'; did you mean 'select'?",
            "torchdev-lint: settings: 'delay' must be a number of milliseconds, from 0 to 60000, not 'soon'",
        ]


@session
async def test_a_changed_configuration_file_is_read_again_and_its_mistakes_are_shown_once(root: Path) -> None:
    config = root / "pyproject.toml"

    def write(text: str) -> None:
        config.write_text(text)
        event = types.FileEvent(config.as_uri(), types.FileChangeType.Changed)
        editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    async with serving(root) as editor:
        uri = editor.open("a.py", PROGRAM)
        await editor.diagnostics(uri)
        assert types.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.registered
        write("[tool.torchdev-lint]\nignore = ['TDV001']\n")
        await until(lambda: not editor.published[-1].diagnostics)
        write("[tool.torchdev-lint]\nignroe = []\n")
        await until(lambda: bool(editor.messages))
        (message,) = editor.messages
        assert "pyproject.toml" in message
        assert "did you mean 'ignore'?" in message
        editor.open("b.py", PROGRAM)
        assert await editor.diagnostics(editor.uri("b.py")) == []
        assert len(editor.messages) == 1
        write("")
        await until(lambda: bool(editor.published[-1].diagnostics))


@session
async def test_what_the_client_said_when_it_began_holds_while_it_has_nothing_else_to_say(root: Path) -> None:
    options = {"torchdev-lint": {"ignore": ["TDV001"]}}
    async with started(root) as editor:
        editor.settings = None
        await begin(editor, ABLE, options)
        uri = editor.open("a.py", PROGRAM)
        assert await editor.diagnostics(uri) == []
        editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument(f"{PROGRAM}\n"))
        assert await editor.diagnostics(uri, 2) == []
        await end(editor)


@session
async def test_files_that_change_on_disk_are_read_again_unless_they_are_open(root: Path) -> None:
    (root / "pyproject.toml").write_text("")
    parts = root / "parts.py"
    program = PROGRAM.replace("x = torch.zeros(3, 2)", "x = ids()").replace(
        "from torch import nn", "from torch import nn\nfrom parts import ids"
    )

    def write(place: str, kind: types.FileChangeType) -> None:
        parts.write_text(f"import torch\n\n\ndef ids():\n    return torch.zeros(3, 2, device='{place}')\n")
        event = types.FileEvent(parts.as_uri(), kind)
        editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    async with serving(root) as editor:
        uri = editor.open("a.py", program)
        assert await editor.diagnostics(uri) == []
        write("cpu", types.FileChangeType.Created)
        await until(lambda: bool(editor.published[-1].diagnostics))
        write("cuda", types.FileChangeType.Changed)
        await until(lambda: not editor.published[-1].diagnostics)
        opened = editor.open("parts.py", parts.read_text())
        await editor.diagnostics(opened)
        count = len(editor.published)
        write("cpu", types.FileChangeType.Changed)
        await asyncio.sleep(2)
        assert len(editor.published) <= count + 1
        assert not any(one.diagnostics for one in editor.published[count:])


@session
async def test_excluded_files_are_left_alone(root: Path) -> None:
    (root / "pyproject.toml").write_text("[tool.torchdev-lint]\nextend-exclude = ['old']\n")
    (root / "old").mkdir()
    async with serving(root) as editor:
        assert await editor.diagnostics(editor.open("old/a.py", PROGRAM)) == []
        assert len(await editor.diagnostics(editor.open("a.py", PROGRAM))) == 1


# -- many things at once


def long(functions: int) -> str:
    return "import torch\n" + "\n".join(
        f"def f{n}(x: torch.Tensor):\n    y = x.cpu()\n    for i in range(3):\n        y = y + i\n    return f{n - 1}(y)"
        for n in range(1, functions + 1)
    )


LONG = long(149)


@session
async def test_a_question_that_is_given_up_is_not_answered_and_the_server_goes_on(root: Path) -> None:
    async with serving(root) as editor:
        uri = editor.open("a.py", LONG)
        params = types.InlayHintParams(
            types.TextDocumentIdentifier(uri), types.Range(types.Position(0, 0), types.Position(9999, 0))
        )
        given_up = editor.protocol.send_request("textDocument/inlayHint", params, msg_id="given-up")
        editor.cancel_request(types.CancelParams("given-up"))
        with pytest.raises(JsonRpcException, match="canceled"):
            await asyncio.wrap_future(given_up)
        assert len(await editor.hints(uri)) == 2 * 149


@session
async def test_an_analysis_is_cut_short_by_the_next_version(root: Path) -> None:
    text = long(1000)  # Not done before the next version is there, on a fast machine or a busy one.
    async with serving(root) as editor:
        uri = editor.open("a.py", text)
        before = time.monotonic()
        await editor.diagnostics(uri)
        whole = time.monotonic() - before
        versions = range(2, 10)
        before = time.monotonic()
        for version in versions:
            question = editor.protocol.send_request_async(
                "textDocument/hover",
                types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(2, 4)),
            )
            asked = asyncio.ensure_future(question)
            await asyncio.sleep(0.02)
            editor.change(uri, version, types.TextDocumentContentChangeWholeDocument(f"# {version}\n{text}"))
            with pytest.raises(JsonRpcException, match="the text has changed"):
                await asked
        await editor.diagnostics(uri, 9)
        assert time.monotonic() - before < len(versions) * whole / 2
        assert [one.version for one in editor.published] in ([1, 9], [9])


@session
async def test_texts_stay_in_step_with_the_client_whatever_is_typed(root: Path) -> None:
    signs = ["x", "\n", "\r\n", "\r", "\f", "\u2028", "\x1c", "\u00e9", "\U0001f600", "\t", "\x85"]
    chance = random.Random(7)
    opening, rest = 'S = """', '"""\nimport torch\nfrom torch import nn\nm = nn.Linear(2, 2).cuda()\n'
    rest += "é = '\U0001f600'; m(torch.zeros(2, 2))\n"
    for capabilities, width in ((ABLE, "utf-8"), (PLAIN, "utf-16-le")):
        async with serving(root, capabilities, {"delay": 0}) as editor:
            inside = "a\nb"
            uri = editor.open("a.py", opening + inside + rest)
            for version in range(2, 80):
                text = opening + inside + rest
                places = [n for n in range(len(inside) + 1) if inside[max(n - 1, 0) : n + 1] != "\r\n"]
                start, stop = sorted(chance.choices(places, k=2))
                new = "".join(chance.choices(signs, k=chance.randrange(7)))
                at = [position(text, len(opening) + offset, width) for offset in (start, stop)]
                inside = inside[:start] + new + inside[stop:]
                editor.change(uri, version, types.TextDocumentContentChangePartial(types.Range(*at), new))
            text = opening + inside + rest
            (found,) = await editor.diagnostics(uri, 79)
            assert found.range.start == position(text, text.index("torch.zeros"), width)


def rows(text: str) -> list[str]:
    """The rows with their ends, as the protocol has them."""
    found = [""]
    for index, sign in enumerate(text):
        found[-1] += sign
        if sign == "\n" or (sign == "\r" and text[index + 1 : index + 2] != "\n"):
            found.append("")
    return found


def position(text: str, offset: int, width: str) -> types.Position:
    before = rows(text[:offset])
    return types.Position(len(before) - 1, units(before[-1], width))


def units(text: str, width: str) -> int:
    return len(text.encode(width)) // (2 if width == "utf-16-le" else 1)


# -- the end


@session
async def test_a_client_that_ends_without_a_word_takes_the_server_with_it(root: Path) -> None:
    editor = Editor(root)
    await editor.start_io(*SERVER, cwd=root)
    process = editor._server
    assert process is not None
    assert process.stdin is not None
    await begin(editor, ABLE)
    editor.open("a.py", LONG)
    process.stdin.close()
    assert await process.wait() in (0, 1)
    await editor.stop()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere, nobody is asked whether it is alive")
@session
async def test_a_client_that_is_killed_takes_the_server_with_it_even_if_the_pipe_stays_open(
    root: Path,
) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    editor = Editor(root)
    await editor.start_io(*SERVER, cwd=root)
    process = editor._server
    assert process is not None
    await editor.initialize_async(types.InitializeParams(capabilities=PLAIN, process_id=parent.pid))
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), 2.5)
    parent.kill()
    parent.communicate()
    assert await process.wait() == 1
    await editor.stop()


def test_nothing_but_the_protocol_is_written_to_standard_output(tmp_path: Path) -> None:
    noise = (
        "import sys, os; from torchdev_lint.engine import check; real = check.check_source\n"
        "def loud(*given, **more):\n"
        "    print('printed', flush=True); os.system('echo from a child'); return real(*given, **more)\n"
        "check.check_source = loud\n"
        "from torchdev_lint.cli import main; sys.exit(main(['server']))"
    )
    document = {"uri": (tmp_path / "a.py").as_uri(), "languageId": "python", "version": 1, "text": PROGRAM}
    with subprocess.Popen(
        [sys.executable, "-c", noise],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def send(method: str, params: object, **more: object) -> None:
            assert process.stdin is not None
            body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            process.stdin.flush()

        def receive() -> Any:
            assert process.stdout is not None
            header = process.stdout.readline()
            assert header.startswith(b"Content-Length: "), header
            while process.stdout.readline() != b"\r\n":
                pass
            return json.loads(process.stdout.read(int(header.partition(b": ")[2])))

        send("initialize", {"capabilities": {}, "processId": None, "rootUri": None}, id=1)
        assert receive()["id"] == 1
        send("initialized", {})
        send("textDocument/didOpen", {"textDocument": document})
        assert len(receive()["params"]["diagnostics"]) == 1
        send("shutdown", None, id=2)
        assert receive()["id"] == 2
        send("exit", None)
        assert process.stdout.read() == b""
        assert process.stderr is not None
        assert process.stderr.read().decode().splitlines() == ["printed", "from a child"]


@session
async def test_messages_that_make_no_sense_do_not_end_it(root: Path) -> None:
    async with started(root, stderr=None) as editor:
        await begin(editor, ABLE)
        process = editor._server
        assert process is not None
        assert process.stdin is not None
        for body in (
            b"{]",
            json.dumps({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"no": 1}}).encode(),
            json.dumps({"jsonrpc": "2.0", "method": "no/such", "params": {}}).encode(),
        ):
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        unopened = types.VersionedTextDocumentIdentifier(2, editor.uri("z.py"))
        whole = types.TextDocumentContentChangeWholeDocument("")
        editor.text_document_did_change(types.DidChangeTextDocumentParams(unopened, [whole]))
        assert len(await editor.diagnostics(editor.open("a.py", PROGRAM))) == 1
        await end(editor)


@session
async def test_a_bug_of_ours_is_told_and_does_not_end_it(root: Path) -> None:
    bug = (
        "import sys; from torchdev_lint.engine import check; real = check.check_source\n"
        "def broken(text, *given, **more):\n"
        "    if 'CRASH' in text: raise RuntimeError('a bug')\n"
        "    return real(text, *given, **more)\n"
        "check.check_source = broken\n"
        "from torchdev_lint.cli import main; sys.exit(main(['server']))"
    )
    async with started(root, sys.executable, "-c", bug) as editor:
        await begin(editor, ABLE)
        assert await editor.diagnostics(editor.open("b.py", PROGRAM + "# CRASH\n")) == []
        assert "internal error: RuntimeError: a bug" in editor.messages[0]
        assert len(await editor.diagnostics(editor.open("a.py", PROGRAM))) == 1
        await end(editor)


# -- the command


def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        input="",
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_without_its_packages_the_command_says_how_to_get_them(tmp_path: Path) -> None:
    blocked = "import sys; sys.modules['pygls'] = sys.modules['lsprotocol'] = None\n"
    code = blocked + "from torchdev_lint.cli import main; sys.exit(main(['server']))"
    assert run("-c", code) == (
        2,
        "",
        "torchdev-lint: error: the language server needs pygls, which is not installed: "
        "pip install 'torchdev-lint[lsp]'\n",
    )


def test_a_user_to_whom_warnings_are_errors_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pygls asks what Python 3.14 warns of; earlier Pythons have nothing to say here.
    monkeypatch.setenv("PYTHONWARNINGS", "error::DeprecationWarning")

    async def served() -> None:
        async with serving(tmp_path) as editor:
            assert len(await editor.diagnostics(editor.open("a.py", PROGRAM))) == 1

    asyncio.run(asyncio.wait_for(served(), 180))


def test_an_unknown_flag_is_refused() -> None:
    code, out, err = run("-m", "torchdev_lint", "server", "--socket=1")
    assert (code, out) == (2, "")
    assert "unrecognized arguments: --socket=1" in err


def test_asking_for_help_loads_nothing_of_it() -> None:
    probe = (
        "import sys\nfrom torchdev_lint.cli import main\ntry:\n    main(['server', '--help'])\n"
        "except SystemExit:\n    pass\nsys.stderr.write(repr({'pygls', 'lsprotocol', 'libcst'} & set(sys.modules)))"
    )
    assert run("-c", probe)[2] == "set()"


@pytest.mark.skipif(os.name != "posix", reason="the signal is POSIX")
def test_an_interrupt_ends_it_quietly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert out == b""
    assert b"Traceback" not in err
