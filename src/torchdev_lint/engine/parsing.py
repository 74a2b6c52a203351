"""Whether a text is Python: the judge of what a fix leaves behind."""

from __future__ import annotations


def parses(text: str) -> bool:
    """Whether LibCST can parse `text`."""
    import libcst  # Only once a file is really fixed.

    try:
        libcst.parse_module(text)
    except (libcst.ParserSyntaxError, RecursionError):
        return False
    return True
