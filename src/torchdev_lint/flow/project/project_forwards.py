"""What the project's own models do with an argument: whether whoever takes `J_regressor=` moves it itself, or never reads it.

A model of which nothing is known, as one that a constructor was given or a registry knows, is most likely one of those. A `forward` is
asked by the names of what it takes, any other method, of which there are few, by its own name: `model.generate(images)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.instances.confinement import brings
from torchdev_lint.flow.project.project_calls import position_of
from torchdev_lint.flow.syntax.trees import all_parameters, remembered, walk
from torchdev_lint.flow.telling.cures import Callee
from torchdev_lint.torch_api.modules import MODEL_METHODS


def bring(frame: Frame, site: CallSite, argument: Argument, callee: Callee) -> bool:
    """Whether every `forward` in sight that can be called like this brings the argument, or hands it to nothing but one that does.

    Of other methods one in sight is enough.
    """
    thing = callee.thing
    if argument.star or thing is None:
        return False
    state = frame.state(thing)
    if state.model is not None or state.api.startswith("torch.nn."):
        return False
    match site.node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=method))) if (
            method in MODEL_METHODS and method != "forward" and not state.api
        ):
            position = site.positional().index(argument) if argument.keyword is None else -1
            return frame.analysis.learn(_some_bring, frame, method, position, argument.keyword or "")
        case _:
            pass
    if argument.keyword is None:
        position = site.positional().index(argument)
        name = argument.node.value.value if isinstance(argument.node.value, cst.Name) else ""
        return not state.api and frame.analysis.learn(
            _one_brings, frame, position, len(site.arguments), name or "to"
        )
    names = frozenset(one.keyword for one in site.arguments if one.keyword is not None)
    return frame.analysis.learn(_all_bring, frame, argument.keyword, names)


def _all_bring(frame: Frame, name: str, names: Set[str]) -> bool:
    found = list(_forwards_with(frame, name))
    called = [node for node in found if names <= {one.name.value for one in all_parameters(node.params)}]
    told = [list(uses(node.body, name)) for node in found]
    return (
        bool(called)
        and all(_first_but_handed(uses) != "read" for uses in told)
        and any("handed" not in uses for uses in told)
    )


def _one_brings(frame: Frame, position: int, given: int, name: str) -> bool:
    """Whether a `forward` in sight that takes so many arguments brings what it is given there.

    `name`: what the argument is called where it is given, which `forward` may call it, too.
    """
    modules = [
        frame.analysis.module,
        *(
            module
            for word in dict.fromkeys(("to", name))
            for _, module in frame.analysis.imports.callers("def forward", word)
        ),
    ]
    return any(
        len(node.params.params) > given and brings(node, {node.params.params[position + 1].name.value})
        for module in modules
        for node in _forwards(module)
    )


def _some_bring(frame: Frame, method: str, position: int, keyword: str) -> bool:
    """Whether a method of this name in the project brings what it takes there."""
    modules = [
        frame.analysis.module,
        *(module for _, module in frame.analysis.imports.callers(f"def {method}", method)),
    ]
    for node in (node for module in modules for node in _methods(module).get(method, ())):
        for name in (one.name.value for one in all_parameters(node.params)):
            taken = name == keyword if keyword else position_of(node, name) == position
            if taken and _first_but_handed(uses(node.body, name)) != "read":
                return True
    return False


def ignore_device(frame: Frame, method: str) -> bool:
    """Whether the project has methods of this name that take a device, and none of them reads it."""
    modules = [
        frame.analysis.module,
        *(module for _, module in frame.analysis.imports.callers(f"def {method}", "device")),
    ]
    taking = [
        node
        for module in modules
        for node in _methods(module).get(method, ())
        if any(one.name.value == "device" for one in all_parameters(node.params))
    ]
    return bool(taking) and not any(_mentions(node.body, "device") for node in taking)


def _mentions(root: cst.CSTNode, name: str) -> bool:
    return any(isinstance(part, cst.Name) and part.value == name for part in walk(root))


def _first_but_handed(uses: Iterable[str]) -> str:
    return next((use for use in uses if use != "handed"), "")


def _forwards_with(frame: Frame, name: str) -> Iterator[cst.FunctionDef]:
    """The `forward` methods of the project that have a parameter of this name."""
    modules = [
        frame.analysis.module,
        *(module for _, module in frame.analysis.imports.callers("forward", name)),
    ]
    for module in modules:
        for node in _forwards(module):
            if any(one.name.value == name for one in all_parameters(node.params)):
                yield node


def _forwards(module: cst.Module) -> list[cst.FunctionDef]:
    return _methods(module).get("forward", [])


@remembered(cst.Module)
def _methods(module: cst.Module) -> dict[str, list[cst.FunctionDef]]:
    """What models are called by, of all the classes in a file."""
    found: dict[str, list[cst.FunctionDef]] = {}
    for node in walk(module):
        if isinstance(node, cst.FunctionDef) and node.name.value in MODEL_METHODS:
            found.setdefault(node.name.value, []).append(node)
    return found


_MOVES = frozenset({"to", "cuda", "type_as"})


def uses(root: cst.CSTNode, name: str) -> Iterator[str]:
    """What is done with a name, in order: it is `read`, `handed` on under the same name, or `moved` for good."""
    for node in walk(root, below=(cst.Call, cst.Assign, cst.Comparison, cst.Attribute)):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=target))], value=value) if (
                target == name
            ):
                yield from uses(value, name)
                yield "moved"
            case cst.Assign(targets=targets, value=value):
                yield from uses(value, name)
                for one in targets:
                    yield from uses(one.target, name)
            case cst.Comparison(
                left=cst.Name(value=value),
                comparisons=[cst.ComparisonTarget(comparator=cst.Name(value="None"))],
            ) if value == name:
                pass
            case cst.Comparison(left=left, comparisons=comparisons):
                yield from uses(left, name)
                for other in comparisons:
                    yield from uses(other.comparator, name)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method)), args=arguments):
                if not (method in _MOVES and _is_part_of(receiver, name)):
                    yield from uses(receiver, name)
                yield from _given(arguments, name)
            case cst.Call(func=function, args=arguments):
                yield from uses(function, name)
                yield from _given(arguments, name)
            case cst.Attribute(
                value=cst.Name(value=value), attr=cst.Name(value="shape" | "dtype" | "device")
            ) if value == name:
                pass
            case cst.Attribute(value=value):
                yield from uses(value, name)
            case cst.Name(value=value) if value == name:
                yield "read"
            case _:
                pass


def _given(arguments: Iterable[cst.Arg], name: str) -> Iterator[str]:
    for one in arguments:
        match one:
            case cst.Arg(keyword=cst.Name(value=keyword), value=cst.Name(value=value)) if (
                keyword == value == name
            ):
                yield "handed"
            case _:
                yield from uses(one.value, name)


def _is_part_of(node: cst.BaseExpression, name: str) -> bool:
    """Whether an expression gives a part of what has the name, or another shape of it: `x[None].expand(3, -1)`."""
    while True:
        match node:
            case cst.Name(value=value):
                return value == name
            case cst.Subscript(value=inner) | cst.Attribute(value=inner) | cst.Call(func=inner):
                node = inner
            case _:
                return False
