"""The formats for programs, by name; each in a module that is loaded only when it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from torchdev_lint.diagnostics import Applicability, Diagnostic

if TYPE_CHECKING:
    from torchdev_lint.report.context import Context, Renderer
    from torchdev_lint.report.sources import Sources
    from torchdev_lint.report.style import Piece

TEXT = ("full", "concise", "grouped")
"""The formats for people, which end with a summary."""


def render_text(
    name: str, diagnostics: Sequence[Diagnostic], fixable: Collection[Applicability], sources: Sources
) -> Iterator[Piece]:
    """The report in the format for people `name`, without its summary."""
    if name == "full":
        from torchdev_lint.report import full

        return full.render(diagnostics, fixable, sources)
    if name == "grouped":
        from torchdev_lint.report import grouped

        return grouped.render(diagnostics, fixable)
    from torchdev_lint.report import concise

    return concise.render(diagnostics, fixable)


def render(name: str, diagnostics: Sequence[Diagnostic], context: Context) -> str:
    """The report in the machine-readable format `name`."""
    renderer: Renderer = import_module(f"torchdev_lint.report.{name.replace('-', '_')}").render
    return renderer(diagnostics, context)
