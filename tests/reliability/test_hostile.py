"""Projects that try to have code executed, or files read and written outside of them, by being linted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

BAD = "import torch\nmodel = torch.nn.Linear(2, 2).cuda()\nx = torch.ones(2, 2)\nx.to('cuda')\nmodel(x)\n"
TRAP = "open({marker!r}, 'w').close()\n"
SHADOWS = [
    "ast", "difflib", "html", "json", "libcst", "pathspec", "rich", "sitecustomize", "stat", "tempfile", "tomli", "tomllib", "torch",
    "usercustomize", "xml",
]  # fmt: skip

posix = pytest.mark.skipif(os.name != "posix", reason="links and pipes need a right or are not there")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory that may be linted; what is beside it may not be touched."""
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


def lint(directory: Path, *arguments: str, module: str = "torchdev_lint") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def everything(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and ".torchdev" not in str(path)
    }


@pytest.mark.parametrize(
    "arguments",
    [["--output-format=full"], ["--output-format=html"], ["--output-format=json", "--fix", "--unsafe-fixes"]],
)
def test_modules_of_the_project_are_not_imported(project: Path, arguments: list[str]) -> None:
    marker = project.parent / "executed"
    for name in SHADOWS:
        (project / f"{name}.py").write_text(TRAP.format(marker=str(marker)))
    package = project / "numpy"
    package.mkdir()
    (package / "__init__.py").write_text(TRAP.format(marker=str(marker)))
    (project / "main.py").write_text(BAD + "import numpy, json, libcst\n")
    (project / "pyproject.toml").write_text("[tool.torchdev-lint]\nselect = ['TDV']\n")
    result = lint(project, "check", *arguments, "main.py")
    assert not marker.exists()
    assert result.returncode in (0, 1)
    assert "Traceback" not in result.stderr


def test_code_in_a_file_to_check_is_not_executed(project: Path) -> None:
    marker = project.parent / "executed"
    trap = TRAP.format(marker=str(marker))
    (project / "main.py").write_text(f"# -*- coding: utf-8 -*-\n{BAD}{trap}import conftest, setup\n")
    for name in ("conftest.py", "setup.py", "__init__.py", "noxfile.py"):
        (project / name).write_text(f"import torch\n{trap}{BAD}")
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [
        {**cell, "source": ["!touch " + str(marker)]},
        {**cell, "source": ["%%bash\n", "touch " + str(marker)]},
        {**cell, "source": [f"%run {project / 'setup.py'}\n", "%load_ext setup"]},
        {**cell, "source": BAD.splitlines(keepends=True)},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "book.ipynb").write_text(json.dumps(notebook))
    result = lint(project, "check", "--output-format=concise", ".")
    assert not marker.exists()
    assert result.returncode == 1
    assert "book.ipynb" in result.stdout
    assert "main.py" in result.stdout


@pytest.mark.parametrize(
    "settings",
    [
        "extend = '../secret.toml'",
        "extend = '$SECRET/x.toml'",
        "plugins = ['evil']",
        'tensor-constructors = [\'__import__("os").system("touch executed")\']',
        "tensor-constructors = ['(' , ')', '', '..', 'a..b', '\\u0000']",
        "device-sources = ['eval', 'exec(x)', '*']",
        "select = ['../../x', '$(touch executed)']",
        "exclude = ['(?{', '[', '**' , '{a,b', '\\u0000', '/../../*']",
        "src = ['../..', '/', '\\u0000']",
        "stubs = ['../secret.pyi']",
        "stubs = ['http://localhost:1/x.pyi']",
        "stubs = ['stub.py']",
        "baseline = '../secret.toml'",
    ],
)
def test_a_hostile_configuration_executes_and_writes_nothing(
    project: Path, settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    (project.parent / "secret.toml").write_text("SECRET = 'hidden'\n")
    (project.parent / "secret.pyi").write_text("SECRET == hidden\n")
    (project / "stub.py").write_text("open('executed', 'w').close()\ndef f() -> 'cuda': ...\n")
    (project / "main.py").write_text(BAD)
    (project / "pyproject.toml").write_text(f"[tool.torchdev-lint]\n{settings}\n")
    before = everything(project.parent)
    result = lint(project, "check", "--output-format=concise", "main.py")
    assert everything(project.parent) == before
    assert result.returncode in (1, 2)
    assert "Traceback" not in result.stderr
    assert "internal error" not in result.stderr
    assert "hidden" not in result.stdout + result.stderr


def test_fixes_stay_within_what_was_asked_for(project: Path) -> None:
    """Files that the project imports from elsewhere are read at most."""
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "helper.py").write_text(BAD)
    (project / "escape").symlink_to(outside, target_is_directory=True)
    (project / "main.py").write_text("from escape.helper import model\nfrom ..outside import helper\n" + BAD)
    (project / "pyproject.toml").write_text("[tool.torchdev-lint]\nsrc = ['../outside', '.']\n")
    lint(project, "check", "--fix", "--unsafe-fixes", ".")
    assert (outside / "helper.py").read_text() == BAD
    assert (project / "main.py").read_text().count("x = x.to('cuda')") == 1
    assert os.listdir(outside) == ["helper.py"]


@pytest.mark.parametrize(
    "name", ["x; touch executed.py", "$(touch executed).py", "--fix.py", "`touch executed`.py", "%s%n.py"]
)
def test_a_hostile_name_is_a_name(project: Path, name: str) -> None:
    (project / name).write_text(BAD)
    result = lint(project, "check", "--isolated", "--no-cache", "--output-format=concise", ".")
    assert os.listdir(project) == [name]
    assert name in result.stdout
    assert (project / name).read_text() == BAD


@posix
def test_links_in_the_place_of_the_cache_lead_nowhere(project: Path) -> None:
    """A checkout can hold links; what they lead to is neither overwritten nor added to."""
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    (project / "main.py").write_text(BAD)
    cache = project / ".torchdev_lint_cache"
    for name in (".gitignore", "CACHEDIR.TAG"):
        cache.mkdir()
        (cache / name).symlink_to(outside / "precious")
        assert lint(project, "check", "--isolated", "--quiet", "main.py").returncode == 1
        assert (outside / "precious").read_text() == "precious"
        shutil.rmtree(cache)
    cache.symlink_to(outside, target_is_directory=True)
    assert lint(project, "check", "--isolated", "--quiet", "main.py").returncode == 1
    assert os.listdir(outside) == ["precious"]


@posix
def test_a_cache_that_comes_with_the_project_is_not_believed(project: Path) -> None:
    """It may claim that a file is clean. One that was made here is; and one that is named by who runs this."""
    (project / "main.py").write_text(BAD)
    command = ["check", "--isolated", "--output-format=concise", "main.py"]
    assert lint(project, *command).stdout.count("TDV") > 0
    cache = project / ".torchdev_lint_cache"
    (kept,) = cache.glob("*.json")
    head, _, body = kept.read_bytes().partition(b"\n")
    content = json.loads(body)
    (path,) = (path for path in content["entries"] if path.endswith("main.py"))
    content["entries"][path][4] = []
    body = json.dumps(content, separators=(",", ":")).encode()
    kept.write_bytes(head.rpartition(b" ")[0] + b" %08x\n" % zlib.crc32(body) + body)
    assert lint(project, *command).stdout.count("TDV") == 0, "this test does not know how results are kept"
    shutil.copytree(cache, project / "elsewhere")
    shutil.rmtree(cache)
    shutil.copytree(project / "elsewhere", cache)  # As a checkout does.
    assert lint(project, *command).stdout.count("TDV") > 0
    assert lint(project, *command, "--cache-dir=elsewhere").stdout.count("TDV") == 0


@posix
@pytest.mark.parametrize("name", [".gitignore", "pyproject.toml", "torchdev-lint.toml", "helper.py", "cache"])
def test_a_pipe_in_the_project_keeps_nobody_waiting(project: Path, name: str) -> None:
    (project / "main.py").write_text("from helper import x\n" + BAD)
    (project / ".git").mkdir()
    if name == "cache":
        assert lint(project, "check", "--quiet", "main.py").returncode == 1
        (kept,) = (project / ".torchdev_lint_cache").glob("*.json")
        kept.unlink()
        name = str(kept)
    os.mkfifo(project / name)
    result = lint(project, "check", "--quiet", "main.py", ".")
    assert result.returncode == (2 if name.endswith(".toml") else 1)
    assert result.stderr.count("\n") == (1 if name.endswith(".toml") else 0)


@posix
def test_a_link_to_a_file_outside_of_the_project_is_not_written_through(project: Path) -> None:
    (project.parent / "outside.py").write_text(BAD)
    (project / "inside.py").write_text(BAD)
    (project / "main.py").symlink_to("../outside.py")
    (project / "near.py").symlink_to("inside.py")
    fix = ["check", "--isolated", "--quiet", "--fix", "--unsafe-fixes"]
    for arguments in ([*fix, "."], [*fix, "main.py"], ["check", "--isolated", "--add-noqa", "main.py"]):
        result = lint(project, *arguments)
        assert result.returncode == 2
        assert (
            f"main.py: not written: a link to a file outside of the project; give {project.parent}/outside.py"
            in result.stderr
        )
        assert (project.parent / "outside.py").read_text() == BAD
    assert (project / "inside.py").read_text() != BAD
    (project / "inside.py").write_text(BAD)
    assert lint(project, *fix, "near.py").returncode == 0
    assert (project / "inside.py").read_text() != BAD
