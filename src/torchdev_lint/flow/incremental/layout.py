"""Where the exchangeable parts of a tree stand in its text, and exchanging those that an edit touched.

What is inside the body of a single function is parsed on its own; else the lines of the module that an edit touched are. Where it is not
certain that the tree is then that of the whole text, nothing is exchanged.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import libcst as cst

from torchdev_lint.flow.incremental.units import Body, Program, functions_of, watch_bodies
from torchdev_lint.flow.syntax.positions import spans
from torchdev_lint.source.prefixes import common_length

Parse = Callable[[str], "cst.Module | None"]
"""Gives the tree of a text, or None if there is none."""

_BEFORE = "pass\n"
_BEHIND = "pass\n"
"""Statements around the lines that are parsed: what belongs to neither of them belongs to those lines."""


@dataclass(eq=False, slots=True)
class Unit:
    """A body that can be exchanged, with its place in the text: from behind the colon up to the end of its last line.

    `indent`: that of the `def`.
    """

    body: Body
    start: int
    end: int
    indent: str


@dataclass(slots=True)
class Exchange:
    """What was exchanged: a body, or the lines of the module from `first` to before `behind`, for so many others (`count`).

    `size`: how many characters were parsed for it. `replaced`: nodes that are not in the tree any more. Lines of which only the white
    space and comments before them have changed are not exchanged.
    """

    body: Body | None = None
    first: int = 0
    behind: int = 0
    count: int = 0
    size: int = 0
    replaced: object = None


class Layout:
    """The places of the parts of a tree in its text."""

    def __init__(self, module: Program, text: str) -> None:
        self.module = module
        self.text = text
        self.units: list[Unit] = []
        self.starts: list[int] = []
        """Where the lines of the module begin, with the white space and comments before them; at last, where they end."""
        lines = list(module.body)
        functions = [one for one in functions_of(lines, module) if isinstance(one[0].body, Body)]
        found = spans(module, [*lines, *(one.body for one, _ in functions)])
        self.units = _units(functions, found)
        if lines:
            self.starts = [found[id(line)][0] for line in lines]
            self.starts.append(found[id(lines[-1])][1])

    def exchange(self, text: str, parse: Parse) -> Exchange | None:
        """Make the tree that of another text; None, and nothing is changed, where that cannot be done."""
        before = self.text
        if before.endswith("\n") != text.endswith("\n"):
            return None
        start, end, _ = difference(before, text)
        made = self._exchange_body(start, end, text, parse)
        if made is None and text.endswith("\n"):
            made = self._exchange_lines(start, end, text, parse)
        if made is not None:
            self.text = text
        return made

    def _exchange_body(self, start: int, end: int, text: str, parse: Parse) -> Exchange | None:
        unit = next((one for one in self.units if one.start <= start and end <= one.end), None)
        longer = len(text) - len(self.text)
        if unit is None or "\n" not in self.text[unit.start : start]:
            return None  # outside, or in the line of the `def`
        if text[unit.end + longer - 1 : unit.end + longer] != "\n":
            return None  # its last line has no end, or has lost it
        parsed = _parsed(text[unit.start : unit.end + longer], unit.indent, self.module, parse)
        if parsed is None:
            return None
        self._shift(unit.start + 1, longer)
        unit.end += longer
        return Exchange(unit.body, size=unit.end - unit.start, replaced=unit.body.hold(parsed))

    def _shift(self, behind: int, longer: int) -> None:
        """What begins at an offset or later begins elsewhere."""
        for one in self.units:
            if one.start >= behind:
                one.start += longer
                one.end += longer
        self.starts = [start + longer if start >= behind else start for start in self.starts]

    def _exchange_lines(self, start: int, end: int, text: str, parse: Parse) -> Exchange | None:
        starts, longer = self.starts, len(text) - len(self.text)
        if not starts or start < starts[0] or end > starts[-1] or starts[-1] != len(self.text):
            return None
        # with the lines before and behind, as white space and comments may go from one to the other
        first = max(bisect_left(starts, start) - 1, 0)
        behind = min(bisect_right(starts, end) + 1, len(starts) - 1)
        region = text[starts[first] : starts[behind] + longer]
        tree = parse(f"{_BEFORE}{region}{_BEHIND}")
        if tree is None or tree.default_indent != self.module.default_indent or tree.footer or tree.header:
            return None
        made, last = list(tree.body[1:-1]), tree.body[-1]
        if last.leading_lines or not made or (first == 0 and made[0].leading_lines):
            return None
        old = list(self.module.body)
        inside = old[first:behind]
        watch_bodies(tree, self.module.journal)
        functions = [one for one in functions_of(made, self.module) if isinstance(one[0].body, Body)]
        found = spans(tree, [*made, *(one.body for one, _ in functions)])
        offset = starts[first] - len(_BEFORE)
        new_starts = [found[id(line)][0] + offset for line in made]
        old_texts = [self.text[starts[n] : starts[n + 1]] for n in range(first, behind)]
        new_texts = [
            text[a:b] for a, b in zip(new_starts, [*new_starts[1:], starts[behind] + longer], strict=True)
        ]
        head = common_length(old_texts, new_texts)
        tail = common_length(old_texts[head:][::-1], new_texts[head:][::-1])
        kept_old, kept_new = inside[head : len(inside) - tail], made[head : len(made) - tail]
        if len(kept_old) == len(kept_new) == 1 and _begins(old_texts[head]) == _begins(new_texts[head]):
            # only what is before it
            object.__setattr__(kept_old[0], "leading_lines", kept_new[0].leading_lines)
            head, kept_old, kept_new = head + 1, [], []
        result = (
            [*inside[:head], *kept_new, *inside[len(inside) - tail :]]
            if tail
            else [*inside[:head], *kept_new]
        )
        exchange = Exchange(
            first=first + head,
            behind=first + head + len(kept_old),
            count=len(kept_new),
            size=len(region),
            replaced=kept_old,
        )
        if kept_old or kept_new:
            self.module.hold([*old[:first], *result, *old[behind:]])
        # everything that was kept has its place from the new tree's
        places = {id(block.body): found[id(block.body)] for block, _ in functions}
        self._place(first, behind, inside, made, result, new_starts, longer, places, offset)
        return exchange

    def _place(
        self,
        first: int,
        behind: int,
        inside: list[Any],
        made: list[Any],
        result: list[Any],
        new_starts: list[int],
        longer: int,
        places: dict[int, tuple[int, int]],
        offset: int,
    ) -> None:
        """Note where the lines are that were exchanged, and those that were parsed with them."""
        low, high = self.starts[first], self.starts[behind]
        kept = [one for one in self.units if one.end <= low]
        later = [one for one in self.units if one.start >= high]
        for one in later:
            one.start += longer
            one.end += longer
        between: list[Unit] = []
        for line, parsed in zip(result, made, strict=True):
            pairs = zip(functions_of([line], self.module), functions_of([parsed], self.module), strict=True)
            for (function, indent), (twin, _) in pairs:
                if isinstance(function.body, Body):
                    start, end = places[id(twin.body)]
                    between.append(Unit(function.body, start + offset, end + offset, indent))
        self.units = [*kept, *sorted(between, key=lambda one: one.start), *later]
        self.starts = [*self.starts[:first], *new_starts, *(start + longer for start in self.starts[behind:])]


def _units(functions: list[tuple[cst.FunctionDef, str]], found: dict[int, tuple[int, int]]) -> list[Unit]:
    units = []
    for one, indent in functions:
        start, end = found[id(one.body)]
        assert isinstance(one.body, Body)
        units.append(Unit(one.body, start, end, indent))
    return sorted(units, key=lambda one: one.start)


def _begins(text: str) -> str:
    """A line of the module without the white space and comments before it."""
    rows = text.splitlines(keepends=True)
    while rows and (not rows[0].strip() or rows[0].lstrip().startswith("#")):
        rows.pop(0)
    return "".join(rows)


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


def _parsed(text: str, indent: str, module: Program, parse: Parse) -> cst.IndentedBlock | None:
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
