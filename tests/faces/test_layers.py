"""Imports run downwards only, and the static half needs no torch."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "torchdev_lint"

LAYERS = (
    ("diagnostics", "files", "globs"),
    ("config", "config_file", "config_options"),
    ("source", "torch_api", "stubs"),
    ("flow",),
    ("rules", "report", "fixes"),
    ("engine",),
    ("explain",),
    ("lsp",),
    (
        "cli_parser",
        "cli_flags",
        "cli_settings",
        "cli_options",
        "cli_output",
        "cli_noqa",
        "cli_clean",
        "cli_check",
        "cli_parquet",
        "cli_rule",
        "cli_config",
        "cli_ruff_external",
        "cli_verify",
        "cli_doctor",
        "cli_infer",
        "cli_explain",
        "cli_completion",
        "cli_watch",
        "cli_server",
    ),
    ("shim",),
    ("cli", "flake8_plugin"),
    ("ruff_api_shim", "__main__"),
)
"""From the bottom up; a room may import what is in its own layer or below."""

APART = {"harness"}
"""Shares nothing with the static half but the codes of the rules."""

WHERE_THEY_MEET = {"cli_verify", "cli_doctor"}
"""The commands that compare the two halves."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def layer_of(room: str) -> int:
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms)


STATIC = sorted(path for path in PACKAGE.rglob("*.py") if room_of(path) not in APART | {"__init__"})


@pytest.mark.parametrize("path", STATIC, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downwards(path: Path) -> None:
    own = layer_of(room_of(path))
    for name in imports_of(path):
        top, _, rest = name.partition(".")
        assert top not in ("torch", "numpy"), f"{path}: the static half needs no {top}"
        if top == "torchdev_lint" and rest:
            imported = rest.partition(".")[0]
            if imported in APART:
                assert room_of(path) in WHERE_THEY_MEET, f"{path} imports {name}"
                continue
            assert layer_of(imported) <= own, f"{path} imports {name}, which is above it"


@pytest.mark.parametrize(
    ("room", "stranger"), [("torch_api", "libcst"), ("rules", "libcst"), ("source", "libcst")]
)
def test_only_some_rooms_know_the_tree(room: str, stranger: str) -> None:
    for path in (PACKAGE / room).rglob("*.py"):
        assert stranger not in {name.partition(".")[0] for name in imports_of(path)}, path


def test_cheap_modules_import_nothing_from_outside() -> None:
    for name in ("diagnostics", "config", "config_file", "config_options", "globs"):
        for imported in imports_of(PACKAGE / f"{name}.py"):
            assert imported.partition(".")[0] not in ("libcst", "rich", "pathspec")


GROUND = ("domain", "syntax", "activation")
"""The packages of flow/ that the others stand on, from the bottom up."""


@pytest.mark.parametrize("package", GROUND)
def test_the_ground_of_the_inference_needs_nothing_above_it(package: str) -> None:
    below = GROUND[: GROUND.index(package) + 1]
    for path in (PACKAGE / "flow" / package).glob("*.py"):
        for name in imports_of(path):
            if name.startswith("torchdev_lint.flow.") and not _is_for_types(path, name):
                assert name.split(".")[2] in below, f"{path}: imports {name}"


def _is_for_types(path: Path, name: str) -> bool:
    """Whether an import stands below `if TYPE_CHECKING:` only."""
    blocks = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    return any(
        isinstance(node, ast.ImportFrom) and node.module == name for block in blocks for node in block.body
    )
