"""Makes the pictures of a terminal in docs/pictures from what the command line really prints.

    python scripts/pictures.py            write
    python scripts/pictures.py --check    only say what is out of date

`explain.svg` needs PyTorch: the error that it explains is raised by running examples/generate_text.py on the simulated accelerator.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fixture_files import ROOT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from torchdev_lint.cli import main as torchdev_lint

PICTURES = ROOT / "docs" / "pictures"
EXAMPLE = "examples/generate_text.py"
WIDTH = 118
"""Columns of the terminal."""

_FORMAT = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
    <title>TITLE</title>
    <style>
    .{unique_id}-matrix {{
        font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
        font-size: {char_height}px; line-height: {line_height}px;
    }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix" xml:space="preserve">
    {matrix}
    </g>
    </g>
</svg>
"""
"""Rich's own less the fonts that it would fetch from elsewhere."""


def printed(arguments: Sequence[str]) -> str:
    """What the command line prints on a colour terminal, in the root of the project."""
    out, before = io.StringIO(), Path.cwd()
    os.chdir(ROOT)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            torchdev_lint([*arguments, "--isolated", "--color=always"])
    finally:
        os.chdir(before)
    return out.getvalue()


def picture(command: str, output: str, title: str) -> str:
    """A terminal with a prompt, the command and its output, as SVG."""
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        legacy_windows=False,
        color_system="truecolor",
    )
    console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
    console.print(Text.from_ansi(output.rstrip("\n")), soft_wrap=False)
    return console.export_svg(
        title=title,
        theme=MONOKAI,
        code_format=_FORMAT.replace("TITLE", title),
        unique_id=f"terminal-{title.split()[-1]}",
    )


def _finding() -> str:
    return picture(f"torchdev-lint {EXAMPLE}", printed([EXAMPLE]), "torchdev-lint")


def _explain() -> str:
    from torchdev_lint.harness import ForkServer

    with ForkServer("simulated") as server:
        verdict = server.run(ROOT / EXAMPLE, cwd=ROOT)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.txt"
        log.write_text(verdict.stderr, encoding="utf-8")
        return picture(
            "torchdev-lint explain log.txt", printed(["explain", str(log)]), "torchdev-lint explain"
        )


PARTS: Mapping[str, Callable[[], str]] = {"finding.svg": _finding, "explain.svg": _explain}


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 1 when a picture is out of date and --check is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument(
        "names", nargs="*", metavar="PICTURE", help=f"which ones: {', '.join(PARTS)} (default: all)"
    )
    options = parser.parse_args(argv)
    PICTURES.mkdir(exist_ok=True)
    status = 0
    for name in options.names or PARTS:
        path, text = PICTURES / name, PARTS[name]()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        status = 1
        print(f"{name} is out of date" if options.check else f"{name} is written anew")
        if not options.check:
            path.write_text(text, encoding="utf-8")
    return status if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
