"""Walking LibCST trees: only the fields that mean something, no white space, no visitors."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Set
from functools import wraps
from itertools import takewhile
from typing import Any, TypeVar

import libcst as cst

from torchdev_lint.torch_api.factories import TAKES_DEVICE

_TRIVIA = frozenset(
    (
        "lpar rpar leading_lines lines_after_decorators trailing_whitespace header footer comma semicolon dot equal operator "
        "lbracket rbracket lbrace rbrace asynchronous colon indent newline indicator relative"
    ).split()
)


SCRIPT = re.compile(r"(?m)^if\s+__name__\s*==")
"""What a file says that is run: nobody imports what it defines, but for the other files of its project."""

_TEXT = (cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.FormattedStringText)
"""Nodes whose `value` is text."""

_below: dict[type[object], tuple[str, ...] | None] = {}
"""By type: the fields of a node that hold other nodes, last first; None for what is no node. Asking `isinstance` of LibCST's
abstract classes for each would cost more than the walk."""
_listing: dict[type[object], tuple[str, ...]] = {}
"""The same for nodes that have a list of themselves and all below them (`nodes`); `_below` has None for them."""


def _fields(kind: type[object]) -> tuple[str, ...] | None:
    names: tuple[str, ...] | None = _listing.get(kind)
    if names is None and issubclass(kind, cst.CSTNode):
        names = tuple(
            field.name
            for field in reversed(dataclasses.fields(kind))
            if field.name not in _TRIVIA
            and not field.name.startswith("whitespace")
            and not (field.name == "value" and issubclass(kind, _TEXT))
        )
    _below[kind] = names
    if names is not None and hasattr(kind, "nodes"):
        _below[kind], _listing[kind] = None, names
    return names


def all_parameters(parameters: cst.Parameters) -> tuple[cst.Param, ...]:
    """The parameters that have a name of their own: all but `*args` and `**kwargs`, in the order of the text."""
    return (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)


Of = TypeVar("Of", cst.FunctionDef, cst.Module)
Found = TypeVar("Found")

_REMEMBERED = {cst.FunctionDef: 512, cst.Module: 16}
"""Of so many functions and files."""
_memories: list[dict[int, tuple[object, Any]]] = []
"""For each `remembered` function: by `id`, the node, which holds its tree, and what was found; what was asked for last stands last."""


def remembered(kind: type[Of]) -> Callable[[Callable[[Of], Found]], Callable[[Of], Found]]:
    """What is found out in the text of a function or module is remembered: files are read again for all that import them.

    Where parts of the tree may be exchanged, and want to be told who looks at them (`units`), they see to it themselves.
    """

    def decorate(find: Callable[[Of], Found]) -> Callable[[Of], Found]:
        memory: dict[int, tuple[object, Any]] = {}
        _memories.append(memory)
        most = _REMEMBERED[kind]

        @wraps(find)
        def found(node: Any) -> Found:
            stays = type(node) is cst.Module or type(node.body) is cst.IndentedBlock
            if not stays:
                part = node if isinstance(node, cst.Module) else node.body
                recall = getattr(part, "recall", None)
                again: Found = find(node) if recall is None else recall(find, node)
                return again
            key = id(node)
            known = memory.pop(key, None)
            if known is None:
                known = node, find(node)
                if len(memory) >= most:
                    del memory[next(iter(memory))]
            memory[key] = known
            answer: Found = known[1]
            return answer

        return found

    return decorate


def remembered_parts(tree: cst.Module) -> set[int]:
    """The `id`s of the nodes of a tree of which something may be remembered."""
    return {id(tree), *(id(node) for node in walk(tree) if type(node) is cst.FunctionDef)}


def forget(parts: Set[int]) -> None:
    """Remember nothing any more of nodes with these `id`s: their tree could not go."""
    for memory in _memories:
        for key in memory.keys() & parts:
            del memory[key]


def dotted(node: cst.CSTNode | None) -> str | None:
    """The text of a name or of a chain of attributes of a name; None for anything else."""
    # Asked of every call: `isinstance` and patterns go through LibCST's abstract classes, which takes several times as long.
    if type(node) is cst.Name:
        return node.value
    if type(node) is cst.Attribute:
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr.value}"
    return None


def walk(root: cst.CSTNode, *, below: tuple[type[cst.CSTNode], ...] = ()) -> Iterator[cst.CSTNode]:
    """The node and all below it, in source order; what is inside nodes of the types `below` is left out."""
    stack: list[Any] = [root]
    known = _below
    while stack:
        top = stack.pop()
        if top is None:
            continue
        kind = type(top)
        if kind is tuple or kind is list:
            stack += top[::-1]
            continue
        names = known[kind] if kind in known else _fields(kind)
        if names is None:
            names = _listing.get(kind)
            if names is None:
                continue
            if not below:
                yield from top.nodes()
                continue
        yield top
        if below and isinstance(top, below):
            continue
        for name in names:
            stack.append(getattr(top, name))


def holds(root: cst.CSTNode, node: object) -> bool:
    """Whether a node is this root, or stands somewhere in it."""
    return any(part is node for part in walk(root))


def functions_around(root: cst.CSTNode, node: object) -> Iterator[cst.FunctionDef]:
    """The functions in a tree in whose body a node stands, from the outside in."""
    return (one for one in walk(root) if isinstance(one, cst.FunctionDef) and holds(one.body, node))


def says_device(arguments: Iterable[cst.Arg]) -> bool:
    """Whether a call is told a device: `device=` is among its arguments."""
    return any(one.keyword is not None and one.keyword.value == "device" for one in arguments)


def takes_device(call: cst.Call) -> bool:
    """Whether what is called is a factory that takes `device=` behind its arguments: it has some to stand behind."""
    return bool(call.args) and last_name(call.func) in TAKES_DEVICE


def names_cpu(node: cst.BaseExpression | None) -> bool:
    """Whether a device is written out, and is the CPU: `"cpu"`, `"cpu:0"`, `torch.device("cpu")`."""
    match node:
        case cst.SimpleString():
            return node.evaluated_value in ("cpu", "cpu:0")
        case cst.Call(args=[cst.Arg(value=inner)]):
            return last_name(node.func) == "device" and names_cpu(inner)
        case _:
            return False


def part_of(node: cst.BaseExpression) -> str | None:
    """Of what something is a part, by its name: `batch` of `batch["surface"][:, :n].float()`."""
    while True:
        match node:
            case cst.Name(value=name):
                return name
            case cst.Subscript(value=inner) | cst.Attribute(value=inner):
                node = inner
            case cst.Call(func=cst.Attribute(value=inner)):
                node = inner
            case _:
                return None


def goes_to_cpu(node: cst.CSTNode) -> bool:
    """Whether a call brings what it is called on to the CPU, by name: `x.cpu()`, `x.to("cpu")`, `x.to(device="cpu")`."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="cpu"))):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to"))):
            return any(names_cpu(one.value) for one in node.args)
        case _:
            return False


def transfers(root: cst.CSTNode) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """The calls that move something, `x.to(...)` and `x.cuda()`, each with what it moves, `x`."""
    for node in walk(root):
        if (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value in ("to", "cuda")
        ):
            yield node, node.func.value


def last_name(node: cst.CSTNode) -> str:
    """The last part of the name of what is called; empty where it has none."""
    return node.attr.value if isinstance(node, cst.Attribute) else (dotted(node) or "")


def receiver_name(node: cst.BaseExpression) -> str:
    """The name of what a chain of methods is called on: `x` in `x[0].transpose(1, 0).copy()`."""
    current = node
    while isinstance(current, (cst.Call, cst.Attribute, cst.Subscript)):
        current = current.func if isinstance(current, cst.Call) else current.value
    return current.value if isinstance(current, cst.Name) else ""


def names_bound(target: cst.CSTNode) -> Iterator[str]:
    """The names that an assignment to a target, or a loop over it, binds."""
    match target:
        case cst.Name(value=name):
            yield name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from names_bound(element.value)
        case _:
            pass


def parents(root: cst.CSTNode) -> dict[int, int]:
    """For each node below the root: the node that it is a part of; both by `id`, which holds as long as the tree does."""
    found: dict[int, int] = {}
    stack: list[cst.CSTNode] = [root]
    known = _below
    while stack:
        node = stack.pop()
        for name in known.get(type(node)) or _fields(type(node)) or ():
            parts = getattr(node, name)
            for part in parts if isinstance(parts, (list, tuple)) else (parts,):
                if isinstance(part, cst.CSTNode):
                    found[id(part)] = id(node)
                    stack.append(part)
    return found


_AROUND = frozenset(
    (
        cst.Arg,
        cst.Assign,
        cst.AnnAssign,
        cst.Element,
        cst.DictElement,
        cst.Return,
        cst.Index,
        cst.Param,
    )
)


def standing_alone(root: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions in whose place a conditional expression needs no parentheses."""
    for node in walk(root):
        if type(node) not in _AROUND:  # asking LibCST's abstract classes takes several times as long
            continue
        match node:
            case (
                cst.Arg()
                | cst.Assign()
                | cst.AnnAssign()
                | cst.Element()
                | cst.DictElement()
                | cst.Return()
                | cst.Index()
            ) if node.value is not None:
                yield node.value
            case cst.Param() if node.default is not None:
                yield node.default
            case _:
                pass


def is_main_guard(test: cst.BaseExpression) -> bool:
    """Whether a test asks if the file is the script that was started: `__name__ == "__main__"`."""
    return type(test) is cst.Comparison and type(test.left) is cst.Name and test.left.value == "__name__"


def names_of_script(module: cst.Module) -> frozenset[str]:
    """The names that a file binds where it is the script: `if __name__ == "__main__":`. When functions run, they may not be bound yet."""
    guarded = (line.body for line in module.body if isinstance(line, cst.If) and is_main_guard(line.test))
    return frozenset(_assigned_in(guarded))


def names_bound_last(module: cst.Module) -> frozenset[str]:
    """The names that a file binds below all of its functions and classes."""
    below = takewhile(
        lambda line: not isinstance(line, (cst.FunctionDef, cst.ClassDef)), reversed(module.body)
    )
    return frozenset(_assigned_in(below))


def _assigned_in(parts: Iterable[cst.CSTNode]) -> Iterator[str]:
    """The names that assignments somewhere in these parts of a tree bind."""
    for part in parts:
        for node in walk(part):
            if isinstance(node, cst.AssignTarget):
                yield from names_bound(node.target)


def changed_in_place(node: cst.CSTNode) -> cst.CSTNode:
    """What a chain of methods gives that change it in place: `label` of `label.fill_(0)`, `mean` of `mean.mul_(d).add_(x)`."""
    while (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value.endswith("_")
        and not node.func.attr.value.endswith("__")
    ):
        node = node.func.value
    return node


SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda)
"""What has names of its own."""


def bound_to(scope: cst.CSTNode, name: str) -> Iterator[cst.BaseExpression]:
    """The expressions that a name is assigned in a scope, also one of several: `decay, rest = [], []`. Not in the scopes within."""
    for node in walk(scope, below=SCOPES):
        if isinstance(node, cst.Assign):
            for target in node.targets:
                match target.target, node.value:
                    case cst.Name(value=bound), value if bound == name:
                        yield value
                    case cst.Tuple(elements=targets), cst.Tuple(elements=values) if len(targets) == len(
                        values
                    ):
                        for one, given in zip(targets, values, strict=True):
                            if isinstance(one.value, cst.Name) and one.value.value == name:
                                yield given.value
                    case _:
                        pass


def binds(line: cst.CSTNode, part: cst.CSTNode) -> bool:
    """Whether a statement gives a value to a name in something."""
    names = {node.value for node in walk(part) if isinstance(node, cst.Name)}
    return any(
        isinstance(node, cst.AssignTarget)
        and isinstance(node.target, cst.Name)
        and node.target.value in names
        for node in walk(line)
    )


def blocks(scope: cst.CSTNode, indent: str, outer: str = "") -> Iterator[tuple[list[cst.CSTNode], str]]:
    """The blocks of statements in a scope, each with its indentation."""
    if isinstance(scope, cst.Module):
        yield [*scope.body], ""
        for statement in scope.body:
            yield from blocks(statement, indent, "")
        return
    for child in scope.children:
        if isinstance(child, cst.IndentedBlock):
            inner = outer + (child.indent or indent)
            yield [*child.body], inner
            for line in child.body:
                yield from blocks(line, indent, inner)
        elif isinstance(child, (cst.Else, cst.If, cst.ExceptHandler, cst.Finally)):
            yield from blocks(child, indent, outer)


def only_indexes(root: cst.CSTNode, name: str, besides: cst.CSTNode) -> bool:
    """Whether code uses what a name holds as an index and nothing else, besides in one place; an index may be on the CPU."""
    apart = {id(node) for node in walk(besides)}
    indexed = False
    for node in walk(root):
        match node:
            case cst.AssignTarget(target=target):
                apart.add(id(target))
            case cst.Index(value=value) if dotted(value) == name:
                apart.add(id(value))
                indexed = True
            case _ if id(node) not in apart and isinstance(node, (cst.Name, cst.Attribute)):
                if dotted(node) == name:
                    return False
            case _:
                pass
    return indexed
