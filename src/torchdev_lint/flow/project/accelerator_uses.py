"""Places in the text of a function that use an accelerator, on the face of it whatever the machine: `x.cuda()`, `torch.cuda.synchronize()`.

Nothing is executed. What stands under a condition counts for nobody but what stands there as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.project.settled_flags import is_among
from torchdev_lint.flow.syntax.trees import dotted, parents, walk

_NEEDS_ONE = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "current_device",
        "current_stream",
        "get_device_capability",
        "get_device_name",
        "get_device_properties",
        "init",
        "mem_get_info",
        "nvtx.range_push",
        "set_device",
        "synchronize",
    )
) | {"torch.autograd.profiler.emit_nvtx"}
"""What raises where there is no GPU (torch/cuda/__init__.py, `_lazy_init`; torch/autograd/profiler.py, `emit_nvtx`)."""

_TYPE = re.compile(r"torch\.cuda\.\w*Tensor")


def uses_before(scope: cst.CSTNode, place: cst.CSTNode | None, *, along: bool = False) -> bool:
    """Whether a scope uses the first accelerator before it gets to a place in it (None: to its end), whatever holds; `along`: or after."""
    named: set[str] = set()
    for node in running_with(scope, place, certain=True):
        if node is place and not along:
            # what a call is given is there before it is made
            return any(
                isinstance(part, cst.Call) and _uses_one(part, named, numbered=False)
                for part in list(walk(node))[1:]
            )
        if is_use(node, named, numbered=False):
            return True
    return False


def uses_any(scope: cst.CSTNode, place: cst.CSTNode | None, *, settled: frozenset[str] = frozenset()) -> bool:
    """Whether a scope uses an accelerator, also one that it numbers, along with a place in it (None: whatever holds), be it in a `try`."""
    named: set[str] = set()
    return any(
        is_use(node, named, numbered=True)
        for node in running_with(scope, place, certain=False, settled=settled)
    )


def is_use(node: cst.CSTNode, named: set[str], *, numbered: bool) -> bool:
    """Whether a node uses an accelerator; what it binds to one is among the names from then on. `numbered`: be it `"cuda:1"`."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
            named.discard(name)
            if names_accelerator(value, frozenset(), numbered=numbered):
                named.add(name)
            return False
        case cst.Call():
            return _uses_one(node, named, numbered=numbered)
        case _:
            return False


def _uses_one(call: cst.Call, named: set[str], *, numbered: bool) -> bool:
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="cuda")), args=arguments):
            return numbered or not arguments or arguments[0].keyword is not None
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to")), args=[cst.Arg(value=where), *_]) if (
            names_accelerator(where, named, numbered=numbered)
        ):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="type")), args=[cst.Arg(value=given)]) if (
            _TYPE.fullmatch(dotted(given) or "")
        ):
            return True
        case _:
            pass
    path = dotted(call.func) or ""
    return (
        path in _NEEDS_ONE
        or _TYPE.fullmatch(path) is not None
        or any(_is_given_one(one, named, numbered=numbered) for one in call.args)
    )


def _is_given_one(argument: cst.Arg, named: set[str], *, numbered: bool) -> bool:
    match argument:
        case cst.Arg(keyword=cst.Name(value="device"), value=where):
            return names_accelerator(where, named, numbered=numbered)
        case cst.Arg(keyword=cst.Name(value="accelerator"), value=cst.SimpleString() as kind):
            # lightning raises where there is none (lightning/pytorch/trainer/connectors/accelerator_connector.py)
            return kind.raw_value in ("gpu", "cuda")
        case _:
            return False


def names_accelerator(node: cst.BaseExpression, named: frozenset[str] | set[str], *, numbered: bool) -> bool:
    """Whether an expression is a GPU: `"cuda"`, a `torch.device` of it, one of the names; `numbered`: or `"cuda:1"`."""
    match node:
        case cst.SimpleString():
            given = str(node.raw_value)
            return given.partition(":")[0] == "cuda" if numbered else given == "cuda"
        case cst.Name(value=name):
            return name in named
        case cst.Call(func=function, args=[cst.Arg(value=given)]):
            return dotted(function) == "torch.device" and names_accelerator(given, named, numbered=numbered)
        case _:
            return False


def running_with(
    scope: cst.CSTNode, place: cst.CSTNode | None, *, certain: bool, settled: frozenset[str] = frozenset()
) -> Iterator[cst.CSTNode]:
    """The nodes of a scope, in order, that run whenever a place in it does (None: whatever holds); not what its functions do.

    `certain`: neither what is only attempted counts, nor the second part of an `and` or an `or`. `settled`: flags that are set.
    """
    above = parents(scope)
    around = {id(place)}
    current = above.get(id(place))
    while current is not None:
        around.add(current)
        current = above.get(current)
    apart: set[int] = set()
    for node in walk(scope):
        if id(node) in apart:
            apart |= set(map(id, node.children))
            continue
        match node:
            case cst.If(test=test, body=body, orelse=orelse) | cst.IfExp(test=test, body=body, orelse=orelse):
                if settled and is_among(dotted(test) or "", settled):
                    around.add(id(body))
                apart |= {id(part) for part in (body, orelse) if part is not None and id(part) not in around}
            case cst.Try(body=body, handlers=[_, *_]) if certain and id(body) not in around:
                apart.add(id(body))
            case cst.BooleanOperation(right=right) if certain and id(right) not in around:
                apart.add(id(right))
            case cst.ExceptHandler() | cst.FunctionDef() | cst.ClassDef() | cst.Lambda():
                if id(node) not in around and node is not scope:
                    apart |= set(map(id, node.children))
                    continue
            case _:
                pass
        yield node
