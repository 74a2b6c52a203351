"""Where an attribute that is handed over got the tensor that stayed on the CPU.

An attribute is given its value in several places, by several functions: what the others do with it, or with those beside it, says
where it belongs.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Cpu, Leaf
from torchdev_lint.flow.read_alone.bindings import Statement, all_blocks, is_placed, moves
from torchdev_lint.flow.syntax.trees import dotted, walk


def put_at(frame: Frame, node: cst.Attribute, given: Leaf) -> cst.BaseExpression | None:
    """The expression that made what an attribute holds, if it is the odd one out of what attributes are given; else None."""
    root = None if given.origin is None else given.origin.root()
    if not isinstance(given, Cpu) or root is None or root.what != "factory":
        return None
    made = root.node
    if not isinstance(made, cst.Call):
        return None
    return _left_among_attributes(frame, node, made) or _put_beside(frame, node, made)


def _left_among_attributes(frame: Frame, node: cst.Attribute, made: cst.Call) -> cst.BaseExpression | None:
    """`self.t = torch.tensor(t)` where the attributes beside it are made alike and moved on the spot."""
    function = frame.function
    owner = None if function is None else function.owner
    if owner is None or not isinstance(node.value, cst.Name):
        return None
    callee = dotted(made.func)
    for block in all_blocks(owner.node.body.body):
        alike = [
            value
            for statement in block
            if (value := _value_of_attribute(statement)) is not None
            and any(isinstance(part, cst.Call) and dotted(part.func) == callee for part in walk(value))
        ]
        left = [value for value in alike if not moves(value)]
        if len(left) == 1 and len(alike) > 2 and any(part is made for part in walk(left[0])):
            return left[0]
    return None


def _put_beside(frame: Frame, node: cst.Attribute, made: cst.BaseExpression) -> cst.BaseExpression | None:
    """What a function makes and puts into an attribute that another function gives something on a device."""
    owner = None if frame.function is None else frame.function.owner
    own = set() if owner is None else {id(part) for part in walk(owner.node)}
    elsewhere = here = False
    for function in walk(frame.source.module):
        if not isinstance(function, cst.FunctionDef):
            continue
        within = any(part is made for part in walk(function))
        for part in walk(function.body):
            if not isinstance(part, cst.Assign):
                continue
            holders = {
                holder
                for one in part.targets
                for holder, name in _attributes_in(one.target)
                if name == node.attr.value
            }
            # the `self` of another class is another thing
            if holders - {"self"} or (holders and id(part) in own):
                here = here or within
                elsewhere = elsewhere or (not within and is_placed(part.value))
    return made if here and elsewhere else None


def _attributes_in(target: cst.CSTNode) -> set[tuple[str, str]]:
    match target:
        case cst.Attribute(value=holder, attr=cst.Name(value=name)):
            return {(dotted(holder) or "", name)}
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            return {pair for one in elements for pair in _attributes_in(one.value)}
        case _:
            return set()


def _value_of_attribute(statement: Statement) -> cst.BaseExpression | None:
    match statement:
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value="self")))],
                    value=value,
                )
            ]
        ):
            return value
        case _:
            return None
