"""`torchdev-lint doctor`: what devices this machine has, and which device literals of a project it lacks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from torchdev_lint.cli_parser import Parser
from torchdev_lint.engine.settings import Settings
from torchdev_lint.harness import doctor as health
from torchdev_lint.source.discovery import discover


def parser() -> argparse.ArgumentParser:
    """The arguments of `doctor`."""
    made = Parser(
        prog="torchdev-lint doctor",
        description="Say what devices there are, which torch, whether the simulated accelerator works, and which device "
        "literals in the project this machine lacks.",
        allow_abbrev=False,
    )
    made.add_argument("paths", nargs="*", metavar="PATH", help="where to look for literals (default: .)")
    made.add_argument("--output-format", choices=("text", "json"), default="text")
    return made


def doctor(arguments: Sequence[str]) -> int:
    """Print the state of the machine, and the literals under the given paths that it lacks; returns the exit code 0."""
    given = parser().parse_args(arguments)
    found = discover(given.paths or ["."], Settings().file_rules)
    machine = health.examine()
    lacking = health.lacking(machine, health.literals(Path(path) for path in found.files))
    if given.output_format == "json":
        listed = [{"path": one.path, "row": one.row, "device": one.device} for one in lacking]
        print(json.dumps({**machine.to_json(), "lacking": listed}, indent=2))
        return 0
    print(machine.describe())
    if lacking:
        print("device literals that this machine lacks:")
        for one in lacking:
            print(f"  {one.path}:{one.row}: {one.device}")
    return 0
