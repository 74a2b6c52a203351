"""What the real Ruff prints, to compare our own output with."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range

RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
"""Where Ruff is; None if it is not installed."""


def ruff(source: str, *flags: str, name: str = "a.py") -> str:
    """Standard output of `ruff check` for `source`, with three rules whose fixes are safe, unsafe and over several rows."""
    command = [
        str(RUFF),
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "E711,F401,F632",
        "--stdin-filename",
        name,
    ]
    result = subprocess.run([*command, *flags, "-"], input=source.encode(), capture_output=True, check=False)
    # Ruff copies carriage returns into its diffs.
    return result.stdout.decode().replace("\r\n", "\n")


def diagnostics_of(source: str, name: str = "a.py") -> list[Diagnostic]:
    """What Ruff finds in `source`, as diagnostics of ours."""
    return [_diagnostic(item, name) for item in json.loads(ruff(source, "--output-format=json", name=name))]


def _diagnostic(item: dict[str, Any], name: str) -> Diagnostic:
    place = Range(_position(item["location"]), _position(item["end_location"]))
    fix = None
    if item["fix"]:
        edits = tuple(
            Edit(
                Range(_position(edit["location"]), _position(edit["end_location"])),
                edit["content"],
                item["cell"],
            )
            for edit in item["fix"]["edits"]
        )
        fix = Fix(edits, Applicability(item["fix"]["applicability"]), item["fix"]["message"])
    found = Diagnostic(name, item["code"], item["name"], item["message"], place, (), fix, item["noqa_row"])
    return replace(found, cell=item["cell"])


def _position(location: dict[str, int]) -> Position:
    return Position(location["row"], location["column"])
