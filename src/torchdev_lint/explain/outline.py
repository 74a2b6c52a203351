"""The statements of a text: which one a row belongs to, in which function, what it names and what it gives a name to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Statement:
    """Rows `first` to `last`, of a compound statement those of its head; a row of a text that Python cannot parse."""

    first: int
    last: int
    function: tuple[int, int] | None = None
    """The rows of the innermost function around it; None at the top level."""
    names: frozenset[str] = field(default_factory=frozenset)
    """What it reads: names and dotted paths."""
    assigned: frozenset[str] = field(default_factory=frozenset)
    """What it gives a value to, or puts something into."""
    is_expression: bool = False
    """Whether it is only an expression, whose value is dropped."""


class Outline:
    """The statements of one text, and which of them lead to one."""

    def __init__(self, text: str) -> None:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            tree = ast.Module([], [])
        self._statements = sorted(_statements(tree, None), key=lambda found: found[1] - found[0])

        self._conditions = [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(tree)
            if isinstance(node, (ast.If, ast.While))
        ]
        self._functions = {
            node.name: (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        }

    def at(self, row: int) -> Statement:
        """The innermost statement on a row."""
        for found in self._statements:
            if found[0] <= row <= found[1]:
                return _statement(found)
        return Statement(row, row)

    def leading_to(self, row: int) -> frozenset[int]:
        """The first rows of the statements that what is read on a row may come from: by variables of its function and of the top
        level, by attributes, through functions of the text that are called on the way; expressions on the same variables; and what
        all these depend on."""
        target = self.at(row)
        wanted, rows = set(target.names), {target.first}
        statements = [_statement(found) for found in self._statements]
        growing = True
        while growing:
            called = {self._functions[name] for name in _last_parts(wanted) if name in self._functions}
            before = len(rows)
            for one in statements:
                inside = one.function in called
                shared = one.function in (None, target.function) or inside
                dotted = any("." in name for name in one.assigned & wanted)
                feeds = one.assigned & wanted if shared else frozenset()
                alone = one.function == target.function and one.is_expression and one.names & target.names
                if one.first not in rows and (inside or dotted or feeds or alone):
                    rows.add(one.first)
                    wanted |= one.names
            growing = len(rows) > before
        return frozenset(
            rows | {head for head, end in self._conditions if any(head < row <= end for row in rows)}
        )


def _last_parts(names: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[2] for name in names}


def _statement(found: _Found) -> Statement:
    first, last, function, node = found
    names, assigned = frozenset(_read(node)), frozenset(_assigned(node))
    return Statement(first, last, function, names, assigned, isinstance(node, ast.Expr))


_Found = tuple[int, int, "tuple[int, int] | None", ast.stmt]


def _statements(node: ast.AST, function: tuple[int, int] | None) -> Iterator[_Found]:
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, ast.stmt):
            end = child.end_lineno or child.lineno
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside = (child.lineno, end)
            body = getattr(child, "body", None)
            if body and isinstance(body[0], ast.stmt):
                end = max(child.lineno, body[0].lineno - 1)
            yield child.lineno, end, function, child
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from _statements(child, inside)


def _head(node: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement less the statements in it."""
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += [
            child
            for child in ast.iter_child_nodes(current)
            if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case))
        ]


def _read(node: ast.stmt) -> Iterator[str]:
    for part in _head(node):
        if isinstance(part, (ast.Name, ast.Attribute)):
            path = _dotted(part)
            if path:
                yield path


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        targets = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
                yield _dotted(part)
            elif isinstance(part, ast.Subscript):
                yield _dotted(part.value)


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
