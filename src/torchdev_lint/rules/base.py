"""The base class of a rule and what may be derived from it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from torchdev_lint.diagnostics import Applicability

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event

HEADINGS = (
    "What it does",
    "Why it fails",
    "Example",
    "Use instead",
    "Fix safety",
    "Known limits",
)
"""The sections every rule's documentation has, in this order."""


EditPlace: TypeAlias = Literal["before", "after", "replace"]


@dataclass(frozen=True, slots=True)
class NodeEdit:
    """A text edit placed by a LibCST node: `before`, `after` or instead of (`replace`) the node's own text.

    `node` is opaque here; the engine finds its place in the text.
    """

    node: Any
    place: EditPlace
    content: str


@dataclass(frozen=True, slots=True)
class NodeFix:
    """A fix whose edits are placed by nodes."""

    edits: tuple[NodeEdit, ...]
    applicability: Applicability
    message: str
    cures_cause: bool = False
    """See `Fix.cures_cause`."""


@dataclass(frozen=True, slots=True)
class Note:
    """A related location placed by a node."""

    node: Any
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule yields: where, what, why, and how to cure it."""

    node: Any
    message: str
    notes: tuple[Note, ...] = ()
    fix: NodeFix | None = None


class Rule:
    """A rule answers events of one or more types with findings.

    A subclass lives in its own module, whose docstring is the rule's documentation (first line:
    `CODE: summary.`, then a section per entry of `HEADINGS`).
    """

    code: ClassVar[str]
    name: ClassVar[str]
    fix_applicability: ClassVar[Applicability | None] = None
    """The best fix the rule offers; None when it has none."""
    default: ClassVar[bool] = True
    """Whether the rule is on without being selected."""
    answers: ClassVar[tuple[type[Any], ...]]
    """The event types that the rule subscribes to."""
    witness: ClassVar[tuple[str, ...]]
    """The harness backends on which the failure of the rule's bad fixtures can be seen."""

    def check(self, event: Event) -> Iterator[Finding]:
        """Yield the findings for `event`, an instance of one of `answers`."""
        raise NotImplementedError

    @classmethod
    def documentation(cls) -> str:
        """The rule's documentation: its module's docstring, as Markdown with `##` headings."""
        module = sys.modules[cls.__module__]
        text = module.__doc__
        if text is None:  # `python -OO` leaves docstrings out
            import ast

            # `ast.parse` leaves them out there, too, since Python 3.14
            keeping = ast.PyCF_ONLY_AST
            tree = compile(
                inspect.getsource(module), "<rule>", "exec", keeping, dont_inherit=True, optimize=0
            )
            text = ast.get_docstring(tree, clean=False) or ""
        return inspect.cleandoc(text)

    @classmethod
    def summary(cls) -> str:
        """The first line of the documentation, without the code and without a full stop."""
        first = cls.documentation().splitlines()[0]
        return first.removeprefix(f"{cls.code}:").strip().rstrip(".")

    @classmethod
    def sections(cls) -> Mapping[str, str]:
        """The documentation's sections by heading, in the order in which they stand."""
        found: dict[str, list[str]] = {}
        current: list[str] = []
        for line in cls.documentation().splitlines():
            if line.startswith("## "):
                current = found.setdefault(line[3:].strip(), [])
            else:
                current.append(line)
        return {heading: "\n".join(lines).strip("\n") for heading, lines in found.items()}
