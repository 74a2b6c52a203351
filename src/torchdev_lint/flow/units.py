"""Bodies of functions that can be exchanged, and that say who looks at them.

A tree is made *exchangeable* once: the body of every function of the module, and of every method of its classes, becomes a block
that tells a journal when it is looked at. When a text differs from the last one inside a single body only, that body is
parsed on its own and put in the place of the old one: all other nodes stay what they are, and so does what is known of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import libcst as cst

from torchdev_lint.flow.positions import spans

if TYPE_CHECKING:
    from torchdev_lint.flow.journal import Journal


class Body(cst.IndentedBlock):
    """A function's block that says when it is looked at."""

    __slots__ = ("journal", "version")  # type: ignore[misc]
    journal: Journal
    version: int
    """How often it was exchanged."""

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
        return before


_HELD: dict[str, Any] = {
    name: getattr(cst.IndentedBlock, name) for name in ("body", "header", "indent", "footer")
}
"""How the parts of a block are read and set, whoever is told of it."""


@dataclass(eq=False, slots=True)
class Unit:
    """A body that can be exchanged, with its place in the text: from behind the colon up to the end of its last line.

    `indent`: that of the `def`. `replaced`: what stood there before it was exchanged.
    """

    body: Body
    start: int
    end: int
    indent: str
    replaced: object = None


def make_exchangeable(module: cst.Module, journal: Journal) -> None:
    """Let the bodies of a tree that nobody else has tell who looks at them."""
    for function, _ in _functions(module):
        block = function.body
        if isinstance(block, Body):
            object.__setattr__(block, "journal", journal)
        elif type(block) is cst.IndentedBlock:
            watched = object.__new__(Body)
            for held in _HELD.values():
                held.__set__(watched, held.__get__(block))
            object.__setattr__(watched, "journal", journal)
            object.__setattr__(watched, "version", 0)
            object.__setattr__(function, "body", watched)


def _functions(module: cst.Module) -> Iterator[tuple[cst.FunctionDef, str]]:
    """The functions of a module and the methods of its classes, with the indentation of their `def`."""
    for line in module.body:
        if isinstance(line, cst.FunctionDef):
            yield line, ""
        elif isinstance(line, cst.ClassDef) and isinstance(line.body, cst.IndentedBlock):
            indent = line.body.indent
            for inner in line.body.body:
                if isinstance(inner, cst.FunctionDef):
                    yield inner, module.default_indent if indent is None else indent


def units_of(module: cst.Module) -> list[Unit]:
    """The bodies that can be exchanged, in the order of the text."""
    functions = [(one, indent) for one, indent in _functions(module) if isinstance(one.body, Body)]
    found = spans(module, [one.body for one, _ in functions])
    units = [Unit(one.body, *found[id(one.body)], indent) for one, indent in functions]  # type: ignore[arg-type]
    return sorted(units, key=lambda one: one.start)


def difference(before: str, after: str) -> tuple[int, int, int]:
    """Where two texts differ: from which offset, up to which one in the first text and in the second."""
    start, limit = 0, min(len(before), len(after))
    # comparing slices is what Python does fast
    step = limit
    while step:
        if before.startswith(after[start : start + step], start):
            start += step
            step = min(step, limit - start)
        else:
            step //= 2
    end, limit = 0, limit - start
    step = limit
    while step:
        tail = after[len(after) - end - step : len(after) - end]
        if before.startswith(tail, len(before) - end - step):
            end += step
            step = min(step, limit - end)
        else:
            step //= 2
    return start, len(before) - end, len(after) - end


Parse = Callable[[str], "cst.Module | None"]
"""Gives the tree of a text, or None if there is none."""


def exchanged(module: cst.Module, units: list[Unit], before: str, after: str, parse: Parse) -> Unit | None:
    """The unit whose body was exchanged to make `after` of the module's text, which was `before`; None where that cannot be done.

    The places of the units are brought up to date. A text that does not parse cannot be had this way.
    """
    start, end_before, _ = difference(before, after)
    unit = next((one for one in units if one.start <= start and end_before <= one.end), None)
    longer = len(after) - len(before)
    if unit is None or "\n" not in before[unit.start : start] or after[unit.end + longer - 1] != "\n":
        return None  # outside, in the line of the `def`, or in a last line that has no end
    parsed = _parsed(after[unit.start : unit.end + longer], unit.indent, module, parse)
    if parsed is None:
        return None
    unit.replaced = unit.body.hold(parsed)
    for one in units:
        if one.start > unit.start:
            one.start += longer
            one.end += longer
    unit.end += longer
    return unit


def _parsed(text: str, indent: str, module: cst.Module, parse: Parse) -> cst.IndentedBlock | None:
    """The block whose text this is, from behind the colon of its `def`; None when it is not just one block."""
    around = "class _:\n" if indent else ""
    # what follows shows whether something of the text belongs behind the block
    tree = parse(f"{around}{indent}async def _():{text}{indent}pass\n")
    if tree is None:
        return None
    inside: Any = tree.body
    if indent and len(inside) == 1 and isinstance(inside[0].body, cst.IndentedBlock):
        inside = inside[0].body.body
    if len(inside) != 2 or tree.default_indent != module.default_indent or tree.footer:
        return None
    function, behind = inside
    whole = isinstance(function, cst.FunctionDef) and not behind.leading_lines
    block = function.body if whole else None
    return block if type(block) is cst.IndentedBlock else None
