"""`torchdev-lint verify`: lints programs, EXECUTES them, and says whether what was claimed came true."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.results import NO_FIXES
from torchdev_lint.engine.run import RunResult, run
from torchdev_lint.engine.settings import Settings
from torchdev_lint.report import json as json_report
from torchdev_lint.rules.registry import rule_by_code
from torchdev_lint.source.discovery import discover
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX
from torchdev_lint.source.roots import given_as_roots

FAILURE = 2
ALL_FIXES = frozenset({Applicability.SAFE, Applicability.UNSAFE})


def verify(arguments: Sequence[str]) -> int:
    """Verify what `arguments` name; returns the exit code: 1 when lint and run disagree about a program, 2 for bad usage
    or when the backend is not there."""
    own, program_arguments = _split(arguments)
    given = parser().parse_args(own)
    roots = given_as_roots(given.paths)
    settings = Settings(overlay=lambda config: replace(config, given=roots))
    found = discover(given.paths, settings.file_rules)
    for problem in found.problems:
        print(f"error: {problem}", file=sys.stderr)
    try:
        from torchdev_lint.harness import Kind
        from torchdev_lint.harness import verify as runtime
    except ImportError as error:
        raise ConfigError(
            f"verify needs the harness: pip install 'torchdev-lint[harness]' ({error})"
        ) from error

    def lint(path: Path) -> list[runtime.Claim]:
        result = run([str(path)], settings.for_file, lambda _: NO_FIXES, write=False)
        _say_errors(result)
        shapes: list[dict[str, Any]] = json.loads(json_report.render(result.diagnostics))
        return [
            _claim(runtime.Claim, one, shape) for one, shape in zip(result.diagnostics, shapes, strict=True)
        ]

    def fix(path: Path) -> None:
        _say_errors(run([str(path)], settings.for_file, lambda _: ALL_FIXES, write=True))

    verifications = []
    for verification in runtime.verify(
        [os.path.abspath(path) for path in found.files if not path.endswith(NOTEBOOK_SUFFIX)],
        lint,
        backend=given.backend,
        args=program_arguments,
        fix=fix if given.fix else None,
        timeout=given.timeout,
        devices=given.devices,
    ):
        verifications.append(verification)
        if given.output_format == "text" and verification.runtime.kind in runtime.SAYS_NOTHING:
            message = verification.runtime.message or verification.runtime.kind.value
            level = "error" if verification.runtime.kind is Kind.UNAVAILABLE else "note"
            print(f"{level}: {verification.program}: {message.splitlines()[0]}", file=sys.stderr)
    if given.output_format == "json":
        print(json.dumps([one.to_json() for one in verifications], indent=2, ensure_ascii=False))
    elif verifications:
        print(runtime.table(verifications))
    if found.problems or any(one.runtime.kind is Kind.UNAVAILABLE for one in verifications):
        return FAILURE  # Nothing was executed: 0 would say that what was claimed came true.
    return runtime.exit_status(verifications)


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and those after `--`, which are the programs'."""
    listed = list(arguments)
    if "--" not in listed:
        return listed, []
    cut = listed.index("--")
    return listed[:cut], listed[cut + 1 :]


def parser() -> argparse.ArgumentParser:
    """The arguments of `verify`."""
    made = Parser(
        prog="torchdev-lint verify",
        usage="torchdev-lint verify [options] PATH [PATH ...] [-- PROGRAM-ARGUMENT ...]",
        description="Lint each program, EXECUTE it, and compare: a device error must have been reported, a report must "
        "come true. The programs are run with your rights; verify only what you would run yourself.",
        epilog="exit codes: 0 nothing speaks against what was reported, 1 lint and run disagree about a program, 2 bad usage, or "
        "programs could not be run at all (no torch, no such device)",
        allow_abbrev=False,
    )
    made.add_argument("paths", nargs="+", metavar="PATH", help="programs, or directories of them")
    made.add_argument(
        "--backend",
        choices=("simulated", "cpu", "cuda", "auto"),
        default="simulated",
        help="what to run on: a simulated accelerator (default), the plain CPU, a real GPU, or the best there is",
    )
    made.add_argument("--devices", type=int, default=2, help="how many devices to simulate (default 2)")
    made.add_argument("--fix", action="store_true", help="also fix a copy of what was flagged, and run that")
    made.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="for each run (default 60)"
    )
    made.add_argument("--output-format", choices=("text", "json"), default="text")
    return made


def _claim(make: Any, one: Diagnostic, shape: dict[str, Any]) -> Any:
    rule = rule_by_code(one.code)
    places = [one.range, *(related.range for related in one.related if related.path is None)]
    rows = sorted({row for place in places for row in range(place.start.row, place.end.row + 1)})
    return make(one.code, tuple(rows), () if rule is None else rule.witness, shape)


def _say_errors(result: RunResult) -> None:
    for error in result.errors:
        print(f"error: {error}", file=sys.stderr)
