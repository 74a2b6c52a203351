"""A run in which nothing was found is answered at once when it is asked for again, and only as long as nothing has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchdev_lint import cli_check, cli_options
from torchdev_lint.cli import main
from torchdev_lint.engine import cache, program, stamps
from torchdev_lint.engine.cache_directory import DIRECTORY, MAX_FILES, REMEMBERED, TAG
from torchdev_lint.engine.run import RunResult

CLEAN = "import torch\nfrom lib.devices import place\nimport later\n\nx = torch.ones(2, device='cuda') + torch.ones(2, device=place)\n"
BROKEN = "import torch\n\nx = torch.ones(2, device='cuda') + torch.ones(2)\n"

STUBS = """\
library = "mylib"
source = "https://mylib.example/devices"

[[function]]
names = ["one"]
returns = "cpu-tensor"
"""

Run = Callable[..., tuple[bool, int, str]]


@pytest.fixture
def tree(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a project in it, which is the working directory and imports what lies beside what is checked."""
    monkeypatch.setattr(stamps, "SURE_AFTER", 0)
    monkeypatch.setattr(cache, "SURE_AFTER", 0)
    root = project / "repository" / "work"
    for name, text in (
        ("src/a.py", CLEAN),
        ("src/deep/b.py", "import torch\n"),
        ("lib/__init__.py", ""),
        ("lib/devices.py", "place = 'cuda'\n"),
        (".gitignore", "*.log\n"),
        ("pyproject.toml", "[tool.torchdev-lint]\nsrc = ['.']\nstubs = ['stubs.toml']\n"),
        ("stubs.toml", STUBS),
        ("src/deep/torchdev-lint.toml", ""),
        ("src/deep/.gitignore", "# nothing\n"),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root.parent / ".git").mkdir()
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs over `src`; whether it was answered at once, the exit code and the output."""
    parsed = []
    real = cli_options.parse_check

    def watched(arguments: list[str]) -> cli_options.Options:
        parsed.append(arguments)
        return real(arguments)

    monkeypatch.setattr(cli_options, "parse_check", watched)

    def once(*arguments: str) -> tuple[bool, int, str]:
        parsed.clear()
        time.sleep(0.02)  # The clock of a file system ticks every few milliseconds.
        code = main(arguments or ("src",))
        return not parsed, code, capsys.readouterr().out

    return once


def remembered(run: Run, *arguments: str) -> bool:
    """Whether a run is answered at once in the end: the second keeps stamps that were too fresh, the third the run."""
    return [run(*arguments)[0] for _ in range(4)] == [False, False, False, True] or run(*arguments)[0]


def test_the_answer_is_that_of_the_run(run: Run) -> None:
    first = run()
    assert first == (False, 0, "All checks passed!\n")
    assert remembered(run)
    assert run() == (True, 0, "All checks passed!\n")
    assert remembered(run, "src", "--quiet")
    assert run("src", "--quiet") == (True, 0, "")
    assert remembered(run, "check", "--fix", "src", "--output-format=concise")
    assert remembered(run, ".")  # where the results lie, too


def write(name: str, text: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)

    return change


def same_size_and_time(tree: Path) -> None:
    path = tree / "src/a.py"
    before = path.stat()
    path.write_text(CLEAN.replace("device=place", "device='cpu'"))
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def moved(tree: Path) -> None:
    (tree / "src/deep").rename(tree / "src/other")


CHANGES: dict[str, Callable[[Path], None]] = {
    "a file": write("src/a.py", BROKEN),
    "a file, its time set back": same_size_and_time,
    "a new file": write("src/c.py", BROKEN),
    "a new file further down": write("src/deep/c.py", BROKEN),
    "a new directory": write("src/new/c.py", BROKEN),
    "a file is gone": lambda tree: (tree / "src/deep/b.py").unlink(),
    "a directory is moved": moved,
    "an imported file": write("lib/devices.py", "place = 'cpu'\n"),
    "a module that was sought": write("later.py", "x = 1\n"),
    "ignored files": write(".gitignore", "a.py\n"),
    "ignored files of a directory": write("src/.gitignore", "a.py\n"),
    "ignored files of the repository": write("../.gitignore", "a.py\n"),
    "ignored files of the clone": write("../.git/info/exclude", "a.py\n"),
    "no repository": lambda tree: (tree / "../.git").rmdir(),
    "a repository of its own": lambda tree: (tree / ".git").mkdir(),
    "the configuration": write("pyproject.toml", "[tool.torchdev-lint]\nexclude = ['a.py']\n"),
    "no configuration": lambda tree: (tree / "pyproject.toml").unlink(),
    "a nearer configuration": write("src/torchdev-lint.toml", "exclude = ['a.py']\n"),
    "a configuration that comes first": write(".torchdev-lint.toml", "exclude = ['a.py']\n"),
    "a configuration further down": write("src/deep/torchdev-lint.toml", "exclude = ['b.py']\n"),
    "ignored files further down": write("src/deep/.gitignore", "b.py\n"),
    "a stub file": write("stubs.toml", STUBS.replace("one", "two")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_is_noticed(run: Run, tree: Path, change: Callable[[Path], None]) -> None:
    assert remembered(run)
    change(tree)
    at_once, code, said = run()
    assert not at_once
    assert (code, said) == run("src", "--no-cache")[1:]
    if code == 0:
        assert remembered(run)


def test_a_configuration_above_is_noticed(run: Run, tree: Path) -> None:
    (tree / "pyproject.toml").unlink()
    assert remembered(run)
    write("../pyproject.toml", "[tool.torchdev-lint]\nexclude = ['a.py']\n")(tree)
    assert not run()[0]


def test_a_configuration_that_is_named_is_noticed(run: Run, tree: Path) -> None:
    (tree / "elsewhere").mkdir()
    (tree / "elsewhere/lint.toml").write_text("ignore = ['TDV001']\n")
    arguments = ("src", "--config=elsewhere/lint.toml")
    assert remembered(run, *arguments)
    (tree / "elsewhere/lint.toml").write_text("extend-exclude = ['a.py']\n")
    assert not run(*arguments)[0]


def test_another_run_is_another(run: Run, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert remembered(run)
    assert not run("lib")[0]
    assert not run("src", "--select=TDV005")[0]
    monkeypatch.chdir(tree / "src")
    assert not run(".")[0]
    monkeypatch.chdir(tree)
    assert run()[0]
    monkeypatch.setattr(program, "_known", ["another version"])
    assert not run()[0]


def kept(tree: Path) -> list[Path]:
    return sorted((tree / DIRECTORY).glob(f"*{REMEMBERED}"))


def test_what_is_damaged_does_not_count(run: Run, tree: Path) -> None:
    assert remembered(run)
    (path,) = kept(tree)
    whole = path.read_bytes()
    for data in (
        b"",
        whole[:-1],
        whole.replace(b"a.py", b"b.py"),
        b"\xff" + whole,
        whole.partition(b"\n")[2],
    ):
        path.write_bytes(data)
        assert run()[:2] == (False, 0)
        assert path.read_bytes() == whole  # written again


def test_what_another_run_came_to_does_not_count(run: Run, tree: Path) -> None:
    assert remembered(run)
    (one,) = kept(tree)
    assert remembered(run, "src", "-q")
    (other,) = set(kept(tree)) - {one}
    other.write_bytes(one.read_bytes())
    assert run("src", "-q") == (False, 0, "")


def test_what_changes_around_it_meanwhile_is_not_remembered(
    run: Run, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cli_check.run

    def slow(*arguments: Any, **more: Any) -> RunResult:
        path = tree.parent / "pyproject.toml"
        path.write_text("" if path.exists() and path.read_text() else "[tool]\n")
        return real(*arguments, **more)

    monkeypatch.setattr(cli_check, "run", slow)
    assert not remembered(run)


def test_what_came_with_the_project_does_not_count(run: Run, tree: Path) -> None:
    assert remembered(run)
    tag = tree / DIRECTORY / TAG
    copy = tag.read_text()
    tag.unlink()
    assert not run()[0]
    tag.write_text(copy)
    assert not run()[0]
    assert remembered(run)
    (tree / DIRECTORY).rename(tree / "cache")
    (tree / DIRECTORY).symlink_to("cache")
    assert not remembered(run)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--diff"], ["-v"], ["--statistics"], ["--output-format=json"], ["--output-file=out.txt"], ["--no-cache"],
        ["--cache-dir=kept"], ["--show-files"], ["--files-from=list.txt"], ["--baseline=base.json"], ["--executor=loky"],
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_what_says_or_needs_more_is_not_remembered(run: Run, tree: Path, arguments: list[str]) -> None:
    (tree / "list.txt").write_text("src\n")
    main(("src", "--write-baseline", "--baseline=base.json"))
    if arguments == ["--executor=loky"]:
        pytest.importorskip("loky")
    assert not remembered(run, *([] if "--files-from=list.txt" in arguments else ["src"]), *arguments)
    assert kept(tree) == []


def test_findings_are_not_remembered(run: Run, tree: Path) -> None:
    (tree / "src/a.py").write_text(BROKEN)
    assert not remembered(run)
    assert kept(tree) == []


def test_what_may_change_unseen_is_not_remembered(run: Run, tree: Path) -> None:
    (tree / "src/link.py").symlink_to(tree / "nowhere.py")
    assert not remembered(run)
    (tree / "src/link.py").unlink()
    (tree / "more.toml").write_text("")
    (tree / "pyproject.toml").write_text("[tool.torchdev-lint]\nextend = 'more.toml'\n")
    assert not remembered(run)
    (tree / "pyproject.toml").write_text("")
    assert remembered(run)


def test_a_fresh_change_is_not_remembered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "SURE_AFTER", 10**12)
    assert not remembered(run)


def test_a_directory_that_cannot_be_written_is_no_obstacle(
    run: Run, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(os, "replace", refused)
    assert not remembered(run)
    assert [path for path in tree.glob(f"{DIRECTORY}/*") if path.suffix in (REMEMBERED, ".tmp")] == []


def test_runs_are_not_remembered_without_end(run: Run, tree: Path) -> None:
    for number in range(MAX_FILES + 3):
        assert remembered(run, "src", "--quiet", *["--quiet"] * number)
    assert len(kept(tree)) == MAX_FILES


def test_a_path_that_would_break_a_line_is_not_remembered(run: Run, tree: Path) -> None:
    (tree / "src/a\tb.py").write_text("")
    assert not remembered(run)
    (tree / "src/a\tb.py").rename(tree / "src/a\nb.py")
    assert not remembered(run)
