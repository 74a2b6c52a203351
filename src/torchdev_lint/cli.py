"""The command line: picks the command, and turns what goes wrong into a line on stderr and an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

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
    _open_closed_streams()
    given = sys.stdout
    _buffer_output()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # A finding must not be lost to a narrow locale.
    try:
        return _outcome(work, program)
    finally:
        sys.stdout = given  # Whoever called this, in its process, goes on writing there.


def _outcome(work: Callable[[], int], program: str) -> int:
    try:
        try:
            _working_directory()
            return work()
        finally:
            sys.stdout.flush()  # Here and not at exit, where a closed pipe cannot be caught any more.
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not try to flush the rest at exit.
        _forget_output()
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        # What the checks read and write has handlers of its own: this is the output, or a system out of resources.
        _forget_output()
        print(f"{program}: error: {error}", file=sys.stderr)
        return FAILURE
    except Exception as error:
        from torchdev_lint.config import ConfigError  # here: `--version` does without
        from torchdev_lint.source.discovery import DiscoveryError

        if isinstance(error, (ConfigError, DiscoveryError)):
            print(f"{program}: error: {error}", file=sys.stderr)
            return FAILURE
        # Python would end with 1, which says that there are findings.
        import traceback

        traceback.print_exc()
        print(
            f"{program}: error: this is a bug of {program}, not of what it read; please report it with the lines above",
            file=sys.stderr,
        )
        return FAILURE


def _open_closed_streams() -> None:
    """Standard streams that were closed when the process began become sinks: no file that is opened may take their place."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
        sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _buffer_output() -> None:
    """Give standard output a buffer where Python was told to have none (`-u`, `PYTHONUNBUFFERED`).

    Without one, Python writes once and forgets what did not fit: a report is cut off on a full disk, and nobody is told.
    """
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115
            sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False
        )


def _working_directory() -> None:
    """Raise `ConfigError` when it has been removed: every path is relative to it."""
    try:
        os.getcwd()
    except OSError as error:
        from torchdev_lint.config import ConfigError

        raise ConfigError(f"the working directory is not there: {error.strerror}") from None


def _forget_output() -> None:
    """Let go of what standard output still holds, which the interpreter would try to write at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    command = arguments[0] if arguments else ""
    if command == "version" or arguments in (["-V"], ["--version"]):  # without the parser, which takes longer
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
    if command == "clean":
        from torchdev_lint.cli_clean import clean

        return clean(arguments[1:])
    from torchdev_lint.engine.unchanged import answer

    said = answer(arguments)  # before anything else is imported, the parser too
    if said is not None:
        sys.stdout.write(said)
        return CLEAN
    from torchdev_lint.cli_options import parse_check

    options = parse_check(arguments)  # ends here with `--help`
    from torchdev_lint.cli_check import check

    if options.watch:
        from torchdev_lint.cli_watch import watch

        return watch(options, lambda: check(parse_check(arguments)))
    return check(options)


if __name__ == "__main__":
    sys.exit(main())
