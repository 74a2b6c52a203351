"""Programs that a grammar makes, and bytes that a coverage-guided fuzzer makes, for what reads what it cannot trust.

    python benchmarks/reliability/fuzz.py programs|source|notebook|configuration [--seconds 120] [--seed 0] [--kept DIRECTORY]

`programs` are those of hypothesmith: whole modules from Python's grammar and from LibCST's nodes. They are checked with every
rule and fix: no exception, and what is fixed parses and is not fixed again.

The others are targets of atheris, which keeps the inputs that reach new branches of ours (in `--kept`). `source`: the
guard lets through only what LibCST survives, and decides fast. `notebook`: reading gives a notebook that writes back as it
was, edited too, or its own error. `configuration`: settings, or their own error.

Needs the extra `fuzz`; atheris brings its own libFuzzer, for Linux.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

TESTS = Path(__file__).parents[2] / "tests"
SLOW = 5.0
"""Seconds of processor time that one input may take."""


def programs(seconds: float, first: int) -> None:
    """Check programs of hypothesmith."""
    import hypothesmith
    from hypothesis import HealthCheck, given, seed, settings
    from hypothesis import strategies as st

    from torchdev_lint.config import SYNTAX_ERROR, Config, Selection
    from torchdev_lint.diagnostics import Applicability
    from torchdev_lint.engine.file_check import check_bytes
    from torchdev_lint.engine.parsing import compiles

    config = Config(command_line=Selection(("TDV",)))
    every_fix = frozenset(Applicability)
    heads = st.sampled_from(["import torch\n", "from torch import *\n", "import torch as A, numpy as B\n"])
    tried = refused = slowest = 0.0
    deadline = time.monotonic() + seconds

    def check(head: str, program: str) -> None:
        nonlocal tried, refused, slowest
        if time.monotonic() > deadline:
            return
        text = head + program
        start = time.process_time()
        result = check_bytes(text.encode("utf-8", "surrogatepass"), "program.py", config, every_fix)
        slowest = max(slowest, time.process_time() - start)
        tried += 1
        refused += any(one.code == SYNTAX_ERROR for one in result.diagnostics)
        assert not result.errors, (text, result.errors)
        if result.changed:
            assert compiles(result.text) or not compiles(text), text
            again = check_bytes(result.data, "program.py", config, every_fix)
            assert not again.changed, text

    number = first
    while time.monotonic() < deadline:
        for strategy in (hypothesmith.from_grammar(), hypothesmith.from_node()):
            number += 1
            decorated = seed(number)(
                settings(
                    max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck)
                )(given(heads, strategy)(check))
            )
            decorated()
    print(f"{tried:.0f} programs, {refused:.0f} not analysed; slowest {slowest:.2f} s; no complaint")


def source(data: bytes) -> None:
    """The guard and the parser behind it."""
    from torchdev_lint.source.document import SourceError
    from torchdev_lint.source.nesting import unreasonable
    from torchdev_lint.source.reading import read_source

    # Single bytes become what costs parsers most: it takes long to find a thousand brackets by chance.
    if data[:1] == b"*":
        times, data = data[1:3], data[3:]
        data = data * min(int.from_bytes(times, "little"), 100_000 // (len(data) + 1) + 1)
    try:
        document = read_source(data, "program.py")
    except SourceError:
        return
    start = time.process_time()
    too_much = unreasonable(document.text)
    _in_time(start, 0.5 + len(data) / 1_000_000, "the guard")
    if too_much is None:
        import libcst

        start = time.process_time()
        with suppress(libcst.ParserSyntaxError, RecursionError):
            libcst.parse_module(document.text)
        _in_time(start, SLOW, "the parser")


def _in_time(start: float, limit: float, what: str) -> None:
    spent = time.process_time() - start
    if spent > limit:
        raise AssertionError(f"{what} took {spent:.1f} s")


def notebook(data: bytes) -> None:
    """The reader of notebooks, and writing back."""
    from torchdev_lint.source.document import SourceError
    from torchdev_lint.source.reading import read_source

    try:
        book = read_source(data, "book.ipynb")
    except SourceError:
        return
    if "\\ud" not in book.raw.lower():  # A lone surrogate is read, and refused when it is to be written.
        assert book.encode(book.text) == data
    with suppress(SourceError):
        edited = book.text.replace("x", "yy")
        assert book.with_text(edited).text == edited
    book.analysed(book.text)


def configuration(data: bytes) -> None:
    """The reader of configurations."""
    from torchdev_lint.config import ConfigError
    from torchdev_lint.config_file import load_config_file
    from torchdev_lint.stubs.reading import StubError
    from torchdev_lint.stubs.shelf import shelf

    path = os.path.join(tempfile.gettempdir(), f"torchdev-lint-fuzz-{os.getpid()}.toml")
    with open(path, "wb") as file:
        file.write(data)
    with suppress(ConfigError, StubError):
        shelf(load_config_file(path, os.path.dirname(path)).stubs)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "source": source,
    "notebook": notebook,
    "configuration": configuration,
}


def seeds(target: str) -> list[bytes]:
    """Inputs to begin with."""
    if target == "configuration":
        from torchdev_lint.config_options import BY_NAME

        values = ("true", "3", "'x'", "['TDV001']", "[]", "{'*.py' = ['TDV001']}")
        return [f"{name} = {value}\n".encode() for name in BY_NAME for value in values]
    pattern = "*.ipynb" if target == "notebook" else "*_good.py"
    found = sorted(TESTS.rglob(pattern), key=lambda path: path.stat().st_size)[:40]
    extra = {
        "notebook": [
            b'{"cells": [{"cell_type": "code", "source": ["import torch\\n", "x"]}], "nbformat": 4}'
        ],
        "source": [
            b"*\xff\x0f" + one
            for one in (b"(", b"[", b"x.y(", b"a+", b"f'{", b"if x:\n elif y:\n", b"lambda:")
        ],
    }[target]
    return [*extra, *(path.read_bytes() for path in found)]


def fuzz(target: str, seconds: float, seed: int, kept: str) -> None:
    """Hand over to atheris, which ends the process."""
    import atheris

    with atheris.instrument_imports(include=["torchdev_lint", "tomllib"]):
        import tomllib  # noqa: F401

        import torchdev_lint.config_file
        import torchdev_lint.config_options
        import torchdev_lint.source.nesting
        import torchdev_lint.source.notebook
        import torchdev_lint.source.reading
        import torchdev_lint.stubs.reading
        import torchdev_lint.stubs.shelf  # noqa: F401
    os.makedirs(kept, exist_ok=True)
    for number, data in enumerate(seeds(target)):
        Path(kept, f"seed{number}").write_bytes(data)
    flags = [
        f"-max_total_time={seconds:.0f}",
        f"-seed={seed + 1}",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *flags, f"-artifact_prefix={kept}/crash-", kept], TARGETS[target])
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=["programs", *TARGETS])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kept", help="a directory for the inputs of atheris (default: a temporary one)")
    options = parser.parse_args()
    if options.target == "programs":
        programs(options.seconds, options.seed)
    else:
        fuzz(options.target, options.seconds, options.seed, options.kept or tempfile.mkdtemp())


if __name__ == "__main__":
    main()
