"""`--baseline` and `--diff-base`: only what is new."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebook_files import code_cell, notebook

from torchdev_lint.engine.changed_lines import changed_rows

Cli = Callable[..., Any]
HEAD = "import torch\n"


def concise(cli: Cli, *flags: str) -> list[str]:
    return [line for line in cli("--output-format=concise", *flags).out.splitlines() if "TDV" in line]


def test_known_findings_are_left_out(cli: Cli, project: Path) -> None:
    path = project / "a.py"
    path.write_text(f"{HEAD}x = SAFE\ny = SAFE\ny = SAFE\n")
    outcome = cli("--baseline=known.json", "--write-baseline")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "Wrote 3 findings to known.json.\n")
    assert json.loads(Path("known.json").read_text())["findings"] == [
        {"path": "a.py", "code": "TDV001", "line": "x = SAFE", "count": 1},
        {"path": "a.py", "code": "TDV001", "line": "y = SAFE", "count": 2},
    ]
    assert cli("--baseline=known.json").out == "All checks passed!\n"
    path.write_text(f"{HEAD}\n\nif x:\n  x  =  SAFE\nz = 1\ny = SAFE\n")
    assert concise(cli, "--baseline=known.json") == []
    path.write_text(f"{HEAD}y = SAFE\ny = SAFE\ny = SAFE\nx = RISKY\n")
    found = concise(cli, "--baseline=known.json")
    assert [line.split(":")[1] for line in found] == ["4", "5"]


def test_known_findings_are_not_fixed_either(cli: Cli, project: Path) -> None:
    path = project / "a.py"
    path.write_text(f"{HEAD}x = SAFE\n")
    cli("--baseline=known.json", "--write-baseline")
    path.write_text(f"{HEAD}y = SAFE\nx = SAFE\n")
    assert cli("--baseline=known.json", "--fix").code == 0
    assert path.read_text() == f"{HEAD}y = ok\nx = SAFE\n"


def test_a_baseline_works_from_every_directory(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub").mkdir()
    (project / "sub/n.ipynb").write_text(notebook([code_cell("import torch"), code_cell("x = SAFE")]))
    cli("--baseline=known.json", "--write-baseline")
    monkeypatch.chdir(project / "sub")
    assert concise(cli, "--baseline=../known.json") == []
    assert len(concise(cli)) == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "no such file; --write-baseline makes it"),
        ("{", "not valid JSON; --write-baseline makes it anew"),
        ("[]", "not a baseline; --write-baseline makes it anew"),
        ('{"version": 1, "findings": [{}]}', "not a baseline; --write-baseline makes it anew"),
        ('{"version": 2}', "version 2 is not known"),
    ],
)
def test_bad_baselines(cli: Cli, project: Path, content: str | None, line: str) -> None:
    if content is not None:
        Path("known.json").write_text(content)
    outcome = cli("--baseline=known.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"torchdev-lint: error: --baseline: known.json: {line}\n"


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--write-baseline"], "--write-baseline needs --baseline FILE, the file to write"),
        (
            ["--write-baseline", "--baseline=a", "--fix"],
            "--write-baseline takes files to check, and neither --fix, --diff nor --add-noqa",
        ),
    ],
)
def test_bad_usage(cli: Cli, project: Path, flags: list[str], line: str) -> None:
    outcome = cli(*flags)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == f"torchdev-lint: error: {line}"


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(project: Path) -> Path:
    git("init", "-q")
    (project / "a.py").write_text(f"{HEAD}x = SAFE\n\ny = SAFE\n")
    (project / "n.ipynb").write_text(
        notebook([code_cell("import torch"), code_cell("x = SAFE"), code_cell("1")])
    )
    git("add", ".")
    git("commit", "-qm", "first")
    return project


def test_only_changed_lines_count(cli: Cli, repository: Path) -> None:
    assert len(concise(cli)) == 3
    assert concise(cli, "--diff-base=HEAD") == []
    (repository / "a.py").write_text(f"{HEAD}\n\nx = SAFE\n\ny = SAFE, 1\n")
    (repository / "new.py").write_text(f"{HEAD}x = SAFE\n")
    (repository / "n.ipynb").write_text(
        notebook([code_cell("import torch"), code_cell("x = SAFE"), code_cell("z = SAFE")])
    )
    assert [line.split(" TDV")[0] for line in concise(cli, "--diff-base=HEAD")] == [
        "a.py:6:5:",
        "n.ipynb:cell 3:1:5:",
        "new.py:2:5:",
    ]
    assert cli("--diff-base=HEAD", "--fix").code == 0
    assert (repository / "a.py").read_text() == f"{HEAD}\n\nx = SAFE\n\ny = ok, 1\n"


def test_a_changed_origin_counts(cli: Cli, repository: Path) -> None:
    (repository / "a.py").write_text("import torch \nx = SAFE\n\ny = SAFE\n")
    assert len(concise(cli, "--diff-base=HEAD")) == 2


def test_what_happened_on_the_other_branch_does_not(
    cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("branch", "topic")
    (repository / "a.py").write_text(f"{HEAD}pass\n")
    git("commit", "-qam", "second")
    git("branch", "other")
    git("switch", "-q", "topic")
    (repository / "b.py").write_text(f"{HEAD}x = SAFE\n")
    assert [line.split(" TDV")[0] for line in concise(cli, "--diff-base=other")] == ["b.py:2:5:"]


def test_no_such_commit(cli: Cli, repository: Path) -> None:
    for revision in ("nonsense", "--help", ""):
        outcome = cli(f"--diff-base={revision}")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == (
            f"torchdev-lint: error: --diff-base: {revision!r} is no commit of this repository\n"
        )


def test_no_repository(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))
    outcome = cli("--diff-base=HEAD")
    assert (outcome.code, outcome.err) == (
        2,
        "torchdev-lint: error: --diff-base: the working directory is in no git repository\n",
    )
    monkeypatch.setenv("PATH", "")
    assert cli("--diff-base=HEAD").err == "torchdev-lint: error: --diff-base: git cannot be run\n"


def test_changed_rows() -> None:
    assert changed_rows("a\nb\nc", "a\nb\nc") == set()
    assert changed_rows("a\nb\nc", "a\nx\ny\nc") == {2, 3}
    assert changed_rows("a\nb\nc", "a\nc") == {2}
    assert changed_rows("a\r\nb", "a\nb\nc") == {3}
