"""What the machine-readable formats need besides the diagnostics."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from torchdev_lint.config import REVEALED
from torchdev_lint.diagnostics import TOOL, Applicability, Diagnostic, Range
from torchdev_lint.report.sources import Sources

__all__ = ["TOOL", "Context", "Renderer", "RuleText", "Tool", "file_uri", "is_note"]


@dataclass(frozen=True, slots=True)
class RuleText:
    """What is said of a rule: `explanation` is its documentation, as Markdown."""

    code: str
    name: str
    summary: str
    explanation: str
    enabled: bool
    tool: str = TOOL
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """What a report says of a tool."""

    version: str = ""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What a report is made with: `root` is the directory that relative paths start from."""

    sources: Sources = field(default_factory=lambda: Sources({}))
    root: str = "."
    version: str = ""
    rules: Mapping[str, RuleText] = field(default_factory=dict)
    fixable: Collection[Applicability] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """What is known of the other tools whose findings are reported, by name."""

    def relative(self, path: str) -> str | None:
        """`path` below the root, with forward slashes; None for one that is elsewhere."""
        absolute, root = os.path.abspath(path), os.path.abspath(self.root)
        try:
            relative = os.path.relpath(absolute, root)
        except ValueError:  # Another drive.
            return None
        return None if relative.split(os.sep)[0] == os.pardir else relative.replace(os.sep, "/")

    def in_file(self, one: Diagnostic) -> Range:
        """Where a finding stands in the file itself: for a notebook, in its JSON text."""
        return self.sources.in_file(one.path, one.cell, one.range)


def is_note(one: Diagnostic) -> bool:
    """Whether this is an answer to a question of the user's rather than something wrong."""
    return one.code == REVEALED


Renderer = Callable[[Sequence[Diagnostic], Context], str]


def file_uri(path: str) -> str:
    """The `file:` URI of a path."""
    absolute = os.path.abspath(path).replace(os.sep, "/")
    return "file://" + quote(os.fsencode(absolute if absolute.startswith("/") else f"/{absolute}"), safe="/:")
