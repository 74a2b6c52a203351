"""Walking LibCST trees: only the fields that mean something, no white space, no visitors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

import libcst as cst

_TRIVIA = frozenset(
    (
        "lpar rpar leading_lines lines_after_decorators trailing_whitespace header footer comma semicolon dot equal operator "
        "lbracket rbracket lbrace rbrace asynchronous colon indent newline indicator relative"
    ).split()
)


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in dataclasses.fields(kind)
        if field.name not in _TRIVIA and not field.name.startswith("whitespace")
    )


def walk(root: cst.CSTNode, *, below: tuple[type[cst.CSTNode], ...] = ()) -> Iterator[cst.CSTNode]:
    """The node and all below it, in source order; what is inside nodes of the types `below` is left out."""
    stack: list[object] = [root]
    while stack:
        top = stack.pop()
        if isinstance(top, cst.CSTNode):
            yield top
            if below and isinstance(top, below):
                continue
            stack += [getattr(top, name) for name in reversed(_fields(type(top)))]
        elif isinstance(top, (list, tuple)):
            stack += reversed(top)


def stands_alone(root: cst.CSTNode, node: cst.BaseExpression) -> bool:
    """Whether a conditional expression in the place of `node` would need no parentheses."""
    if node.lpar:
        return False
    for parent in walk(root):
        match parent:
            case (
                cst.Arg()
                | cst.Assign()
                | cst.AnnAssign()
                | cst.Element()
                | cst.DictElement()
                | cst.Return()
                | cst.Index()
            ) if parent.value is node:
                return True
            case _:
                pass
    return False
