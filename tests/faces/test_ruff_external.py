"""`--add-ruff-external`: the edit of Ruff's configuration, and what Ruff then leaves alone."""

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ruff_reference import RUFF

from torchdev_lint.cli_ruff_external import with_external
from torchdev_lint.config import ConfigError

Cli = Callable[..., Any]
tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

CASES = {
    "no section": (
        "[project]\nname = 'x'\n",
        "[project]\nname = 'x'\n\n[tool.ruff.lint]\nexternal = [\"TDV\"]\n",
    ),
    "empty file": ("", '[tool.ruff.lint]\nexternal = ["TDV"]\n'),
    "a section without lint": (
        "[tool.ruff]\nline-length = 100 # long\n\n[tool.other]\nx = 1\n",
        '[tool.ruff]\nline-length = 100 # long\n\n[tool.ruff.lint]\nexternal = ["TDV"]\n\n[tool.other]\nx = 1\n',
    ),
    "a lint section": (
        '[tool.ruff.lint] # rules\nselect = ["E"]\n',
        '[tool.ruff.lint] # rules\nexternal = ["TDV"]\nselect = ["E"]\n',
    ),
    "a section below lint": (
        "[tool.ruff.lint.isort]\nx = 1\n",
        '[tool.ruff.lint.isort]\nx = 1\n\n[tool.ruff.lint]\nexternal = ["TDV"]\n',
    ),
    "dotted keys": (
        '[tool.ruff]\nlint.select = ["E"]\n',
        '[tool.ruff]\nlint.external = ["TDV"]\nlint.select = ["E"]\n',
    ),
    "a list": (
        '[tool.ruff.lint]\nexternal = ["V", "WPS"] # theirs\n',
        '[tool.ruff.lint]\nexternal = ["V", "WPS", "TDV"] # theirs\n',
    ),
    "an empty list": ("[tool.ruff.lint]\nexternal = []\n", '[tool.ruff.lint]\nexternal = ["TDV"]\n'),
    "a dotted list": (
        "[tool.ruff]\nlint.external = ['V']\n",
        "[tool.ruff]\nlint.external = ['V', \"TDV\"]\n",
    ),
    "a list over lines": (
        '[tool.ruff.lint]\nexternal = [\n    "V", # vulture ]\n]\nselect = ["E"]\n',
        '[tool.ruff.lint]\nexternal = [\n    "V", # vulture ]\n    "TDV",\n]\nselect = ["E"]\n',
    ),
    "a list over lines without the last comma": (
        '[tool.ruff.lint]\nexternal = [\n  "V"\n]\n',
        '[tool.ruff.lint]\nexternal = [\n  "V",\n  "TDV"\n]\n',
    ),
    "windows newlines": (
        '[tool.ruff.lint]\r\nselect = ["E"]\r\n',
        '[tool.ruff.lint]\r\nexternal = ["TDV"]\r\nselect = ["E"]\r\n',
    ),
    "an external of somebody else": (
        '[tool.other]\nexternal = ["X"]\n[tool.ruff.lint]\nselect = ["E"]\n',
        '[tool.other]\nexternal = ["X"]\n[tool.ruff.lint]\nexternal = ["TDV"]\nselect = ["E"]\n',
    ),
    "the words in a string": (
        'text = """\n[tool.ruff.lint]\nexternal = ["X"]\n"""\n',
        'text = """\n[tool.ruff.lint]\nexternal = ["X"]\n"""\n\n[tool.ruff.lint]\nexternal = ["TDV"]\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES.keys())
def test_the_edit_and_nothing_else(before: str, after: str) -> None:
    assert with_external(before, "pyproject.toml") == after
    assert with_external(after, "pyproject.toml") == after


@pytest.mark.parametrize("known", ["TDV", "T", "TD"])
def test_what_is_there_stays(known: str) -> None:
    text = f'[lint]\nexternal = ["{known}"]\n'
    assert with_external(text, "ruff.toml") == text


def test_in_a_ruff_toml() -> None:
    assert with_external("line-length = 100\n", "ruff.toml") == (
        'line-length = 100\n\n[lint]\nexternal = ["TDV"]\n'
    )
    assert (
        with_external('lint.select = ["E"]\n', ".ruff.toml")
        == 'lint.external = ["TDV"]\nlint.select = ["E"]\n'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.ruff\n", "pyproject.toml: not valid TOML"),
        ("[tool.ruff.lint]\nexternal = 3\n", "'external' must be a list of strings, not 3"),
        ("[tool.ruff]\nlint = {select = ['E']}\n", 'add external = ["TDV"] to [tool.ruff.lint]'),
    ],
)
def test_what_cannot_be_edited_is_left_with_advice(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_external(text, "pyproject.toml")
    assert message in str(caught.value)


def test_writes_the_file_that_ruff_reads(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.ruff]\n")
    (project / "pkg").mkdir()
    (project / "pkg/pyproject.toml").write_text("[project]\nname = 'x'\n")
    outcome = cli("--add-ruff-external", "--diff", "pkg")
    assert (outcome.code, '+external = ["TDV"]' in outcome.out) == (0, True)
    assert (project / "pyproject.toml").read_text() == "[tool.ruff]\n"
    outcome = cli("--add-ruff-external", "pkg")
    assert (outcome.code, outcome.out, outcome.err) == (
        0,
        "",
        'Added "TDV" to `external` in pyproject.toml.\n',
    )
    assert tomllib.loads((project / "pyproject.toml").read_text())["tool"]["ruff"]["lint"] == {
        "external": ["TDV"]
    }
    assert cli("--add-ruff-external").err == "pyproject.toml: `external` has TDV already\n"
    (project / "ruff.toml").write_text("")
    assert cli("--add-ruff-external").err == 'Added "TDV" to `external` in ruff.toml.\n'


def test_nowhere_to_write_is_an_error(cli: Cli, project: Path) -> None:
    outcome = cli("--add-ruff-external", "none.toml")
    assert outcome.code == 2
    assert "none.toml: no such file or directory" in outcome.err
    (project / "bad").mkdir()
    (project / "bad/ruff.toml").write_bytes(b"\xff")
    assert "not valid UTF-8" in cli("--add-ruff-external", "bad").err


@pytest.mark.skipif(RUFF is None, reason="ruff is not installed")
def test_ruff_then_leaves_our_codes_alone(cli: Cli, project: Path) -> None:
    source = "import os  # noqa: F401, TDV001\nx = 1  # noqa: E501, TDV004\n"
    (project / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["F", "E", "RUF100", "RUF102"]\n')

    def after_ruff() -> str:
        (project / "a.py").write_text(source)
        command = [str(RUFF), "check", "--fix", "-q", "--no-cache", "a.py"]
        subprocess.run(command, capture_output=True, check=False)
        return (project / "a.py").read_text()

    assert "TDV" not in after_ruff()
    cli("--add-ruff-external")
    assert after_ruff() == "import os  # noqa: F401, TDV001\nx = 1  # noqa: TDV004\n"
