"""The pure core of every face: source text in, diagnostics out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchdev_lint.config import Config
    from torchdev_lint.diagnostics import Diagnostic


def check_source(text: str, path: str, config: Config) -> list[Diagnostic]:
    """Check one module's source text (decoded, BOM removed, newlines as in the file).

    Pure: reads no file, prints nothing. Returns the diagnostics of the rules that `config` selects for `path`, sorted by
    position, before suppression comments are applied. A text that does not parse gives one TDV999.
    """
    raise NotImplementedError
