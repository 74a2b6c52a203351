"""The command line: picks the command, and turns what goes wrong into a line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from torchdev_lint.config import ConfigError
from torchdev_lint.source.discovery import DiscoveryError

CLEAN = 0
FINDINGS = 1
FAILURE = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""
CLOSED_PIPE = 141
"""128 + SIGPIPE."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process); returns the exit code.

    0: nothing left to report, 1: findings left, 2: bad usage or configuration, or an internal error.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _dispatch(arguments), "torchdev-lint")


def guarded(work: Callable[[], int], program: str) -> int:
    """The exit code of `work`; what ends it early is turned into a line on stderr and an exit code of its own."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # A finding must not be lost to a narrow locale.
    try:
        try:
            return work()
        finally:
            sys.stdout.flush()  # Here and not at exit, where a closed pipe cannot be caught any more.
    except (ConfigError, DiscoveryError) as error:
        print(f"{program}: error: {error}", file=sys.stderr)
        return FAILURE
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not try to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED


def _dispatch(arguments: list[str]) -> int:
    command = arguments[0] if arguments else ""
    if command == "version":
        from torchdev_lint import __version__

        print(f"torchdev-lint {__version__}")
        return CLEAN
    if command == "rule":
        from torchdev_lint.cli_rule import explain

        return explain(arguments[1:])
    if "--add-ruff-external" in arguments:
        from torchdev_lint.cli_ruff_external import add_external

        return add_external(arguments)
    if command == "config":
        from torchdev_lint.cli_config import describe

        return describe(arguments[1:])
    if command == "verify":
        from torchdev_lint.cli_verify import verify

        return verify(arguments[1:])
    if command == "doctor":
        from torchdev_lint.cli_doctor import doctor

        return doctor(arguments[1:])
    if command == "infer":
        from torchdev_lint.cli_infer import infer

        return infer(arguments[1:])
    if command == "explain":
        from torchdev_lint.cli_explain import explain as explain_error

        return explain_error(arguments[1:])
    if command == "generate-shell-completion":
        from torchdev_lint.cli_completion import generate

        return generate(arguments[1:])
    if command == "server":
        from torchdev_lint.cli_server import server

        return server(arguments[1:])
    from torchdev_lint.cli_check import check
    from torchdev_lint.cli_options import parse_check

    options = parse_check(arguments)
    if options.watch:
        from torchdev_lint.cli_watch import watch

        return watch(options, lambda: check(parse_check(arguments)))
    return check(options)


if __name__ == "__main__":
    sys.exit(main())
