"""Which file an import means, on a file system that is only a set of paths."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchdev_lint.source.imports import Location, locate, resolve, search_path, submodule


def tree(*files: str) -> Callable[[str], bool]:
    """Whether a path is one of the files or a directory above one."""
    return lambda path: any(file == path or file.startswith(f"{path}/") for file in files)


FLAT = tree(
    "/p/pyproject.toml",
    "/p/train.py",
    "/p/helpers.py",
    "/p/net/__init__.py",
    "/p/net/blocks.py",
    "/p/net/sub/__init__.py",
    "/p/net/sub/deep.py",
    "/p/space/part.py",
)
SRC = tree(
    "/p/setup.py",
    "/p/src/net/__init__.py",
    "/p/src/net/blocks.py",
    "/p/scripts/run.py",
    "/p/tests/test_net.py",
)


def file_of(path: str, dotted: str, exists: Callable[[str], bool], level: int = 0) -> str | None:
    found = resolve(path, level, dotted, search_path(path, exists), exists)
    return None if found is None else found[0].file


PACKAGED = tree(
    "/p/.git/HEAD",
    "/p/__init__.py",
    "/p/train.py",
    "/p/models/__init__.py",
    "/p/models/psp.py",
    "/p/models/gym.py",
    "/p/models/gym/envs.py",
    "/p/part/__init__.py",
    "/p/part/models/psp.py",
    "/p/part/models/__init__.py",
)


@pytest.mark.parametrize(
    ("path", "dotted", "file"),
    [
        ("/p/train.py", "models.psp", "/p/models/psp.py"),
        ("/p/models/psp.py", "models.gym", "/p/models/gym.py"),
        ("/p/models/psp.py", "train", "/p/train.py"),
        ("/p/models/psp.py", "p.train", "/p/train.py"),
        ("/p/models/psp.py", "gym.envs", "/p/models/gym/envs.py"),
        # a library, as far as its name shows
        ("/p/models/psp.py", "gym", None),
        ("/p/train.py", "train", None),
        ("/p/part/models/psp.py", "models.gym", "/p/models/gym.py"),
    ],
)
def test_a_root_that_is_a_package_by_its_initializer_only(path: str, dotted: str, file: str | None) -> None:
    assert file_of(path, dotted, PACKAGED) == file


@pytest.mark.parametrize(
    ("path", "level", "dotted", "file"),
    [
        ("/p/train.py", 0, "helpers", "/p/helpers.py"),
        ("/p/train.py", 0, "net", "/p/net/__init__.py"),
        ("/p/train.py", 0, "net.blocks", "/p/net/blocks.py"),
        ("/p/train.py", 0, "space.part", "/p/space/part.py"),
        ("/p/train.py", 0, "net.absent", None),
        ("/p/net/blocks.py", 1, "", "/p/net/__init__.py"),
        ("/p/net/blocks.py", 1, "sub.deep", "/p/net/sub/deep.py"),
        ("/p/net/sub/deep.py", 2, "blocks", "/p/net/blocks.py"),
        ("/p/net/sub/__init__.py", 1, "deep", "/p/net/sub/deep.py"),
        ("/p/net/sub/deep.py", 0, "net.blocks", "/p/net/blocks.py"),
        # an absolute import in a package does not mean the module beside it
        ("/p/net/blocks.py", 0, "sub", None),
    ],
)
def test_flat_layout(path: str, level: int, dotted: str, file: str | None) -> None:
    assert file_of(path, dotted, FLAT, level) == file


@pytest.mark.parametrize("path", ["/p/scripts/run.py", "/p/tests/test_net.py", "/p/src/net/blocks.py"])
def test_src_layout(path: str) -> None:
    assert file_of(path, "net.blocks", SRC) == "/p/src/net/blocks.py"


def test_a_directory_without_init_is_a_namespace() -> None:
    found = resolve("/p/train.py", 0, "space", search_path("/p/train.py", FLAT), FLAT)
    assert found == (Location(None, "/p/space"), "/p")
    assert submodule(found[0], "part", FLAT) == Location("/p/space/part.py")


def test_the_directory_itself_needs_no_init() -> None:
    found = resolve("/p/space/part.py", 1, "", search_path("/p/space/part.py", FLAT), FLAT)
    assert found == (Location(None, "/p/space"), "/p/space")
    assert submodule(found[0], "part", FLAT) == Location("/p/space/part.py")
    assert submodule(Location("/p/train.py"), "part", FLAT) is None


@pytest.mark.parametrize(
    ("level", "dotted"), [(1, "absent"), (0, "absent"), (0, "net.absent"), (2, "absent")]
)
def test_what_is_not_there_is_nothing(level: int, dotted: str) -> None:
    path = "/p/net/blocks.py"
    assert resolve(path, level, dotted, search_path(path, FLAT), FLAT) is None


def test_modules_of_a_package_are_found_in_it() -> None:
    package = locate("/p", ["net"], FLAT)
    assert package == Location("/p/net/__init__.py", "/p/net")
    assert submodule(package, "blocks", FLAT) == Location("/p/net/blocks.py")
    assert submodule(package, "absent", FLAT) is None


@pytest.mark.parametrize("name", ["torch", "numpy", "logging", "types"])
def test_what_every_program_means_by_its_name_is_not_looked_for(name: str) -> None:
    exists = tree("/p/setup.py", "/p/a.py", f"/p/{name}.py")
    assert file_of("/p/a.py", name, exists) is None


def test_a_known_library_is_read_by_its_own_files_only() -> None:
    exists = tree("/p/setup.py", "/p/examples/a.py", "/p/src/diffusers/__init__.py", "/p/src/diffusers/b.py")
    assert file_of("/p/examples/a.py", "diffusers.b", exists) is None
    assert file_of("/p/src/diffusers/__init__.py", "diffusers.b", exists) == "/p/src/diffusers/b.py"


def test_a_script_does_not_import_itself() -> None:
    exists = tree("/p/setup.py", "/p/gym.py")
    assert file_of("/p/gym.py", "gym", exists) is None


def test_a_module_of_a_package_may_mean_itself() -> None:
    exists = tree("/p/setup.py", "/p/net/__init__.py", "/p/net/gym.py")
    found = resolve("/p/net/gym.py", 0, "gym", search_path("/p/net/gym.py", exists, ["/p/net"]), exists)
    assert found == (Location("/p/net/gym.py"), "/p/net")


def test_without_a_project_only_what_lies_beside_is_found() -> None:
    exists = tree("/home/me/notes/a.py", "/home/me/notes/b.py", "/home/me/c.py")
    assert file_of("/home/me/notes/a.py", "b", exists) == "/home/me/notes/b.py"
    assert file_of("/home/me/notes/a.py", "c", exists) is None


def test_configured_roots_come_last() -> None:
    exists = tree("/p/setup.py", "/p/a.py", "/p/lib/util.py", "/p/lib/a.py")
    roots = search_path("/p/a.py", exists, ["/p/lib"])
    assert roots == ("/p", "/p/src", "/p/lib")
    found = resolve("/p/a.py", 0, "util", roots, exists)
    assert found is not None
    assert found[0].file == "/p/lib/util.py"
