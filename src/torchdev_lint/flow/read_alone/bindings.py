"""Where a name that is handed over got its value.

A tensor that fails further down, in a function or module that it is given to, is put right where it got its name
(`noise = torch.randn(4, 8)`), and that is where its reader looks for it: the call says less than PyTorch's traceback does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Cpu, Leaf
from torchdev_lint.flow.syntax.trees import SCOPES, dotted, holds, names_bound, transfers, walk

Statement = cst.BaseStatement | cst.BaseSmallStatement


def bound_at(frame: Frame, node: cst.CSTNode, given: Leaf) -> cst.BaseExpression | None:
    """The expression that gave what is handed over as `node` the tensor that stayed on the CPU, or that moves what came together with it.

    None where that is not one statement, or where the tensor may be wanted on the CPU as well: it has other uses, or is given
    together with what is moved in that very call.
    """
    root = None if given.origin is None else given.origin.root()
    made = None if root is None or root.what != "factory" else root.node
    if not isinstance(given, Cpu):
        return None
    node = _whole(node)
    if not isinstance(node, cst.Name):
        return None
    body = frame.source.module.body if frame.function is None else _body_of(frame.function.node)
    path = _blocks_to(body, node)
    if path is None or moves(path[-1][0][path[-1][1]]):
        return None
    binding = _binding(path, node.value)
    if binding is None:
        return None
    statement, depth, between = binding
    together = _names_together(statement, node.value)
    if together:
        return _moved_of(between, together) or _call_that_made(frame, statement, made)
    found = _value_for(statement, node.value)
    if found is None or isinstance(found, cst.Name):
        # `a, b = a.to(device), b`: one of them was forgotten
        return found if isinstance(statement, cst.SimpleStatementLine) and moves(statement) else None
    made_here = made is not None and any(part is made for part in walk(found))
    again = any(
        node.value in _names_bound(later) for block, index in path[depth + 1 :] for later in block[index:]
    )
    own = None if frame.function is None else frame.function.owner
    of_module = own if own is not None and own.is_module and isinstance(found, cst.Call) else None
    in_class = None if of_module is None else made_in_class(of_module.node, given)
    if again and not made_here and in_class is None:
        return None
    alike = _is_used_alike(body, statement, node)
    if alike:
        found = in_class or found
    return found if alike or (made_here and _is_bound_moved(body, node.value)) else None


def is_placed(node: cst.CSTNode) -> bool:
    """Whether something is moved there, or made on a device that is said."""
    return moves(node) or any(
        isinstance(part, cst.Arg) and part.keyword is not None and part.keyword.value == "device"
        for part in walk(node)
    )


def _call_that_made(
    frame: Frame, statement: Statement, made: cst.CSTNode | None
) -> cst.BaseExpression | None:
    """`x, y = sample(10)`: the call, if the function that it calls made the tensor."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Assign(value=cst.Call(func=callee) as value)]) if (
            made is not None
        ):
            name = (dotted(callee) or "").rpartition(".")[2]
            for part in walk(frame.source.module):
                if (
                    isinstance(part, cst.FunctionDef)
                    and part.name.value == name
                    and any(inner is made for inner in walk(part))
                ):
                    return made if _is_left_in(part, made) and isinstance(made, cst.Call) else value
            return None
        case _:
            return None


def _is_left_in(function: cst.FunctionDef, made: cst.CSTNode) -> bool:
    """Whether a function moves other tensors that it returns, and not this one."""
    own: set[str] = set()
    into: set[str] = set()
    moved: set[str] = set()
    returned: set[str] = set()
    for part in walk(function.body):
        match part:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                if any(inner is made for inner in walk(value)):
                    own |= _names_in(target)
                    into |= _names_in(target.value) if isinstance(target, cst.Subscript) else set()
                if is_placed(value):
                    moved |= _names_in(target)
            case cst.Return(value=cst.Tuple() | cst.Name() as value):
                returned |= _names_in(value)
            case _:
                pass
    if into & moved & returned:
        return True  # `batch["weight"] = ...` beside what was put into it on a device
    return bool(own & returned) and not own & moved and bool(moved & returned)


def _whole(node: cst.CSTNode) -> cst.CSTNode:
    """What `x[i]` is a part of; what stands under a key of a dict is a thing of its own."""
    match node:
        case cst.Subscript(
            value=cst.Name() as whole,
            slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name() | cst.Integer())), *_],
        ):
            return whole
        case _:
            return node


def made_in_class(model: cst.CSTNode, given: Leaf) -> cst.BaseExpression | None:
    """The factory that made a tensor in a method of the module's own class: `init_hidden` knows where the module is."""
    root = None if given.origin is None else given.origin.root()
    if not isinstance(given, Cpu) or root is None or root.what != "factory":
        return None
    inside = holds(model, root.node)
    return root.node if inside and isinstance(root.node, cst.BaseExpression) else None


def _binding(
    path: list[tuple[Sequence[Statement], int]], name: str
) -> tuple[Statement, int, list[Statement]] | None:
    """The last statement that bound a name, the depth of its block, and what stands between it and the end of the path."""
    between: list[Statement] = []
    for depth in range(len(path) - 1, -1, -1):
        block, index = path[depth]
        for statement in reversed(block[:index]):
            if name in _names_bound(statement):
                return statement, depth, between
            between.append(statement)
        if depth:
            above, at = path[depth - 1]
            if name in _names_of_header(above[at]):
                return above[at], depth - 1, between
    return None


def _names_together(statement: Statement, name: str) -> set[str]:
    """The other names that are bound with this one to the parts of one thing: `for x, y in loader`, `x, y = batch`."""
    match statement:
        case cst.For(target=target):
            return _names_in(target) - {name}
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as target)], value=value)]
        ) if not isinstance(value, cst.Tuple):
            return _names_in(target) - {name}
        case _:
            return set()


def _moved_of(between: Sequence[Statement], names: set[str]) -> cst.BaseExpression | None:
    """The last statement that binds one of these names to itself, moved."""
    for statement in between:
        match statement:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]
            ) if names & _names_in(target) and moves(value):
                if any(isinstance(part, cst.Name) and part.value in names for part in walk(value)):
                    return value
            case _:
                pass
    return None


def _body_of(function: cst.CSTNode) -> Sequence[Statement]:
    return function.body.body if isinstance(function, cst.FunctionDef) else ()


def _blocks_to(block: Sequence[Statement], node: cst.CSTNode) -> list[tuple[Sequence[Statement], int]] | None:
    """The blocks that the node stands in, from the outside in, each with the index of the statement that holds it."""
    for index, statement in enumerate(block):
        if not any(part is node for part in walk(statement)):
            continue
        for inner in _blocks_of(statement):
            below = _blocks_to(inner, node)
            if below is not None:
                return [(block, index), *below]
        return [(block, index)]
    return None


def _blocks_of(statement: cst.CSTNode) -> Iterator[Sequence[Statement]]:
    match statement:
        case cst.If(body=body, orelse=other):
            yield body.body
            if other is not None:
                yield from _blocks_of(other)
        case cst.For(body=body, orelse=other) | cst.While(body=body, orelse=other):
            yield body.body
            if other is not None:
                yield other.body.body
        case cst.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
            yield body.body
            for part in (*handlers, other, last):
                if part is not None:
                    yield part.body.body
        case cst.With(body=body) | cst.Else(body=body):
            yield body.body
        case _:
            pass


def _names_bound(statement: cst.CSTNode) -> set[str]:
    """The names that a statement, or one inside of it, binds."""
    found: set[str] = set()
    for part in walk(statement, below=SCOPES):
        match part:
            case cst.Assign(targets=targets):
                for one in targets:
                    found |= _names_in(one.target)
            case (
                cst.AnnAssign(target=target)
                | cst.AugAssign(target=target)
                | cst.NamedExpr(target=target)
                | cst.For(target=target)
                | cst.AsName(name=target)
            ):
                found |= _names_in(target)
            case _:
                pass
    return found


def _names_of_header(statement: Statement) -> set[str]:
    """The names that a statement binds for its block: a loop's variable, what a context is called."""
    match statement:
        case cst.For(target=target):
            return _names_in(target)
        case cst.With(items=items):
            return {name for item in items if item.asname is not None for name in _names_in(item.asname.name)}
        case _:
            return set()


def _names_in(target: cst.CSTNode) -> set[str]:
    return set(names_bound(target))


def _value_for(statement: Statement, name: str) -> cst.BaseExpression | None:
    """What a simple statement binds the name to, if that says something of its own."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    found: cst.BaseExpression | None = None
    for small in statement.body:
        match small:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                if name in _names_in(target):
                    found = _part_for(target, value, name)
            case cst.AnnAssign(target=cst.Name(value=target), value=value) if target == name:
                found = value
            case cst.AugAssign(target=target) if name in _names_in(target):
                return None
            case _:
                pass
    return found


def _part_for(target: cst.CSTNode, value: cst.BaseExpression, name: str) -> cst.BaseExpression:
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
        for one, other in zip(target.elements, value.elements, strict=False):
            if name in _names_in(one.value):
                return other.value
    return value


def moves(node: cst.CSTNode) -> bool:
    """Whether something is moved there."""
    return any(True for _ in transfers(node))


_MEASURES = frozenset({"size", "shape", "dim", "ndim", "numel", "dtype"})


def _is_used_alike(body: Sequence[Statement], binding: Statement, node: cst.Name) -> bool:
    """Whether a name is only read where it is given to one function, in one place or in several, until it is bound again."""
    callees: set[str] = set()
    read = given = 0
    lines = list(_in_order(body))
    start = next((index for index, line in enumerate(lines) if line is binding), None)
    for line in [] if start is None else lines[start + 1 :]:
        if _is_lengthened(line, node.value):
            break  # what is added to it has to be where it is
        for part in walk(line, below=(cst.FunctionDef, cst.ClassDef)):
            match part:
                case cst.Name(value=name) if name == node.value:
                    read += 1
                case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=word)) if (
                    name == node.value and word in _MEASURES
                ):
                    read -= 1
                case cst.Call(func=function, args=arguments):
                    for argument in arguments:
                        if argument.keyword is not None and argument.keyword.value == node.value:
                            read -= 1
                        value = _whole(argument.value)
                        if isinstance(value, cst.Name) and value.value == node.value:
                            given += 1
                            callees.add(dotted(function) or "")
                case _:
                    pass
        if node.value in _names_bound(line):
            read -= 1
            break
    return read <= max(1, given) and len(callees) <= 1


_JOIN = frozenset(f"torch.{name}" for name in ("cat", "concat", "concatenate", "hstack", "vstack"))


def _is_lengthened(line: cst.CSTNode, name: str) -> bool:
    """Whether a name is bound to what it held with more behind it: `ids = torch.cat([ids, token], dim=1)`."""
    match line:
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=target))],
                    value=cst.Call(
                        func=function,
                        args=[cst.Arg(value=cst.List(elements=parts) | cst.Tuple(elements=parts)), *_],
                    ),
                )
            ]
        ) if target == name and dotted(function) in _JOIN:
            return any(isinstance(part.value, cst.Name) and part.value.value == name for part in parts)
        case _:
            return False


def _in_order(body: Sequence[Statement]) -> Iterator[cst.CSTNode]:
    """The simple statements and the headers of the others, in the order of the text."""
    for statement in body:
        match statement:
            case cst.If(test=header) | cst.While(test=header) | cst.For(iter=header):
                yield header
            case cst.With(items=items):
                yield from items
            case cst.SimpleStatementLine():
                yield statement
            case _:
                pass
        for inner in _blocks_of(statement):
            yield from _in_order(inner)


def all_blocks(body: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    """A block, and those inside of it and of the functions that it defines."""
    yield body
    for statement in body:
        inner = [statement.body.body] if isinstance(statement, cst.FunctionDef) else _blocks_of(statement)
        for block in inner:
            yield from all_blocks(block)


def _is_bound_moved(body: Sequence[Statement], name: str) -> bool:
    """Whether the name is bound elsewhere to what is moved on the spot: `state = torch.tensor(state).to(device)`."""
    for statement in _simple(body):
        value = _value_for(statement, name)
        if value is not None and moves(value):
            return True
    return False


def _simple(body: Sequence[Statement]) -> Iterator[Statement]:
    """The simple statements of a block and of those inside of it."""
    for statement in body:
        for inner in _blocks_of(statement):
            yield from _simple(inner)
        if isinstance(statement, cst.SimpleStatementLine):
            yield statement
