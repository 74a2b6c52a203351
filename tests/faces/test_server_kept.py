"""The language server and what is kept: it takes what the command line found, and adds to it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the language server's tests need pygls: pip install -e '.[lsp]'")

from language_client import serving

from torchdev_lint.lsp import analysis as analysis_module
from torchdev_lint.lsp.analysis import Analysis, Reader
from torchdev_lint.lsp.preferences import Preferences
from torchdev_lint.lsp.programs import Part, Program

MADE = "import torch\n\n\ndef made():\n    return torch.ones(2)\n"
USES = "import torch\nfrom made import made\n\nx = torch.ones(2, device='cuda') + made()\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.torchdev-lint]\n")
    (tmp_path / "made.py").write_text(MADE)
    (tmp_path / "uses.py").write_text(USES)
    return tmp_path


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the programs that are analysed."""
    paths: list[str] = []
    real = analysis_module.findings

    def watched(text: str, path: str, *more: object, **named: object) -> object:
        paths.append(Path(path).name)
        return real(text, path, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(analysis_module, "findings", watched)
    return paths


def ask(
    reader: Reader, path: Path, text: str, others: dict[Path, str] | None = None, **more: bool
) -> Analysis:
    program = Program(path.as_uri(), str(path), (Part(path.as_uri(), text, 1),), 1, cells=False)
    texts = {str(path): text, **{str(one): other for one, other in (others or {}).items()}}
    return reader.analyse(program, texts, lambda: True, **more)


def lint(root: Path, *arguments: str) -> tuple[list[str], bool]:
    """What the command line finds, and whether it had to look."""
    code = "import json, sys\nfrom torchdev_lint.cli import main\nmain(sys.argv[1:])\nsys.stdout.flush()\n"
    code += "print(json.dumps('libcst' in sys.modules), file=sys.stderr)"
    command = [sys.executable, "-c", code, "-q", "--output-format=json-lines", "--jobs=1", ".", *arguments]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return result.stdout.splitlines(), json.loads(result.stderr.splitlines()[-1])


def test_what_the_command_line_found_is_shown_without_an_analysis(root: Path, checks: list[str]) -> None:
    lint(root)
    reader = Reader(str(root))
    kept = ask(reader, root / "uses.py", USES)
    assert checks == []
    fresh = ask(reader, root / "uses.py", USES, observed=True)
    assert checks == ["uses.py"]
    assert (kept.kept, fresh.kept) == (True, False)
    assert len(kept.found) == 1
    assert (kept.found, kept.placed, kept.reads, kept.texts) == (
        fresh.found,
        fresh.placed,
        fresh.reads,
        fresh.texts,
    )
    # What is seen in a program is not kept.
    assert kept.observer is None
    assert fresh.observer is not None


def test_hints_are_there_when_the_findings_are_kept(root: Path) -> None:
    (root / "uses.py").write_text("import torch\n\nx = torch.ones(2, device='cuda')\ny = x + torch.ones(2)\n")

    async def hints() -> tuple[list[object], list[object]]:
        async with serving(root) as editor:
            uri = editor.open("uses.py", (root / "uses.py").read_text())
            found = await editor.diagnostics(uri)
            return [one.code for one in found], list(await editor.hints(uri))

    expected = asyncio.run(hints())
    lint(root)
    assert asyncio.run(hints()) == expected
    assert expected[1]


def test_a_text_that_is_not_saved_is_analysed(root: Path, checks: list[str]) -> None:
    lint(root)
    reader = Reader(str(root))
    assert ask(reader, root / "uses.py", USES.replace("cuda", "cpu")).found == ()
    on_cuda = MADE.replace("ones(2)", "ones(2, device='cuda')")
    assert ask(reader, root / "uses.py", USES, {root / "made.py": on_cuda}).found == ()
    assert checks == ["uses.py", "uses.py"]
    assert len(ask(reader, root / "uses.py", USES, {root / "made.py": MADE}).found) == 1
    assert len(checks) == 2
    (root / "made.py").write_text(on_cuda)
    assert ask(reader, root / "uses.py", USES).found == ()
    assert len(checks) == 3
    assert lint(root)[0] == lint(root, "--no-cache")[0] == []


def test_the_command_line_takes_what_the_server_found(root: Path, checks: list[str]) -> None:
    (root / "first.py").write_text("print(1)\n")
    lint(root, "--extend-exclude=uses.py,made.py")
    reader = Reader(str(root))
    for name, text in (("made.py", MADE), ("uses.py", USES)):
        ask(reader, root / name, text)
        assert reader._kept is not None
        reader._kept._saved = float("-inf")
    assert checks == ["made.py", "uses.py"]
    expected, _ = lint(root, "--no-cache")
    assert lint(root) == (expected, False)
    assert len(expected) == 1


def test_an_editor_keeps_nothing_where_nobody_does(root: Path) -> None:
    ask(Reader(str(root)), root / "uses.py", USES)
    assert not (root / ".torchdev_lint_cache").exists()


def test_settings_that_come_while_others_are_read_are_not_lost(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's settings arrive in the thread of the messages, while that of the analyses reads the configuration."""
    reader = Reader(str(root))
    real = Preferences.settings

    def interrupted(preferences: Preferences, where: str) -> object:
        settings = real(preferences, where)
        if not preferences.ignore:
            reader.configure(Preferences(ignore=("TDV004",)))
        return settings

    monkeypatch.setattr(Preferences, "settings", interrupted)
    path = root / "uses.py"
    assert [one.code for one in ask(reader, path, USES).found] == ["TDV004"]
    assert ask(reader, path, USES).found == ()
