"""`optimizer.param_groups`: the parameters of the modules that an optimizer of PyTorch's was given, wherever these are now.

The groups hold the very parameters, which move with their module (torch/optim/optimizer.py, `add_param_group`): so copies of them that a
wrapper makes (`slow = [p.detach().clone() for p in group["params"]]`) stay behind where the parameters were then.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.values import Entries, Many, Object, Tensor, Value, join_all
from torchdev_lint.flow.syntax.trees import SCOPES, bound_to, dotted, walk
from torchdev_lint.torch_api.optimizers import OPTIMIZERS

_OF = "an optimizer of all parameters of"
_HANDS_ON = frozenset({"list", "tuple", "filter", "chain"})
"""Functions that give some of what they are given, or all of it."""


def note(frame: Frame, path: str, site: CallSite) -> None:
    """An optimizer is made: of which modules, if it is of nothing else."""
    given = site.get(0, "params")
    if path not in OPTIMIZERS or given is None or site.has_star():
        return
    found = list(owners(frame, given.node.value))
    modules = [None if one is None else frame.evaluate(one) for one in found]
    if modules and all(isinstance(one, Object) for one in modules):
        frame.analysis.notes[_OF, frame.result_key(site.node)] = tuple(modules)


def forget(frame: Frame, thing: Object) -> None:
    """The optimizer is given more parameters: `optimizer.add_param_group(...)`."""
    if (_OF, thing.key) in frame.analysis.notes:
        frame.analysis.notes[_OF, thing.key] = ()


def read(frame: Frame, thing: Value) -> Value | None:
    """`optimizer.param_groups`; None where it is not known whose parameters they are."""
    modules = frame.analysis.notes.get((_OF, thing.key)) if isinstance(thing, Object) else None
    if not modules:
        return None
    each: Value = join_all([Tensor(frame.state(one).device, parameter=True) for one in modules])
    return Many(Entries((("params", Many(each)),), open=True))


def owners(frame: Frame, node: cst.BaseExpression, depth: int = 3) -> Iterator[cst.BaseExpression | None]:
    """The modules whose `parameters()` an expression puts together; None for anything else in it."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="parameters"))) if (
            dotted(owner) is not None
        ):
            yield owner
        case cst.Call(func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)), args=args) if (
            name in _HANDS_ON
        ):
            for arg in args[1:] if name == "filter" else args:
                yield from owners(frame, arg.value, depth)
        case (
            cst.ListComp(elt=cst.Name(value=one), for_in=clause)
            | cst.GeneratorExp(elt=cst.Name(value=one), for_in=clause)
        ) if clause.inner_for_in is None:
            yield from _of_loop(frame, clause, one, depth)
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            yield from owners(frame, left, depth)
            yield from owners(frame, right, depth)
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            for element in elements:
                yield from _of_element(frame, element, depth)
        case cst.Name(value=name) if depth:
            yield from _of_name(frame, name, depth - 1)
        case _:
            yield None


def _of_element(frame: Frame, element: cst.BaseElement, depth: int) -> Iterator[cst.BaseExpression | None]:
    """`*net.parameters()`, or `{"params": net.parameters(), "lr": 0.1}`."""
    match element:
        case cst.StarredElement(value=value):
            yield from owners(frame, value, depth)
        case cst.Element(value=cst.Dict(elements=pairs)):
            for pair in pairs:
                match pair:
                    case cst.DictElement(key=cst.SimpleString(raw_value="params"), value=value):
                        yield from owners(frame, value, depth)
                    case cst.DictElement(key=cst.SimpleString()):
                        pass
                    case _:
                        yield None
        case _:
            yield None


def _of_loop(
    frame: Frame, loop: cst.CompFor | cst.For, one: str, depth: int
) -> Iterator[cst.BaseExpression | None]:
    """What a loop goes through, if `one` is the parameter: `for p in net.parameters()`, `for name, p in net.named_parameters()`."""
    match loop.target, loop.iter:
        case cst.Name(value=name), through if name == one:
            yield from owners(frame, through, depth)
        case (
            cst.Tuple(elements=[_, cst.Element(value=cst.Name(value=name))]),
            cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="named_parameters"))),
        ) if name == one and dotted(owner) is not None:
            yield owner
        case _:
            yield None


def _of_name(frame: Frame, name: str, depth: int) -> Iterator[cst.BaseExpression | None]:
    """What a list holds that is bound once where it is used, or begins empty and is filled in loops."""
    scope = frame.source.module if frame.function is None else frame.function.node.body
    bound = list(bound_to(scope, name))
    if len(bound) != 1:
        yield None
    elif not (isinstance(bound[0], cst.List) and not bound[0].elements):
        yield from owners(frame, bound[0], depth)
    else:
        yield from _filled(frame, scope, name, depth)


def _filled(frame: Frame, scope: cst.CSTNode, name: str, depth: int) -> Iterator[cst.BaseExpression | None]:
    """What is appended to a list in loops over parameters; None for anything else that is."""
    within = {
        id(part): loop
        for loop in walk(scope, below=SCOPES)
        if isinstance(loop, cst.For)
        for part in walk(loop.body, below=SCOPES)
    }
    for node in walk(scope, below=SCOPES):
        match node:
            case cst.Call(
                func=cst.Attribute(value=cst.Name(value=filled), attr=cst.Name(value="append")),
                args=[cst.Arg(value=cst.Name(value=one))],
            ) if filled == name and id(node) in within:
                yield from _of_loop(frame, within[id(node)], one, depth)
            case cst.Call(func=cst.Attribute(value=cst.Name(value=filled), attr=cst.Name(value=method))) if (
                filled == name and method in ("append", "extend", "insert")
            ):
                yield None
            case _:
                pass
