"""Exit codes where something stood in the way, and what a terminal is: what mutants of the command line survived."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchdev_lint.cli_output import colour_wanted

Cli = Callable[..., Any]
BAD = "import torch\nPLAIN\n"


@pytest.fixture
def closed(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a clean file and a directory that cannot be read."""
    (project / "closed").mkdir()
    (project / "a.py").write_text("x = 1\n")
    real = os.scandir

    def scandir(path: str = ".") -> object:
        if os.path.basename(path) == "closed":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    return project


@pytest.mark.parametrize(
    "flags", [[], ["--show-files"], ["--add-noqa"], ["--diff"], ["--exit-zero"], ["--statistics"]], ids=str
)
def test_a_directory_that_cannot_be_read_is_a_failure(cli: Cli, closed: Path, flags: list[str]) -> None:
    outcome = cli(*flags, ".")
    assert outcome.code == 2
    assert "error: closed: cannot be read: Permission denied\n" in outcome.err
    (closed / "closed").rmdir()
    assert cli(*flags, ".").code == 0


def test_a_baseline_of_what_could_be_read_is_a_failure_too(cli: Cli, closed: Path) -> None:
    (closed / "a.py").write_text(BAD)
    flags = ["--baseline=known.json", "--write-baseline", "."]
    outcome = cli(*flags)
    assert (outcome.code, outcome.err.splitlines()[-1]) == (2, "Wrote 1 finding to known.json.")
    (closed / "closed").rmdir()
    assert cli(*flags).code == 0


def test_the_report_is_written_into_directories_that_are_made(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(BAD)
    for _ in range(2):
        assert cli("--output-format=concise", "--output-file=new/deep/report.txt").code == 1
        assert (project / "new" / "deep" / "report.txt").read_text().startswith("a.py:2:1: TDV001 ")


def test_a_report_that_cannot_be_written_is_told_of_before_anything_is_fixed(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text("import torch\nSAFE\n")
    (project / "taken").mkdir()
    outcome = cli("--fix", "--output-file=taken")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--output-file: taken: cannot be written: Is a directory\n" in outcome.err
    assert (project / "a.py").read_text() == "import torch\nSAFE\n"


class Terminal:
    """A stream that somebody looks at, or nobody."""

    def __init__(self, watched: bool) -> None:
        self.isatty = lambda: watched


@pytest.mark.parametrize(
    ("stream", "term", "expected"),
    [
        (Terminal(True), "xterm", True),
        (Terminal(True), None, True),
        (Terminal(True), "dumb", False),
        (Terminal(False), "xterm", False),
        (object(), "xterm", False),
    ],
)
def test_who_sees_colours(
    project: Path, monkeypatch: pytest.MonkeyPatch, stream: object, term: str | None, expected: bool
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    assert colour_wanted("auto", stream) is expected
    assert colour_wanted("always", stream)
    assert not colour_wanted("never", stream)
