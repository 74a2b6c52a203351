"""Code in the middle of a sentence: quoted while it is short, else called something."""

from __future__ import annotations

LONGEST = 40
"""Characters of code that a sentence still reads well with."""


def quoted(text: str, otherwise: str) -> str:
    """The code in backquotes; `otherwise` where there is none, or it is long or has several lines."""
    return f"`{text}`" if 0 < len(text) <= LONGEST and "\n" not in text else otherwise
