"""What is derived from the modules themselves: docs/modules.md, what each of them is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from fixture_files import ROOT

MODULES = ROOT / "docs" / "modules.md"
PACKAGE = ROOT / "src" / "torchdev_lint"

_HEAD = """# The modules

Written by `python scripts/derive.py` from the beginning of each module's docstring. [design.md](design.md) says how the rooms work
together, [development.md](development.md#where-to-look) where to begin for what. `flow/` is shown in parts, roughly from the ground up.
"""

ROOMS: Mapping[str, str] = {
    "source": "Bytes, texts and files",
    "torch_api": "What PyTorch does to devices, as tables",
    "stubs": "What libraries do to devices",
    "flow": "The inference",
    "rules": "One file for each rule",
    "fixes": "Applying edits",
    "report": "One file for each format",
    "engine": "The run",
    "explain": "Pasted tracebacks",
    "lsp": "The language server",
    "": "The faces, and the configuration",
    "shim": "Behind `ruff_api_shim`: one report with Ruff's",
    "harness": "Running programs",
    "harness/backends": "What programs are run on",
    "harness/simulator": "The simulated accelerator",
}
"""The rooms in the order in which they are shown, and their headings. The probes are programs, not parts, and are left out."""

FLOW = (
    "domain",
    "syntax",
    "activation",
    "execution",
    "calling",
    "instances",
    "torch_calls",
    "nn_modules",
    "libraries",
    "read_alone",
    "project",
    "mistakes",
    "telling",
    "incremental",
    "inspection",
)
"""The packages of flow/, roughly from the ground up."""


def modules_document() -> str:
    """The whole of docs/modules.md. Raises ValueError where `FLOW` is not what flow/ has."""
    return "\n".join([_HEAD, *(part for room, heading in ROOMS.items() for part in _room(room, heading))])


def _room(room: str, heading: str) -> Iterator[str]:
    yield f"## {f'`{room}/`: ' if room else ''}{heading}\n"
    if room != "flow":
        yield _table(_purposes(PACKAGE / room))
        return
    there = {path.parent.name for path in (PACKAGE / room).glob("*/__init__.py")}
    if odd := there.symmetric_difference(FLOW):
        raise ValueError(
            f"scripts/modules_document.py: {', '.join(sorted(odd))}: not in flow/, or not in FLOW"
        )
    for part in FLOW:
        directory = PACKAGE / room / part
        yield f"### `{room}/{part}/`: {_purpose(directory / '__init__.py').rstrip('.')}\n"
        yield _table(_purposes(directory))


def _purposes(directory: Path) -> dict[str, str]:
    return {path.stem: _purpose(path) for path in sorted(directory.glob("*.py")) if path.stem != "__init__"}


def _table(rows: Mapping[str, str]) -> str:
    return (
        "\n".join(["| module | |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in rows.items())])
        + "\n"
    )


def _purpose(path: Path) -> str:
    """The first paragraph of a module's docstring; empty where there is none."""
    documentation = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(documentation.split("\n\n")[0].split()).replace("|", "\\|")
