"""Evaluating calls: the arguments, then whatever is called."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow import (
    builtin_functions,
    command_lines,
    conflicts,
    literals,
    modules,
    tensors,
    torch_functions,
)
from torchdev_lint.flow.callsites import Argument, CallSite
from torchdev_lint.flow.classes import instantiate
from torchdev_lint.flow.conditions import negate
from torchdev_lint.flow.frame import Frame, expression
from torchdev_lint.flow.functions import call, not_followed
from torchdev_lint.flow.lattice import UNKNOWN_DEVICE, Cpu, Origin
from torchdev_lint.flow.objects import forget_attributes, forget_device, get_attribute
from torchdev_lint.flow.values import (
    UNKNOWN,
    AnyOf,
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Either,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Method,
    Object,
    Partial,
    Super,
    Tensor,
    Value,
    join,
)
from torchdev_lint.torch_api import factories, tensor_methods
from torchdev_lint.torch_api import modules as module_api
from torchdev_lint.torch_api.libraries import MOVES_INPUTS_METHODS, NOT_DEVICE_USES, SKIPS_TEST


@expression(cst.Call)
def visit_Call(frame: Frame, node: cst.Call) -> Value:
    function = node.func
    discarded, frame.discarded = frame.discarded, None
    if isinstance(function, cst.Attribute):
        name = function.attr.value
        receiver = frame.evaluate(function.value)
        quiet = name in NOT_DEVICE_USES or name.startswith("assert") or _is_marked_parameter(node)
        site = _site(frame, node, quiet=quiet, receiver=function.value)
        frame.discarded = discarded
        result = call_attribute(frame, receiver, name, site)
        frame.discarded = None
        return result
    callee = frame.evaluate(function)
    quiet = isinstance(function, cst.Name) and function.value in NOT_DEVICE_USES
    return call_value(frame, callee, _site(frame, node, quiet=quiet))


def _is_marked_parameter(node: cst.Call) -> bool:
    """`pytest.param("cuda:0", marks=...)`: the mark says when it is skipped."""
    return any(argument.keyword is not None and argument.keyword.value == "marks" for argument in node.args)


def _site(
    frame: Frame, node: cst.Call, *, quiet: bool, receiver: cst.BaseExpression | None = None
) -> CallSite:
    if quiet:
        with frame.quietly():
            arguments = tuple(Argument(frame.evaluate(argument.value), argument) for argument in node.args)
    else:
        arguments = tuple(Argument(_argument(frame, argument), argument) for argument in node.args)
    return CallSite(node, arguments, conflicts.dotted(node.func) or "the call", receiver)


_TEXT_ARGUMENTS = frozenset(
    {"choices", "help", "description", "msg", "match", "metavar", "reason", "title", "label", "name"}
)


def _argument(frame: Frame, argument: cst.Arg) -> Value:
    if argument.keyword is not None and argument.keyword.value in _TEXT_ARGUMENTS:
        with frame.quietly():
            return frame.evaluate(argument.value)
    return frame.evaluate(argument.value)


def call_value(frame: Frame, callee: Value, site: CallSite) -> Value:
    """The result of calling a value."""
    match callee:
        case Function():
            return call(frame, callee, site)
        case Class(model=model):
            return instantiate(frame, model, site)
        case Api(path=path) if path.startswith("builtins."):
            return builtin_functions.call_builtin(frame, path.removeprefix("builtins."), site, call_value)
        case Api(path=path):
            return torch_functions.call_api(frame, path, site)
        case Object():
            return call_object(frame, callee, site)
        case Method(receiver=receiver, name=name):
            return call_attribute(frame, receiver, name, site)
        case Partial(function=function, positional=positional, keywords=keywords):
            return _call_partial(frame, function, positional, keywords, site)
        case Either(guard, then, otherwise):
            with frame.assuming(guard):
                left = call_value(frame, then, site)
            with frame.assuming(negate(guard)):
                right = call_value(frame, otherwise, site)
            return join(guard, left, right)
        case Tensor(device=device):
            return Tensor(device)
        case _:
            return not_followed(frame, site)


def _call_partial(
    frame: Frame,
    function: Value,
    positional: tuple[Value, ...],
    keywords: tuple[tuple[str, Value], ...],
    site: CallSite,
) -> Value:
    first = tuple(Argument(value, cst.Arg(cst.Name("_"))) for value in positional)
    given = {argument.keyword for argument in site.arguments}
    bound = tuple(
        Argument(value, cst.Arg(cst.Name("_"), keyword=cst.Name(name)))
        for name, value in keywords
        if name not in given
    )
    return call_value(
        frame, function, CallSite(site.node, (*first, *site.arguments, *bound), site.callee, site.receiver)
    )


def call_object(frame: Frame, thing: Object, site: CallSite) -> Value:
    """The result of calling an object: a module, a callable instance, or something unknown."""
    state = frame.state(thing)
    if "forward" in state.attributes and state.kind == "module":
        return call_value(frame, state.attributes["forward"], site)
    if state.model is not None:
        for name in ("__call__", "forward"):
            method = state.model.find(name)
            if method is not None:
                return call(frame, state.model.function(method, name, thing), site)
        if state.kind != "module":
            return not_followed(frame, site)
    if state.kind == "module" or state.moved:
        return modules.call_module(frame, thing, site)
    tokenized = torch_functions.tokenizer_result(site, "")
    if tokenized is not None:
        return tokenized
    return torch_functions.unresolved(frame, site.callee, site)


def call_attribute(frame: Frame, receiver: Value, name: str, site: CallSite) -> Value:
    """The result of `receiver.name(...)`."""
    match receiver:
        case Tensor():
            return tensors.call_method(frame, receiver, name, site)
        case Object():
            return call_object_method(frame, receiver, name, site)
        case Super(receiver=instance):
            found = get_attribute(frame, receiver, name, site.node)
            if isinstance(found, Function):
                return call(frame, found, site)
            if (
                isinstance(instance, Object)
                and name == "__call__"
                and frame.state(instance).model is not None
            ):
                return call_attribute(frame, instance, "forward", site)
            if isinstance(instance, Object) and name not in ("__init__", "forward"):
                return call_base_method(frame, instance, name, site)
            return UNKNOWN
        case Items() | Many() | Entries() | Literal():
            return builtin_functions.call_container_method(frame, receiver, name, site)
        case AnyOf(things=things):
            for thing in things:
                forget_device(frame, thing, even_moved=name in module_api.IN_PLACE_MOVES)
            return not_followed(frame, site)
        case DeviceValue() | DeviceType() if name == "startswith" and site.positional():
            return literals.starts_with(frame, receiver, site)
        case Either(guard, then, otherwise):
            with frame.assuming(guard):
                left = call_attribute(frame, then, name, site)
            with frame.assuming(negate(guard)):
                right = call_attribute(frame, otherwise, name, site)
            return join(guard, left, right)
        case Api() | Class() | DeviceValue():
            return call_value(frame, get_attribute(frame, receiver, name, site.node), site)
        case _:
            tokenized = torch_functions.tokenizer_result(site, name)
            if tokenized is not None:
                return tokenized
            if name in module_api.IN_PLACE_MOVES:
                return modules.transfer(frame, frame.result_of(site.node), name, site)
            return not_followed(frame, site)


def call_base_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value:
    """`super().to(...)` and its like: what nn.Module itself does."""
    if name in module_api.IN_PLACE_MOVES:
        return modules.transfer(frame, thing, name, site)
    found = modules.call_module_method(frame, thing, name, site)
    return UNKNOWN if found is None else found


def call_object_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value:
    """The result of a method of an object."""
    state = frame.state(thing)
    if thing.key[0] == "attr" and thing.key[2] == "__dict__":
        forget_attributes(frame, Object(thing.key[1]))
        return UNKNOWN
    if name == "startswith" and site.positional():
        return literals.starts_with(frame, thing, site)
    if name == SKIPS_TEST:
        frame.leave()
        return UNKNOWN
    if name == "enter_context" and any(
        isinstance(argument.value, DeviceValue) for argument in site.arguments
    ):
        frame.env.default_device = UNKNOWN_DEVICE
    if name in state.attributes:
        return call_value(frame, state.attributes[name], site)
    if state.model is not None:
        method = state.model.find(name)
        if method is not None:
            return call(frame, state.model.function(method, name, thing), site)
        if state.kind == "module" and name == "__call__":
            return call_object(frame, thing, site)
    if name in module_api.IN_PLACE_MOVES:
        return modules.transfer(frame, thing, name, site)
    modules.note_evidence(frame, thing, name)
    state = frame.state(thing)
    if state.kind == "module":
        found = modules.call_module_method(frame, thing, name, site)
        if found is not None:
            return found
    tokenized = torch_functions.tokenizer_result(site, name)
    if tokenized is not None:
        return tokenized
    if any(state.api.startswith(where) and name in names for where, names in MOVES_INPUTS_METHODS.items()):
        return frame.result_of(site.node)
    if name in module_api.MODEL_METHODS and (state.kind == "module" or state.moved):
        return modules.call_module(frame, thing, site)
    if state.kind == "module" and state.model is None and name[:1].islower():
        derived = Object(("attr", thing.key, name), f"{thing.text}.{name}")
        if derived.key in frame.env.heap or frame.state(derived).kind == "module":
            return call_object(frame, derived, site)
    if name in _ONLY_TENSORS and state.kind == "unknown":
        return tensors.call_method(frame, Tensor(state.device), name, site)
    if name in ("add_argument", "parse_args", "parse_known_args"):
        return command_lines.call_parser(frame, thing, name, site)
    if {name, f"{thing.text}.{name}"} & frame.analysis.options.tensor_constructors:
        return Tensor(Cpu(Origin(site.node, "made")))
    return not_followed(frame, site)


_ONLY_TENSORS = (
    factories.NEW_METHODS
    | tensor_methods.OPERAND_METHODS
    | frozenset(
        (
            "unsqueeze squeeze view reshape permute transpose contiguous detach clone expand expand_as repeat_interleave "
            "flatten softmax log_softmax sigmoid tanh relu argmax argmin cumsum clamp masked_fill type_as view_as size dim "
            "numel item"
        ).split()
    )
) - frozenset("add new index_add where take outer cross dist scatter gather less greater multiply".split())
"""Methods that, of the things that people put on devices, only tensors have."""
