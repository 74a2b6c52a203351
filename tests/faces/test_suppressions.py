"""`--add-noqa`, and TDV900: comments that silence nothing."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixture_files import FixtureFile, fixture_files
from notebook_files import code_cell, notebook, of_program
from ruff_reference import RUFF

from torchdev_lint.config import Config
from torchdev_lint.engine.add_noqa import add_noqa
from torchdev_lint.engine.file_check import check_bytes

Cli = Callable[..., Any]
HEAD = "import torch\n"
BAD = [fixture for fixture in fixture_files() if fixture.bad]

ADDED = {
    "x = SAFE\n": "x = SAFE  # noqa: TDV001\n",
    "x = SAFE": "x = SAFE  # noqa: TDV001",
    "x = SAFE   \n": "x = SAFE  # noqa: TDV001\n",
    "x = SAFE, RISKY, SAFE\n": "x = SAFE, RISKY, SAFE  # noqa: TDV001, TDV002\n",
    "x = SAFE  # why\n": "x = SAFE  # why  # noqa: TDV001\n",
    "x = SAFE  # noqa: E501\n": "x = SAFE  # noqa: E501, TDV001\n",
    "x = SAFE  # noqa: E501 long\n": "x = SAFE  # noqa: E501, TDV001 long\n",
    "x = SAFE  # noqa\n": "x = SAFE  # noqa\n",
    "x = SAFE, '''\n'''\ny\n": "x = SAFE, '''\n'''  # noqa: TDV001\ny\n",
    "x = \\\n  SAFE\ny\n": "x = \\\n  SAFE  # noqa: TDV001\ny\n",
    "x = (SAFE,\n  1)\n": "x = (SAFE,  # noqa: TDV001\n  1)\n",
    "x = SAFE\r\ny = SAFE\r\n": "x = SAFE  # noqa: TDV001\r\ny = SAFE  # noqa: TDV001\r\n",
    "x = (\n": "x = (\n",
    "x = 1\n": "x = 1\n",
}


@pytest.mark.parametrize(("text", "expected"), ADDED.items(), ids=ADDED)
def test_comments_are_added(cli: Cli, project: Path, text: str, expected: str) -> None:
    path = project / "a.py"
    path.write_bytes(f"{HEAD}{text}".encode())
    outcome = cli("--add-noqa", ".")
    assert (outcome.code, outcome.out) == (0, "")
    assert path.read_bytes().decode() == f"{HEAD}{expected}"
    assert cli("--ignore=TDV999").out == "All checks passed!\n"
    assert cli("--add-noqa").err == ""


def test_how_many_is_said(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE, SAFE\ny = RISKY\n")
    (project / "n.ipynb").write_text(notebook([code_cell("import torch"), code_cell("!ls\nx = SAFE")]))
    assert cli("--add-noqa=later, maybe").err == "Added 3 noqa directives.\n"
    assert (project / "a.py").read_text() == (
        f"{HEAD}x = SAFE, SAFE  # noqa: TDV001 later, maybe\ny = RISKY  # noqa: TDV002 later, maybe\n"
    )
    assert (project / "n.ipynb").read_text() == notebook(
        [code_cell("import torch"), code_cell("!ls\nx = SAFE  # noqa: TDV001 later, maybe")]
    )
    assert cli().code == 0
    (project / "b.py").write_text(f"{HEAD}x = SAFE\n")
    assert cli("--add-noqa").err == "Added 1 noqa directive.\n"


@pytest.mark.skipif(RUFF is None, reason="Ruff is not installed")
def test_ruff_says_the_same(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text("import os\nimport sys  # why\nimport re  # noqa: E501\n")
    command = [str(RUFF), "check", "--isolated", "--no-cache", "--select=F401", "--add-noqa", "a.py"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (result.returncode, result.stderr) == (0, "Added 3 noqa directives.\n")
    assert (project / "a.py").read_text() == (
        "import os  # noqa: F401\nimport sys  # why  # noqa: F401\nimport re  # noqa: E501, F401\n"
    )


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--add-noqa", "-"], "--add-noqa needs files to write to, not standard input"),
        (["--add-noqa", "--fix"], "--add-noqa cannot be given together with --fix or --diff"),
        (["--add-noqa=a\nb"], "--add-noqa: the reason has to be one line of text"),
    ],
)
def test_bad_usage(cli: Cli, project: Path, flags: list[str], line: str) -> None:
    outcome = cli(*flags)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == f"torchdev-lint: error: {line}"


def test_what_goes_wrong_in_one_file_does_not_stop_the_others(cli: Cli, project: Path) -> None:
    (project / "a.py").write_bytes(b"import torch\nx = SAFE  # \xff\n")
    (project / "b.py").write_text(f"{HEAD}CRASH\n")
    (project / "c.py").write_text(f"{HEAD}x = SAFE\n")
    outcome = cli("--add-noqa")
    assert outcome.code == 2
    lines = outcome.err.splitlines()
    assert lines[0].startswith("error: a.py: not valid utf-8")
    assert lines[1].startswith("error: b.py: internal error")
    assert lines[2:] == ["Added 1 noqa directive."]


@pytest.mark.parametrize("fixture", BAD[::5], ids=lambda fixture: fixture.id)
def test_fixtures_are_silent_afterwards(fixture: FixtureFile) -> None:
    config = Config(select=("ALL",))
    for name, text in (("a.py", fixture.text), ("n.ipynb", of_program(fixture.text)[0])):
        added = add_noqa(text.encode(), name, config, "")
        found = check_bytes(text.encode(), name, config).diagnostics
        assert added.count == len({(one.cell, one.range.start.row) for one in found}) > 0
        assert check_bytes(added.data, name, config).diagnostics == ()


UNUSED = {
    "x = 1  # noqa: TDV001\n": ("x = 1\n", "`TDV001` silences nothing here"),
    "x = SAFE  # noqa: TDV001\n": None,
    "x = SAFE  # noqa: TDV\n": None,
    "x = 1  # noqa\n": None,
    "x = 1  # noqa: E501\n": None,
    "x = 1  # noqa: E501, TDV001\n": ("x = 1  # noqa: E501\n", "`TDV001` silences nothing here"),
    "x = 1  # noqa: TDV001,E501,TDV002\n": (
        "x = 1  # noqa: E501\n",
        "`TDV001`, `TDV002` silence nothing here",
    ),
    "x = SAFE  # noqa: TDV001, TDV002\n": ("x = SAFE  # noqa: TDV001\n", "`TDV002` silences nothing here"),
    "x = SAFE  # noqa: TDV001,TDV002,E1\n": (
        "x = SAFE  # noqa: TDV001,E1\n",
        "`TDV002` silences nothing here",
    ),
    "x = 1  # noqa: TDV001 for later\n": ("x = 1\n", "`TDV001` silences nothing here"),
    "x = 1  # noqa: TDV001 # type: ignore\n": (
        "x = 1  # type: ignore\n",
        "`TDV001` silences nothing here",
    ),
    "x = 1  # type: ignore  # noqa: TDV001\n": (
        "x = 1  # type: ignore\n",
        "`TDV001` silences nothing here",
    ),
    "x = 1  # noqa: TDV099\n": ("x = 1\n", "`TDV099` silences nothing here"),
    "x = 1  # noqa: TDV999\n": ("x = 1\n", "`TDV999` silences nothing here"),
    "# flake8: noqa: TDV001\nx = 1\n": ("x = 1\n", "`TDV001` silences nothing in this file"),
    "# flake8: noqa: TDV001\nx = SAFE\n": None,
    "# flake8: noqa\nx = 1\n": None,
    "if x:\n    # torchdev: ignore[TDV001]\n    x = 1\n": (
        "if x:\n    x = 1\n",
        "`TDV001` silences nothing here",
    ),
    "# torchdev: ignore[TDV001]\nx = SAFE\n": None,
    "x = 1  # torchdev: ignore[hardcoded-device-index, TDV001]\n": (
        "x = 1\n",
        "`hardcoded-device-index`, `TDV001` silence nothing here",
    ),
    "x = RISKY  # torchdev: ignore[hardcoded-device-index, TDV001]\n": (
        "x = RISKY  # torchdev: ignore[hardcoded-device-index]\n",
        "`TDV001` silences nothing here",
    ),
    "x = 1  # torchdev: ignore[nonsense]\n": ("x = 1\n", "`nonsense` silences nothing here"),
    "# torchdev: file-ignore[TDV001]\nx = 1": ("x = 1", "`TDV001` silences nothing in this file"),
    "x = 1\n# noqa: TDV001": ("x = 1\n", "`TDV001` silences nothing here"),
}


@pytest.mark.parametrize(("text", "expected"), UNUSED.items(), ids=UNUSED)
def test_unused_comments(cli: Cli, project: Path, text: str, expected: tuple[str, str] | None) -> None:
    path = project / "a.py"
    path.write_text(f"{HEAD}{text}")
    found = json.loads(cli("--extend-select=TDV900", "--output-format=json").out)
    assert [one["message"] for one in found] == ([expected[1]] if expected else [])
    assert {one["code"] for one in found} <= {"TDV900"}
    fixed = cli("--extend-select=TDV900", "--fix", "--output-format=concise")
    assert (fixed.code, fixed.out.count("TDV900")) == (0, 0)
    assert path.read_text() == HEAD + (expected[0] if expected else text)


@pytest.mark.parametrize(
    "flags", [[], ["--select=ALL"], ["--select=TDV"], ["--extend-select=TDV900", "--ignore=TDV900"]]
)
def test_unused_comments_are_fine_unless_asked_for(cli: Cli, project: Path, flags: list[str]) -> None:
    (project / "a.py").write_text(f"{HEAD}x = 1  # noqa: TDV001\n")
    assert cli(*flags).out == "All checks passed!\n"


def test_the_configuration_may_ask_for_them(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.torchdev-lint]\nextend-select = ["TDV9"]\n')
    (project / "a.py").write_text("x = 1  # noqa: TDV001\n")
    assert "TDV900 [*]" in cli("--output-format=concise").out
    assert cli("--select=TDV001").code == 0
    assert cli("--ignore=TDV9").code == 0


def test_rules_that_were_not_run_may_have_their_comments(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}x = 1  # noqa: TDV001, TDV002\n")
    found = json.loads(cli("--select=TDV001,TDV900", "--output-format=json").out)
    assert [one["message"] for one in found] == ["`TDV001` silences nothing here"]


def test_unused_comments_in_notebooks(cli: Cli, project: Path) -> None:
    path = project / "n.ipynb"
    path.write_text(
        notebook([code_cell("import torch  # noqa: TDV001"), code_cell("x = SAFE  # noqa: TDV001")])
    )
    outcome = cli("--extend-select=TDV900", "--output-format=concise")
    assert outcome.out.startswith("n.ipynb:cell 1:1:15: TDV900 [*] `TDV001` silences nothing here\n")
    assert cli("--extend-select=TDV900", "--fix").code == 0
    assert path.read_text() == notebook([code_cell("import torch"), code_cell("x = SAFE  # noqa: TDV001")])
