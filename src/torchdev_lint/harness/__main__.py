"""`python -m torchdev_lint.harness`: the harness for people."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from torchdev_lint.harness import backends
from torchdev_lint.harness.run import run_program
from torchdev_lint.harness.verdict import Kind


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0 when the program passed, 1 when it did not, 2 for bad usage."""
    parser = argparse.ArgumentParser(prog="python -m torchdev_lint.harness", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="EXECUTE a program on a backend and print the verdict")
    run.add_argument("--backend", choices=backends.NAMES, default="simulated")
    run.add_argument("--devices", type=int, default=2, metavar="N", help="simulated devices (default: 2)")
    run.add_argument("--accelerator", choices=("cuda", "mps"), default="cuda", help="what is simulated")
    run.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS")
    run.add_argument("--json", action="store_true", help="print the verdict as JSON")
    run.add_argument("--quiet", action="store_true", help="do not repeat what the program printed")
    run.add_argument("program")
    run.add_argument("args", nargs=argparse.REMAINDER)
    facts = commands.add_parser(
        "truth", help="run all probes and operators on a backend and store what happens"
    )
    facts.add_argument("--backend", choices=backends.NAMES, default="cuda")
    facts.add_argument("--devices", type=int, default=2, metavar="N", help="simulated devices (default: 2)")
    facts.add_argument("--no-operators", action="store_true", help="leave the operator sweep out")
    facts.add_argument("--output", type=Path, metavar="FILE", help="where to store them, as JSON")
    options = parser.parse_args(argv)
    if options.command == "truth":
        return _truth(options)
    try:
        verdict = run_program(
            options.program,
            backend=options.backend,
            args=options.args,
            timeout=options.timeout,
            devices=options.devices,
            accelerator=options.accelerator,
        )
    except ValueError as error:
        parser.error(str(error))
    if options.json:
        print(json.dumps(verdict.to_json(), indent=2))
    else:
        if not options.quiet:
            sys.stdout.write(verdict.stdout)
            sys.stdout.flush()
            sys.stderr.write(verdict.stderr)
            sys.stderr.flush()
        print(verdict.describe())
    return 0 if verdict.kind is Kind.PASSED else 1


def _truth(options: argparse.Namespace) -> int:
    """Exit status 0 when every probe went as expected, 1 when not, 2 when the backend is unavailable."""
    from torchdev_lint.harness import truth

    backend = backends.create(options.backend, devices=options.devices)
    os.environ.update(backend.environment())
    try:
        facts = truth.collect(backend, with_sweep=not options.no_operators)
    except backends.BackendUnavailableError as error:
        print(f"unavailable: {error}", file=sys.stderr)
        return 2
    print(truth.summary(facts))
    if options.output is not None:
        truth.write(facts, options.output)
    return int(any(not fact["as_expected"] for fact in facts["probes"].values()))


if __name__ == "__main__":
    sys.exit(main())
