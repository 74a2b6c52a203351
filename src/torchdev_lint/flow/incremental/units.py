"""A module and bodies of functions whose parts can be exchanged, and that say who looks at them.

A tree is made *exchangeable* once: the body of every function of the module, and of every method of its classes, becomes a block
that tells a journal when it is looked at, and so does the module for its lines. All other nodes stay what they are when a part is
exchanged, and so does what is known of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import libcst as cst

from torchdev_lint.flow.syntax.positions import Places
from torchdev_lint.flow.syntax.trees import walk

if TYPE_CHECKING:
    from torchdev_lint.flow.incremental.journal import Journal


class Body(cst.IndentedBlock):
    """A function's block that says when it is looked at."""

    __slots__ = ("journal", "listed", "version")  # type: ignore[misc]
    journal: Journal
    version: int
    """How often it was exchanged."""
    listed: tuple[cst.CSTNode, ...]
    """What `nodes` gives, once it was asked for."""

    @property
    def body(self) -> Any:  # type: ignore[override]
        """The statements."""
        self.journal.look_at(self)
        return _HELD["body"].__get__(self)

    def hold(self, block: cst.IndentedBlock) -> tuple[object, ...]:
        """Be what another block is; what was held before."""
        before = tuple(held.__get__(self) for held in _HELD.values())
        for held in _HELD.values():
            held.__set__(self, held.__get__(block))
        object.__setattr__(self, "version", self.version + 1)
        object.__setattr__(self, "listed", ())
        return before

    def _codegen(self, state: Any, **given: Any) -> None:
        render = getattr(state, "render_part", None)
        if render is None:
            super()._codegen(state, **given)
        else:
            render(self, super()._codegen)

    def nodes(self) -> tuple[cst.CSTNode, ...]:
        """The block and all nodes below it, as `walk` gives them."""
        self.journal.look_at(self)
        if not self.listed:
            below = (node for line in _HELD["body"].__get__(self) for node in walk(line))
            object.__setattr__(self, "listed", (self, *below))
        return self.listed

    def recall(self, find: Callable[..., Any], function: cst.FunctionDef) -> Any:
        """What is found out in the function whose block this is (`trees.remembered`)."""
        return self.journal.recall(find, function)


_HELD: dict[str, Any] = {
    name: getattr(cst.IndentedBlock, name) for name in ("body", "header", "indent", "footer")
}
"""How the parts of a block are read and set, whoever is told of it."""


class Program(cst.Module):
    """A module that says when somebody looks at its lines, and knows where its nodes are."""

    __slots__ = ("journal", "places", "version")  # type: ignore[misc]
    journal: Journal
    version: int
    """How often lines were exchanged."""
    places: Places

    @property
    def body(self) -> Any:
        """The statements."""
        self.journal.look_at(self)
        return _LINES.__get__(self)

    def find(self, wanted: Collection[int]) -> tuple[dict[int, tuple[int, int]], str]:
        """Where nodes are (by id), and the text."""
        return self.places.rendered(self, self._state_of, wanted)

    def _state_of(self, line: cst.CSTNode) -> object:
        bodies = [one.body for one, _ in functions_of([line], self)]
        versions = [body.version for body in bodies if isinstance(body, Body)]
        return getattr(line, "leading_lines", None), versions

    def recall(self, find: Callable[..., Any], module: cst.Module) -> Any:
        """What is found out in the module (`trees.remembered`)."""
        return self.journal.recall(find, module)

    def hold(self, lines: Sequence[cst.BaseStatement | cst.SimpleStatementLine]) -> None:
        """Have other lines."""
        _LINES.__set__(self, lines)
        object.__setattr__(self, "version", self.version + 1)


_LINES: Any = vars(cst.Module)["body"]


def exchangeable(module: cst.Module, journal: Journal) -> Program:
    """The module, whose parts tell from here on who looks at them; nobody else may have its tree."""
    made = object.__new__(Program)
    for name in (field.name for field in dataclasses.fields(cst.Module)):
        getattr(cst.Module, name).__set__(made, getattr(module, name))
    object.__setattr__(made, "journal", journal)
    object.__setattr__(made, "version", 0)
    object.__setattr__(made, "places", Places())
    watch_bodies(made, journal)
    return made


def watch_bodies(module: cst.Module, journal: Journal) -> None:
    """Let the bodies of functions tell who looks at them."""
    for function, _ in functions_of(module.body, module):
        block = function.body
        if isinstance(block, Body):
            object.__setattr__(block, "journal", journal)
        elif type(block) is cst.IndentedBlock:
            watched = object.__new__(Body)
            for held in _HELD.values():
                held.__set__(watched, held.__get__(block))
            object.__setattr__(watched, "journal", journal)
            object.__setattr__(watched, "version", 0)
            object.__setattr__(watched, "listed", ())
            object.__setattr__(function, "body", watched)


def functions_of(lines: Iterable[cst.CSTNode], module: cst.Module) -> Iterator[tuple[cst.FunctionDef, str]]:
    """The functions among lines of a module and the methods of their classes, with the indentation of their `def`."""
    for line in lines:
        if isinstance(line, cst.FunctionDef):
            yield line, ""
        elif isinstance(line, cst.ClassDef) and isinstance(line.body, cst.IndentedBlock):
            indent = line.body.indent
            for inner in line.body.body:
                if isinstance(inner, cst.FunctionDef):
                    yield inner, module.default_indent if indent is None else indent
