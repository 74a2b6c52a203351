"""`torchdev-lint server`: the language server, over standard input and output."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError


def parser() -> argparse.ArgumentParser:
    """The arguments of `server`."""
    made = Parser(
        prog="torchdev-lint server",
        description="Serve an editor by the Language Server Protocol, over standard input and output.",
        allow_abbrev=False,
    )
    made.add_argument("--stdio", action="store_true", help="accepted; there is no other way")
    made.add_argument(
        "--clientProcessId", metavar="PID", help="accepted; the client says it again when it begins"
    )
    made.add_argument("-v", "--verbose", action="store_true", help="tell on stderr what is received and sent")
    return made


def server(arguments: Sequence[str]) -> int:
    """Serve a client until it ends; returns the exit code. Raises `ConfigError` without the packages that it needs."""
    given = parser().parse_args(arguments)
    import warnings

    # pygls 2.1.1 asks of each handler what Python 3.14 says not to ask: a bug of theirs would end us under PYTHONWARNINGS=error.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"pygls\.")
    try:
        from torchdev_lint.lsp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs", "attr"):
            raise
        raise ConfigError(
            "the language server needs pygls, which is not installed: pip install 'torchdev-lint[lsp]'"
        ) from None
    import logging

    logging.basicConfig(
        level=logging.DEBUG if given.verbose else logging.WARNING, format="%(name)s: %(message)s"
    )
    if not given.verbose:
        # What it logs as errors are answers that clients expect, such as that a text has changed.
        logging.getLogger("pygls").setLevel(logging.CRITICAL)
    stdin = sys.stdin.buffer
    # Only the protocol may write to standard output: whatever is printed goes to stderr.
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(stdin, stdout)
    return 0
