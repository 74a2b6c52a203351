"""What has run before a test: `setUpModule`, `setUpClass`, `setUp`, marks and fixtures that skip, decorators that choose a device."""

from __future__ import annotations

import re
from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.calling.functions import call
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import Class, Function
from torchdev_lint.flow.syntax.trees import dotted, names_cpu, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME

MODULE_SETUP = ("setUpModule", "setup_module")
CLASS_SETUP = ("setUpClass", "setup_class", "asyncSetUp", "setUp", "setup_method", "setup")
_GUARD = re.compile(r"(?i)skip_?(?:if|unless).*(?:cuda|gpu|accelerator)|mark\.(?:\w*gpu|\w*cuda)")


def run_before(frame: Frame, function: Function) -> None:
    """Run what runs before a test that is read on its own: where it leaves (by skipping), the test is not reached."""
    if not (function.name.startswith("test") or function.name in CLASS_SETUP):
        return
    module = frame.module_frame
    for name in MODULE_SETUP:
        found = module.env.names.get(name)
        if isinstance(found, Function):
            _run(frame, found)
    if function.owner is not None:
        for name in CLASS_SETUP:
            method = function.owner.find(name)
            if method is not None and method is not function.node:
                receiver = (
                    function.receiver if name not in ("setUpClass", "setup_class") else Class(function.owner)
                )
                _run(frame, replace(function.owner.function(method, name, receiver), receiver=receiver))
    for parameter in function.node.params.params:
        fixture = module.env.names.get(parameter.name.value)
        if isinstance(fixture, Function) and "fixture" in fixture.decorators:
            _run(frame, replace(fixture, decorators=()))


def _run(frame: Frame, function: Function) -> None:
    plain = replace(function, decorators=tuple(name for name in function.decorators if name != "fixture"))
    call(frame, plain, CallSite(cst.Name(function.name)))
    frame.alive = True


def is_marked(module: cst.Module) -> bool:
    """Whether `pytestmark` skips the whole module on a machine without an accelerator."""
    for line in module.body:
        match line:
            case cst.SimpleStatementLine(
                body=[
                    cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value="pytestmark"))], value=value)
                ]
            ):
                return _GUARD.search(module.code_for_node(value)) is not None
            case _:
                pass
    return False


def is_for_the_host(function: Function) -> bool:
    """Whether a decorator of the function or of its class has it run on the CPU alone: `@expand(device="cpu")`."""
    owner = () if function.owner is None else function.owner.node.decorators
    own = function.node.decorators if isinstance(function.node, cst.FunctionDef) else ()
    given = [one.decorator for one in (*own, *owner) if isinstance(one.decorator, cst.Call)]
    learn = function.frame.analysis.learn
    if learn(_has_any, function.node, _replaces_moves):
        return True
    return any(_is_the_cpu(argument) for call in given for argument in call.args) or (
        any(map(_tries_the_cpu_only, given)) and not learn(_has_any, function.node, _names_accelerator)
    )


def _has_any(node: cst.CSTNode, asked: Callable[[cst.CSTNode], bool]) -> bool:
    return any(map(asked, walk(node)))


_MOVE = re.compile(r"^(?:torch\.)?(?:Tensor|nn\.Module)\.(?:cuda|to)$")


def _replaces_moves(node: cst.CSTNode) -> bool:
    """Whether a mock stands for what moves tensors: `patch.object(torch.Tensor, "cuda")`, `@patch("torch.Tensor.cuda")`."""
    match node:
        case cst.Call(
            func=cst.Attribute(
                value=cst.Name(value="patch") | cst.Attribute(attr=cst.Name(value="patch")),
                attr=cst.Name(value="object"),
            ),
            args=[cst.Arg(value=owner), cst.Arg(value=cst.SimpleString() as name), *_],
        ):
            return _MOVE.match(f"{dotted(owner)}.{name.raw_value}") is not None
        case cst.Call(
            func=cst.Name(value="patch") | cst.Attribute(attr=cst.Name(value="patch")),
            args=[cst.Arg(value=cst.SimpleString() as name), *_],
        ):
            return _MOVE.match(str(name.raw_value)) is not None
        case _:
            return False


def _names_accelerator(node: cst.CSTNode) -> bool:
    return (isinstance(node, cst.Name) and node.value in ("cuda", "mps", "xpu")) or (
        isinstance(node, cst.SimpleString) and re.search(r"cuda|mps|xpu", node.value) is not None
    )


def _tries_the_cpu_only(call: cst.Call) -> bool:
    """Whether a test is run on nothing but the CPU: `@pytest.mark.parametrize("size, device", [(3, "cpu"), (5, None)])`."""
    match call:
        case cst.Call(
            func=cst.Attribute(attr=cst.Name(value="parametrize")),
            args=[
                cst.Arg(value=cst.SimpleString() as text),
                cst.Arg(value=cst.List() | cst.Tuple() as tried),
                *_,
            ],
        ):
            names = [name.strip() for name in str(text.raw_value).split(",")]
        case _:
            return False
    places = [index for index, name in enumerate(names) if DEVICE_NAME.search(name)]
    cases = [element.value for element in tried.elements]
    return (
        len(places) == 1
        and bool(cases)
        and all(_says_the_cpu(_at(case, places[0], len(names))) for case in cases)
        and any(not _is_none(_at(case, places[0], len(names))) for case in cases)
    )


def _at(case: cst.BaseExpression, index: int, count: int) -> cst.BaseExpression | None:
    """One of the values that a test is run with."""
    if count == 1:
        return case
    match case:
        case cst.Tuple(elements=elements) | cst.List(elements=elements) if len(elements) == count:
            return elements[index].value
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="param")), args=arguments) if (
            len(arguments) >= count
        ):
            return arguments[index].value
        case _:
            return None


def _is_none(node: cst.BaseExpression | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _says_the_cpu(node: cst.BaseExpression | None) -> bool:
    return names_cpu(node) or _is_none(node)


def _is_the_cpu(argument: cst.Arg) -> bool:
    keyword = argument.keyword
    return keyword is not None and DEVICE_NAME.search(keyword.value) is not None and names_cpu(argument.value)
