"""The real client: python-lsp-server with python-lsp-ruff, told to call `torchdev-ruff`, driven over stdio as an editor does."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("pylsp", "pylsp_ruff", "ruff")),
    reason="python-lsp-server, python-lsp-ruff and ruff are not installed",
)

SOURCE = """\
import os
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 3).to(device)
x = torch.zeros(2, 3)
model(x)
"""

PATIENCE = 60
"""Seconds to wait for an answer: the machine may be busy."""


class Client:
    """Enough of an editor to ask a language server."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        self.number = 0

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.decode().partition(":")
                length = int(value) if name.lower() == "content-length" else length
                header = stream.readline()
            self.answers.put(json.loads(stream.read(length)))

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        self.send(method, params, self.number)
        while True:
            answer = self.answers.get(timeout=PATIENCE)
            if answer.get("id") == self.number and "method" not in answer:
                assert "error" not in answer, answer
                return answer["result"]

    def diagnostics(self) -> list[dict[str, Any]]:
        while True:
            answer = self.answers.get(timeout=PATIENCE)
            if answer.get("method") == "textDocument/publishDiagnostics":
                found: list[dict[str, Any]] = answer["params"]["diagnostics"]
                return found


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    """`torchdev-ruff` as an installed script."""
    path = tmp_path / "bin" / "torchdev-ruff"
    path.parent.mkdir()
    path.write_text(
        f"#!{sys.executable}\nimport sys\nfrom torchdev_lint.ruff_api_shim import main\nsys.exit(main())\n"
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def client(tmp_path: Path, executable: Path) -> Iterator[Client]:
    """A server for an empty project, with nothing but ruff turned on."""
    project = tmp_path / "project"
    project.mkdir()
    names = "pycodestyle pyflakes mccabe autopep8 yapf pylint flake8 jedi_completion jedi_definition preload".split()
    plugins: dict[str, Any] = {name: {"enabled": False} for name in names}
    plugins["ruff"] = {
        "enabled": True,
        "executable": str(executable),
        "select": ["F", "TDV"],
        "extendSelect": ["E711"],
        "lineLength": 100,
        "targetVersion": "py310",
    }
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "pylsp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=project,
    )
    client = Client(process)
    try:
        client.ask("initialize", {"processId": None, "rootUri": project.as_uri(), "capabilities": {}})
        client.send("initialized", {})
        client.send("workspace/didChangeConfiguration", {"settings": {"pylsp": {"plugins": plugins}}})
        yield client
        client.ask("shutdown", None)
        client.send("exit", None)
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
        client.thread.join(PATIENCE)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """The text after LSP edits (all of it ASCII)."""
    lines = text.splitlines(keepends=True)

    def offset(place: dict[str, int]) -> int:
        return sum(map(len, lines[: place["line"]])) + place["character"]

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text


def test_diagnostics_quick_fix_and_fix_all(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "project" / "train.py"
    path.write_text("")  # What counts is the text in the editor.
    uri = path.as_uri()
    opened = {"uri": uri, "languageId": "python", "version": 1, "text": SOURCE}
    client.send("textDocument/didOpen", {"textDocument": opened})
    diagnostics = client.diagnostics()
    assert [(one["code"], one["range"]["start"]) for one in diagnostics] == [
        ("F401", {"line": 0, "character": 7}),
        ("TDV001", {"line": 7, "character": 6}),
    ]
    ours = diagnostics[1]
    assert ours["message"].startswith("`x` is on the CPU, but the model `model`")

    actions = client.ask(
        "textDocument/codeAction",
        {"textDocument": {"uri": uri}, "range": ours["range"], "context": {"diagnostics": [ours]}},
    )
    by_title = {action["title"]: action for action in actions}

    def result(title: str) -> str:
        (edits,) = by_title[title]["edit"]["changes"].values()
        return applied(SOURCE, edits)

    (fix,) = (title for title in by_title if "(TDV001)" in title and "Disable" not in title)
    assert result(fix) == SOURCE.replace("model(x)", "model(x.to(device))")
    (silence,) = (title for title in by_title if "Disable" in title)
    assert result(silence) == SOURCE.replace("model(x)", "model(x)  # noqa: TDV001")
    (everything,) = (title for title in by_title if "Fix All" in title)
    assert result(everything) == SOURCE.replace("import os\n", "").replace("model(x)", "model(x.to(device))")
