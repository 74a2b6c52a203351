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
    from rich.console import Console  # Costs more than a small run: only for a terminal that shows it.
    from rich.text import Text

    text = Text()
    for style, piece in pieces:
        text.append(piece, style=_RICH_STYLES.get(style))
    console = Console(
        file=stream, force_terminal=True, color_system="standard", highlight=False, soft_wrap=True
    )
    console.print(text, end="")
