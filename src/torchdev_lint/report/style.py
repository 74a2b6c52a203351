"""Text in pieces with a meaning, so that one renderer serves plain output and a colour terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

Piece = tuple[str, str]
"""A style (a key of `_RICH_STYLES`, or "" for plain) and a text."""

_RICH_STYLES = {
    "code": "bold red",
    "fixable": "cyan",
    "path": "bold",
    "gutter": "bold blue",
    "caret": "bold red",
    "note": "bold cyan",
    "help": "bold cyan",
    "added": "green",
    "removed": "red",
    "bold": "bold",
}


def plain(pieces: Iterable[Piece]) -> str:
    """The pieces without their styles."""
    return "".join(text for _, text in pieces)


def write(pieces: Iterable[Piece], stream: TextIO, *, colour: bool) -> None:
    """Write the pieces to `stream`."""
    pieces = list(pieces)
    if not colour or not pieces:
        stream.write(plain(pieces))
        return
    from rich.color import ColorSystem  # Costs more than a small run: only for a terminal that shows it.
    from rich.style import Style

    # Not through a `Console`, which would wrap lines, expand tabs and take out carriage returns.
    for style, piece in pieces:
        found = Style.parse(_RICH_STYLES.get(style, "none"))
        for line in piece.splitlines(keepends=True):
            text = line.rstrip("\r\n")
            stream.write(found.render(text, color_system=ColorSystem.STANDARD) + line[len(text) :])
