"""The hooks as pre-commit and prek run them: installed from a copy of this checkout into their own environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_files import of_program, program_of

ROOT = Path(__file__).parents[2]
PRE_COMMIT = Path(sys.executable).with_name("pre-commit")
PREK = Path(sys.executable).with_name("prek")
PUBLISHED = ("src", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

BAD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2)
model.to(device)
print(model(torch.ones(3, 4)))
"""
GOOD = BAD.replace("torch.ones(3, 4)", "torch.ones(3, 4).to(device)")

pytestmark = [
    pytest.mark.skipif(not PRE_COMMIT.exists(), reason="pre-commit is not installed"),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout"),
]


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **environment},
        check=False,
    )


def git(*arguments: str, cwd: Path) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
    result = run("git", *identity, *arguments, cwd=cwd)
    assert result.returncode == 0, result.stdout


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with what this checkout would publish as it is now, committed or not."""
    clone = tmp_path_factory.mktemp("hooks")
    listed = run(
        "git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT
    ).stdout.splitlines()
    for name in listed:
        if name.split("/")[0] in PUBLISHED and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    git("init", "-q", cwd=clone)
    git("add", "-A", cwd=clone)
    git("commit", "-qm", "snapshot", cwd=clone)
    return clone


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps its environments; shared, so that the package is installed once."""
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git("init", "-q", cwd=tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "fine.py").write_text("print('no tensors here')\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "generated.py").write_text(BAD)
    (tmp_path / "notes.txt").write_text(BAD)
    (tmp_path / "note.ipynb").write_text(of_program(BAD)[0])
    git("add", "-A", "-f", cwd=tmp_path)
    git("commit", "-qm", "first", cwd=tmp_path)
    return tmp_path


def try_repo(hooks: Path, home: Path, project: Path, hook: str) -> subprocess.CompletedProcess[str]:
    command = (PRE_COMMIT, "try-repo", "--color=never", hooks, hook, "--all-files")
    return run(*command, cwd=project, PRE_COMMIT_HOME=str(home))


def test_the_manifest_is_valid() -> None:
    result = run(PRE_COMMIT, "validate-manifest", ROOT / ".pre-commit-hooks.yaml", cwd=ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
def test_the_hook_reports_and_changes_nothing(hooks: Path, home: Path, project: Path) -> None:
    result = try_repo(hooks, home, project, "torchdev-lint")
    assert result.returncode == 1, result.stdout
    assert "bad.py:7:13" in result.stdout
    assert "generated.py" not in result.stdout
    assert "note.ipynb:cell 4:4:13" in result.stdout
    assert "notes.txt" not in result.stdout
    assert (project / "bad.py").read_text() == BAD


@pytest.mark.slow
def test_the_fixing_hook_fixes_and_fails_and_then_passes(hooks: Path, home: Path, project: Path) -> None:
    first = try_repo(hooks, home, project, "torchdev-lint-fix")
    assert first.returncode == 1, first.stdout
    assert "files were modified by this hook" in first.stdout
    assert "Found 2 errors (2 fixed, 0 remaining)." in first.stdout
    assert (project / "bad.py").read_text() == GOOD
    assert program_of((project / "note.ipynb").read_text()) == GOOD
    assert (project / "build/generated.py").read_text() == BAD
    git("add", "-A", cwd=project)
    second = try_repo(hooks, home, project, "torchdev-lint-fix")
    assert second.returncode == 0, second.stdout
    assert (project / "bad.py").read_text() == GOOD


@pytest.mark.slow
@pytest.mark.skipif(not PREK.exists(), reason="prek is not installed")
def test_prek_runs_it_too(hooks: Path, project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = str(tmp_path_factory.mktemp("prek-home"))
    for hook, said in (("torchdev-lint", "bad.py:7:13"), ("torchdev-lint-fix", "2 fixed, 0 remaining")):
        command = (PREK, "try-repo", "--color=never", hooks, hook, "--all-files")
        result = run(*command, cwd=project, PREK_HOME=home)
        assert result.returncode == 1, result.stdout
        assert said in result.stdout
    assert (project / "bad.py").read_text() == GOOD
    assert program_of((project / "note.ipynb").read_text()) == GOOD
