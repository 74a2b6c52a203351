"""What leaves the meaning of a program as it is leaves the findings as they are."""

from __future__ import annotations

import ast
import io
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources

pytestmark = pytest.mark.untraced

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.py"))
SAMPLE = PROGRAMS[::6]
DIFFERENT_WHEN_SPLIT: dict[str, str] = {
    "distillation_bad": "told twice: where the program builds the teacher, and where the class keeps what it is given",
    "fno_normalizer_decode_good": "that its caller asks whether there is an accelerator is not known in the file of the method (TDV101)",
}
"""Programs whose findings change when their classes and functions move to a module of their own, and why."""
REFUSED_WHEN_RENAMED = {
    "moving_decorator_bad": "LibCST 1.9 overlooks the parentheses in `{k: (a if b else c)for k in d}`, which Python accepts",
}
"""Programs that are not read with the spaces which `untokenize` puts, and why."""

each_program = pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)


def found(text: str, path: str = "program.py") -> list[Diagnostic]:
    return check_source(text, path, Config())


def places(diagnostics: list[Diagnostic], shift: int = 0) -> list[tuple[str, int]]:
    return [(one.code, one.range.start.row - shift) for one in diagnostics]


def codes(diagnostics: list[Diagnostic]) -> Counter[str]:
    return Counter(one.code for one in diagnostics)


def local_names(tree: ast.Module) -> set[str]:
    """The variables of a program that nothing but a bare name refers to."""
    assigned = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    taken = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    taken |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword | ast.arg) and node.arg}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    taken |= {
        part for node in imports for part in ast.unparse(node).replace(".", " ").replace(",", " ").split()
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):  # a field is known by its name
            taken |= {name.id for part in node.body for name in ast.walk(part) if isinstance(name, ast.Name)}
        if isinstance(node, ast.JoinedStr):  # one token before Python 3.12
            taken |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return assigned - taken - {"_"}


def renamed(text: str) -> str:
    names = local_names(ast.parse(text))
    tokens = [
        token._replace(string=f"{token.string}_renamed")
        if token.type == tokenize.NAME and token.string in names
        else token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    ]
    return tokenize.untokenize((token.type, token.string) for token in tokens)


@each_program
def test_renaming_variables(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    changed = renamed(text)
    ast.parse(changed)
    if path.stem in REFUSED_WHEN_RENAMED:
        assert places(found(changed)) == [("TDV999", 1)], f"take {path.stem} out of REFUSED_WHEN_RENAMED"
        pytest.xfail(REFUSED_WHEN_RENAMED[path.stem])
    assert places(found(changed)) == places(found(text))


@each_program
def test_dead_code_and_comments(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    start = next(
        node.end_lineno
        for node in reversed(ast.parse(text).body)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    assert start is not None
    dead = "# nothing\n\nif False:\n    unused_one = torch_is_not_here()\n\n\ndef never_called(one, two=3):\n    return one + two\n\n\n"
    changed = "".join([*lines[:start], dead, *lines[start:], "\nunused_other = {'a': [1, 2]}\n"])
    usual = [(code, row + dead.count("\n") * (row > start)) for code, row in places(found(text))]
    assert places(found(changed)) == usual


@each_program
def test_line_ends(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert places(found(text.replace("\n", "\r\n"))) == places(found(text))
    assert places(found(text.replace("\n", "\r"))) == places(found(text))


def test_formatting(tmp_path: Path) -> None:
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    if not Path(ruff).exists():
        pytest.skip("ruff is not installed")
    for path in SAMPLE:
        shutil.copy(path, tmp_path)
    command = [ruff, "format", "--isolated", "--line-length=60", "--no-cache", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    for path in SAMPLE:
        text = path.read_text(encoding="utf-8")
        assert codes(found((tmp_path / path.name).read_text(encoding="utf-8"))) == codes(found(text)), (
            path.name
        )


def split(text: str) -> tuple[str, str] | None:
    """The functions and classes that need nothing but imports and each other; and the rest, which imports them."""
    tree = ast.parse(text)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    movable = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    everything = {
        name.id
        for node in tree.body
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    } | set(movable)
    if any(isinstance(node, ast.Global) for node in ast.walk(tree)):
        return None
    while True:
        stay = everything - set(movable)
        own = {
            name: {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
            for name, node in movable.items()
        }
        bound = [
            name
            for name, node in movable.items()
            if any(
                isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in stay - own[name]
                for one in ast.walk(node)
            )
        ]
        if not bound:
            break
        for name in bound:
            del movable[name]
    if not movable:
        return None
    head = "\n".join(ast.unparse(node) for node in imports)
    helpers = "\n\n\n".join(ast.unparse(node) for node in movable.values())
    rest = "\n".join(ast.unparse(node) for node in tree.body if node not in (*imports, *movable.values()))
    return f"{head}\n\n\n{helpers}\n", f"{head}\nfrom helpers import {', '.join(movable)}\n\n{rest}\n"


@each_program
def test_splitting_a_file(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    parts = split(text)
    if parts is None:
        pytest.skip("every function needs what the file keeps")
    # the root of a project, whose files are all that it is made of
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").touch()
    for name, part in zip(("helpers.py", "program.py"), parts, strict=True):
        (tmp_path / name).write_text(part, encoding="utf-8")
    config = Config(root=str(tmp_path))
    sources = DiskSources()
    apart = [
        one
        for name, part in zip(("helpers.py", "program.py"), parts, strict=True)
        for one in check_source(part, str(tmp_path / name), config, sources)
    ]
    if path.stem in DIFFERENT_WHEN_SPLIT:
        assert codes(apart) != codes(found(text)), f"take {path.stem} out of DIFFERENT_WHEN_SPLIT"
        pytest.xfail(DIFFERENT_WHEN_SPLIT[path.stem])
    assert codes(apart) == codes(found(text))
