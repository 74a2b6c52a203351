"""Which files are visited."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from torchdev_lint.config import DEFAULT_EXCLUDE
from torchdev_lint.source.discovery import DiscoveryError, FileRules, discover

Rules = Callable[[str], FileRules]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.chdir(tmp_path)

    def make(*paths: str, **contents: str) -> None:
        for path in paths:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(contents.get(path, ""))

    return make


def rules(**changes: object) -> Rules:
    found = FileRules(os.getcwd(), **{"exclude": DEFAULT_EXCLUDE, **changes})  # type: ignore[arg-type]
    return lambda directory: found


def visited(*paths: str, by: Rules | None = None) -> list[str]:
    return [path.replace(os.sep, "/") for path in discover(paths or (".",), by or rules()).files]


def test_walks_for_python_files_in_order(tree: Callable[..., None]) -> None:
    tree("b.py", "a.pyi", "c.txt", "d.ipynb", "pkg/z.py", "pkg/a.py", "pkg.py", "Makefile")
    assert visited() == ["a.pyi", "b.py", "d.ipynb", "pkg.py", "pkg/a.py", "pkg/z.py"]


def test_takes_given_files_whatever_their_name_and_each_once(tree: Callable[..., None]) -> None:
    tree("tool", "build/a.py", "b.py")
    assert visited("tool", "build/a.py", "./b.py", "b.py", ".") == ["b.py", "build/a.py", "tool"]


@pytest.mark.parametrize(
    "name", [".venv", ".git", "build", "dist", "node_modules", "__pycache__", ".ipynb_checkpoints"]
)
def test_leaves_out_what_is_nobodys_source(tree: Callable[..., None], name: str) -> None:
    tree(f"{name}/a.py", f"pkg/{name}/a.py", f"pkg/{name}.py")
    assert visited() == [f"pkg/{name}.py"]


def test_walks_an_excluded_directory_that_is_given(tree: Callable[..., None]) -> None:
    tree("build/a.py", "build/dist/b.py")
    assert visited("build") == ["build/a.py"]
    assert visited("build", by=rules(force_exclude=True)) == []


def test_patterns_are_names_or_paths_below_the_root(tree: Callable[..., None]) -> None:
    tree("tests/data/a.py", "src/data/a.py", "src/gen_a.py", "src/b.py")
    assert visited(by=rules(exclude=("tests/data", "gen_*.py"))) == ["src/b.py", "src/data/a.py"]
    assert visited(by=rules(exclude=("src/*",))) == ["tests/data/a.py"]


def test_force_exclude_holds_for_given_files(tree: Callable[..., None]) -> None:
    tree("build/lib/a.py", "b.py")
    assert visited("build/lib/a.py", "b.py", by=rules(force_exclude=True)) == ["b.py"]


def test_honours_gitignore_files_nested_ones_too(tree: Callable[..., None]) -> None:
    tree(
        ".gitignore",
        ".git/info/exclude",
        "out/a.py",
        "pkg/.gitignore",
        "pkg/tmp_a.py",
        "pkg/tmp_keep.py",
        "pkg/b.py",
    )
    tree("tmp_a.py", "sub/out/a.py", "private.py")
    Path(".gitignore").write_text("out/\n/private.py\n!tmp_a.py\n")
    Path("pkg/.gitignore").write_text("tmp_*\n!tmp_keep.py\n")
    Path(".git/info/exclude").write_text("sub/\n")
    assert visited() == ["pkg/b.py", "pkg/tmp_keep.py", "tmp_a.py"]
    assert visited("pkg") == ["pkg/b.py", "pkg/tmp_keep.py"]
    assert visited("out", "private.py") == ["out/a.py", "private.py"]
    assert "pkg/tmp_a.py" in visited(by=rules(respect_gitignore=False))


def test_gitignore_files_above_a_given_directory_count_up_to_the_repository(
    tree: Callable[..., None],
) -> None:
    tree("repo/pkg/sub/a.py", "repo/pkg/sub/b_gen.py", "repo/pkg/sub/c_tmp.py", "repo/pkg/sub/private.py")
    tree("repo/.git/info/exclude", "repo/.gitignore", "repo/pkg/.gitignore")
    Path("repo/.git/info/exclude").write_text("private.py\n")
    Path("repo/.gitignore").write_text("*_gen.py\n")
    Path("repo/pkg/.gitignore").write_text("*_tmp.py\n")
    for given in ("repo", "repo/pkg", "repo/pkg/sub"):
        assert visited(given) == ["repo/pkg/sub/a.py"]


def test_a_gitignore_in_another_encoding_counts(tree: Callable[..., None]) -> None:
    tree("a.py", "b.py", ".gitignore")
    Path(".gitignore").write_bytes(b"# caf\xe9\n/a.py\nb.py/\n")  # the latter is about directories
    assert visited() == ["b.py"]


def test_nothing_in_an_ignored_directory_is_taken_back(tree: Callable[..., None]) -> None:
    tree("out/keep.py", "out.py", "other/keep.py", ".gitignore")
    Path(".gitignore").write_text("out/\nother/*\n!keep.py\n")
    assert visited() == ["other/keep.py", "out.py"]  # as git has it


def test_gitignore_files_above_the_repository_do_not_count(tree: Callable[..., None]) -> None:
    tree(".gitignore", "repo/.git/config", "repo/a.py")
    Path(".gitignore").write_text("*.py\n")
    assert visited("repo") == ["repo/a.py"]


def test_links_make_neither_loops_nor_duplicates(tree: Callable[..., None]) -> None:
    tree("pkg/real.py", "other/b.py")
    Path("pkg/loop").symlink_to("..", target_is_directory=True)
    Path("pkg/alias.py").symlink_to("real.py")
    Path("pkg/.#lock.py").symlink_to("nowhere")
    Path("given").symlink_to("other", target_is_directory=True)
    assert visited("pkg") == ["pkg/real.py"]
    assert visited("given") == ["given/b.py"]
    assert visited("pkg/alias.py") == ["pkg/alias.py"]


def test_a_link_to_itself_is_no_file(tree: Callable[..., None]) -> None:
    tree("a.py")
    Path("b.py").symlink_to("b.py")
    assert visited() == ["a.py"]


def test_of_several_links_to_one_file_the_first_counts(tree: Callable[..., None]) -> None:
    tree("outside/real.py", "pkg/z.py")
    for name in ("b.py", "a.py", "c.py"):
        Path("pkg", name).symlink_to("../outside/real.py")
    assert visited("pkg") == ["pkg/a.py", "pkg/z.py"]


def test_other_names_may_be_included(tree: Callable[..., None]) -> None:
    tree("a.py", "tool.pyx", "sub/b.pyx", "sub/c.py", "gen/d.pyx")
    assert visited(by=rules(include=("*.pyx",))) == ["gen/d.pyx", "sub/b.pyx", "tool.pyx"]
    assert visited(by=rules(include=("sub/*.py", "*.pyx"), exclude=("gen",))) == [
        "sub/b.pyx",
        "sub/c.py",
        "tool.pyx",
    ]


def test_an_empty_gitignore_leaves_the_one_above_in_force(tree: Callable[..., None]) -> None:
    tree(".git/config", ".gitignore", "sub/.gitignore", "sub/a.py", "sub/b.py")
    Path(".gitignore").write_text("a.py\n")
    Path("sub/.gitignore").write_text("\n  \n")
    assert visited() == ["sub/b.py"]


def test_the_rules_are_those_of_the_directory(tree: Callable[..., None]) -> None:
    tree("tool", "pkg/a.py", "pkg/inner/b.py", "pkg/inner/c.py", "build/a.py")
    asked: list[str] = []

    def by(directory: str) -> FileRules:
        asked.append(directory.replace(os.sep, "/"))
        return FileRules(
            os.getcwd(), exclude=("c.py",) if asked[-1] == "pkg/inner" else (), force_exclude=True
        )

    assert visited("tool", "build/a.py", "pkg", by=by) == ["build/a.py", "pkg/a.py", "pkg/inner/b.py", "tool"]
    assert asked == [".", "build", "pkg", "pkg", "pkg/inner"]


def test_a_missing_path_is_an_error_that_names_it(tree: Callable[..., None]) -> None:
    tree("a.py")
    with pytest.raises(DiscoveryError, match=r"^nothing\.py: no such file or directory$"):
        visited("a.py", "nothing.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every directory")
def test_a_directory_that_cannot_be_read_is_a_problem_not_the_end(tree: Callable[..., None]) -> None:
    tree("a.py", "closed/b.py")
    Path("closed").chmod(0)
    try:
        found = discover((".",), rules())
    finally:
        Path("closed").chmod(0o755)
    assert found.files == ("a.py",)
    assert "closed: cannot be read" in found.problems[0]


def test_an_unreadable_directory_is_named(tree: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.py", "closed/b.py", "also/c.py", "open/d.py")
    real = os.scandir

    def scandir(path: str) -> object:
        if path == "closed":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = discover((".",), rules())
    assert found.files == ("a.py", os.path.join("also", "c.py"), os.path.join("open", "d.py"))
    assert found.problems == ("closed: cannot be read: Permission denied",)


def test_a_root_with_pattern_characters_is_a_place(tree: Callable[..., None], tmp_path: Path) -> None:
    tree("we[ir]d/data/a.py", "we[ir]d/b.py")
    found = FileRules(str(tmp_path / "we[ir]d"), ("data/a.py",))
    assert visited("we[ir]d", by=lambda directory: found) == ["we[ir]d/b.py"]
