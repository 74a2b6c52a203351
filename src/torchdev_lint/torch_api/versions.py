"""Which version of PyTorch brought what a fix may write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

SINCE: Mapping[str, tuple[int, int]] = {
    r"\baccelerator\.": (2, 6),  # https://docs.pytorch.org/docs/2.6/accelerator.html
    r"\bxpu\.": (2, 3),  # https://docs.pytorch.org/docs/2.3/xpu.html
}
"""Names in code, and the version that had them first."""


def runs_with(written: Iterable[str], oldest: tuple[int, ...]) -> bool:
    """Whether pieces of code use nothing newer than the PyTorch version `oldest`; any version will do when that is empty."""
    if not oldest:
        return True
    newer = [name for name, since in SINCE.items() if oldest < since]
    return not any(re.search(name, text) for text in written for name in newer)
