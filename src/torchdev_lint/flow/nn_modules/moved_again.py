"""Where a module can be moved once more: behind the call of a function that has attached a part to it after the move."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Leaf
from torchdev_lint.flow.syntax.trees import binds, blocks, dotted, walk


class Again(NamedTuple):
    """The statement behind which the move is to be written, and how, with the indentation of both."""

    statement: cst.CSTNode
    move: str
    indentation: str


def place_behind(frame: Frame, call: cst.CSTNode, whole: Leaf) -> Again | None:
    """`model.to(device)`, `inject(model)`: behind that, `model.to(device)` once more.

    Only where both stand in one block of the file, and nothing between them gives the names in the move another value.
    """
    origin = None if whole.origin is None else whole.origin.root()
    move = None if origin is None or origin.what != "moved" else origin.node
    if (
        not isinstance(call, cst.Call)
        or not isinstance(move, cst.Call)
        or not isinstance(move.func, cst.Attribute)
    ):
        return None
    holder = next((dotted(one.value) for one in call.args if one.keyword is None), None)
    module, text = frame.analysis.module, frame.analysis.text
    for block, indentation in blocks(module, module.default_indent):
        lines = [line for line in block if isinstance(line, cst.SimpleStatementLine)]
        attached = next((line for line in lines if any(part is call for part in walk(line))), None)
        moved = next((line for line in lines if any(part is move for part in walk(line))), None)
        if attached is None or moved is None or holder is None or _moved(moved, move) != holder:
            continue
        between = block[block.index(moved) + 1 : block.index(attached) + 1]
        arguments = [one for given in move.args for one in walk(given)]
        if any(binds(line, part) for line in between for part in arguments):
            return None
        written = f"{holder}.{move.func.attr.value}({', '.join(text(one) for one in move.args)})"
        return Again(attached.body[-1], written, indentation)
    return None


def _moved(line: cst.SimpleStatementLine, move: cst.Call) -> str | None:
    """The name of what a statement moves: `model.to(device)`, `model = Model().to(device)`."""
    match line.body[-1]:
        case cst.Expr(value=value) if value is move and isinstance(move.func, cst.Attribute):
            return dotted(move.func.value)
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if value is move:
            return dotted(target)
        case _:
            return None
