"""Hooks of modules and tensors: functions that PyTorch calls with what a module gives out, or with gradients.

A forward hook runs at each call of its module, and so does, for what it leaves behind, a backward hook: by the time that anyone reads what
it kept, the gradient has come. Both are given tensors that are where the module's output is (torch/nn/modules/module.py, `_call_impl`).
A forward pre-hook is given the inputs, and what it returns stands in for them; what a forward hook returns stands in for the output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Anywhere, device_atoms, leaves
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Either,
    Entries,
    Function,
    Items,
    Method,
    Object,
    Partial,
    State,
    Tensor,
    Value,
    join,
)
from torchdev_lint.flow.instances.confinement import only_computes
from torchdev_lint.flow.instances.objects import forget_device
from torchdev_lint.flow.nn_modules import brought_by_hooks, module_containers
from torchdev_lint.flow.nn_modules.brought_by_hooks import BEFORE
from torchdev_lint.flow.syntax.trees import SCOPES, all_parameters, dotted, remembered, walk
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES

CallValue = Callable[[Frame, Value, CallSite], Value]

_REGISTERED = ("hooks",)
_WANDERS = "moved by a hook before each call"
_AFTER = "register_forward_hook"
REGISTERS = frozenset({_AFTER, "register_full_backward_hook", "register_backward_hook", BEFORE})
"""Methods of a module that take a hook."""


class _Hook(NamedTuple):
    """`sure`: it is registered under no condition."""

    name: str
    function: Value
    with_kwargs: bool
    sure: bool


_Table: TypeAlias = "dict[Key, list[_Hook]]"


def register(frame: Frame, thing: Object, name: str, site: CallSite) -> Value | None:
    """`module.register_forward_hook(hook)`; None where the hook cannot be read."""
    given = site.get(0, "hook")
    function = UNKNOWN if given is None else _called(frame, given.value)
    if (
        not isinstance(function, (Function, Method, Partial))
        or not (frame.env.knows(thing) or (is_some_part(thing) and name != BEFORE))
        or (name == BEFORE and site.keyword("with_kwargs") is not None)
    ):
        if name == BEFORE:
            # the hook may bring the inputs to the module
            frame.set_state(thing, replace(frame.state(thing), moves_inputs=True))
            if _moves_module(function):
                frame.analysis.notes[_WANDERS, thing.key] = True
        return None
    table: _Table = frame.analysis.notes.setdefault(_REGISTERED, {})
    known = table.setdefault(thing.key, [])
    hook = _Hook(name, function, site.keyword("with_kwargs") is not None, not frame.env.path)
    if hook not in known:
        known.append(hook)
    return frame.result_of(site.node)


def _moves_module(hook: Value) -> bool:
    """Whether a hook moves the module that it is given, as its text shows: `module.to(self.execution_device)`."""
    match hook:
        case Partial(function=inner):
            return _moves_module(inner)
        case Function(node=cst.FunctionDef() as node, owner=owner):
            names = [one.name.value for one in all_parameters(node.params)]
            module = names[owner is not None : 1 + (owner is not None)]
            return any(
                isinstance(part, cst.Call)
                and isinstance(part.func, cst.Attribute)
                and part.func.attr.value in IN_PLACE_MOVES
                and [dotted(part.func.value)] == module
                for part in walk(node.body)
            )
        case _:
            return False


def _called(frame: Frame, hook: Value) -> Value:
    """What is called as a hook: of an instance its `__call__`."""
    model = frame.state(hook).model if isinstance(hook, Object) else None
    method = None if model is None else model.find("__call__")
    return hook if model is None or method is None else model.function(method, "__call__", hook)


def is_some_part(thing: Object) -> bool:
    """Whether a thing is a module that `modules()` of another gave, of which nothing else is known."""
    return thing.key[0] == "item" and thing.key[2:] == (module_containers.PART,)


def inputs(frame: Frame, thing: Object, site: CallSite, call_value: CallValue) -> CallSite:
    """The call of a module as its `forward` sees it: with what its pre-hooks make of the inputs."""
    if (_WANDERS, thing.key) in frame.analysis.notes:
        forget_device(frame, thing, even_moved=True)
    table: _Table | None = frame.analysis.notes.get(_REGISTERED)
    before = [] if not table else [one.function for one in table.get(thing.key, ()) if one.name == BEFORE]
    state = frame.state(thing)
    if not before and _is_brought_inside(table or {}, state):
        return replace(site, arguments=tuple(replace(one, value=UNKNOWN) for one in site.arguments))
    if not before:
        site = brought_by_hooks.without_brought(frame, thing, site)
    for hook in before:
        given = site.positional()
        if site.has_star():
            return site
        values: Value = Items(tuple(argument.value for argument in given))
        arguments = tuple(Argument(value, cst.Arg(cst.Name("_"))) for value in (thing, values))
        found = _replaced(call_value(frame, hook, CallSite(site.node, arguments)), values)
        if found is values:
            continue
        now = found.items if isinstance(found, Items) and len(found.items) == len(given) else None
        new = tuple(
            replace(argument, value=UNKNOWN if now is None else now[index])
            for index, argument in enumerate(given)
        )
        site = replace(site, arguments=(*new, *(one for one in site.arguments if one.keyword is not None)))
    return site


def _is_brought_inside(table: _Table, state: State) -> bool:
    """Whether a hook that cannot be read, or one of a part, brings the inputs to where they are wanted."""
    if state.model is not None:
        return state.moves_inputs
    parts = [held.key for held in state.attributes.values() if isinstance(held, Object)] if table else []
    return any(hook.name == BEFORE for key in parts for hook in table.get(key, ()))


def _replaced(returned: Value, given: Value) -> Value:
    """What stands in for the inputs when a pre-hook returned something: None changes nothing, one value counts as a tuple of it."""
    match returned:
        case _ if returned == NONE:
            return given
        case Items():
            return returned
        case Tensor():
            return Items((returned,))
        case Either(guard, then, otherwise):
            return join(guard, _replaced(then, given), _replaced(otherwise, given))
        case _:
            return UNKNOWN


def run(frame: Frame, thing: Object, result: Value, site: CallSite, call_value: CallValue) -> Value:
    """A module was called and gave `result`: what its hooks make of it. Those of the parts that a container calls are run, too."""
    table: _Table | None = frame.analysis.notes.get(_REGISTERED)
    if not table:
        return result
    state = frame.state(thing)
    own = table.get(thing.key, [])
    if state.model is None:  # whichever part it is, it gives out what is where they all are
        of_some_part = table.get(("item", thing.key, module_containers.PART), ())
        own = own + [one._replace(sure=False) for one in of_some_part]
    for name, hook, with_kwargs, sure in own:
        if name == BEFORE:
            continue
        everywhere = all(isinstance(leaf, Anywhere) for leaf in leaves(state.device))
        some: Value = UNKNOWN if everywhere else Tensor(state.device)
        given = Items((result if isinstance(result, Tensor) else some,))
        handed: tuple[Value, ...] = (thing, given, given)
        if name == _AFTER:
            keywords = (Entries((), UNKNOWN),) if with_kwargs else ()
            handed = (thing, given, *keywords, some if result == UNKNOWN else result)
        arguments = tuple(Argument(value, cst.Arg(cst.Name("_"))) for value in handed)
        returned = call_value(frame, hook, CallSite(site.node, arguments))
        if name == _AFTER and result != UNKNOWN and not _gives_nothing(hook):
            stays = sure and not _takes_hooks_off(frame.source.module)
            result = _instead(returned, result, sure=stays)
    if state.model is None and state.kind == "module":
        for held in dict.fromkeys(one for one in state.attributes.values() if isinstance(one, Object)):
            if held.key in table:
                device = frame.state(held).device
                everywhere = all(isinstance(leaf, Anywhere) for leaf in leaves(device))
                given_out = result if everywhere else Tensor(device)
                if run(frame, held, given_out, site, call_value) != given_out:
                    result = UNKNOWN  # what the parts after it are given is not known, either
    return result


def _instead(returned: Value, result: Value, *, sure: bool) -> Value:
    """The output after a forward hook that returned something: None leaves it as it is."""
    if isinstance(returned, Either):
        then = _instead(returned.then, result, sure=sure)
        return join(returned.guard, then, _instead(returned.otherwise, result, sure=sure))
    if returned in (NONE, result):
        return result
    return returned if sure and _is_settled(returned) else UNKNOWN


def _is_settled(returned: Value) -> bool:
    """Whether nothing but the machine's devices decides where something is.

    `out if module.training else out.cpu()`: in which mode a module is nobody follows.
    """
    return not isinstance(returned, Tensor) or all(
        atom.kind in ("available", "count", "device-type") for atom in device_atoms(returned.device)
    )


_CHANGES_IN_PLACE = frozenset(
    "append extend insert add update clear remove __setitem__ __setattr__ write print setattr".split()
)
"""Functions and methods that return None: a hook that ends in one of them only keeps what it is given."""


def _gives_nothing(hook: Value) -> bool:
    """Whether a hook returns nothing, as its text shows, however little is understood of what it does."""
    match hook:
        case Partial(function=function):
            return _gives_nothing(function)
        case Function(node=cst.Lambda(body=cst.Call(func=called))):
            name = called.attr if isinstance(called, cst.Attribute) else called
            return isinstance(name, cst.Name) and name.value in _CHANGES_IN_PLACE
        case Function(node=cst.FunctionDef(body=body), decorators=()):
            return not any(isinstance(node, (cst.Return, cst.Yield)) for node in walk(body, below=SCOPES))
        case Method(name=name):
            return name in _CHANGES_IN_PLACE
        case _:
            return False


@remembered(cst.Module)
def _takes_hooks_off(module: cst.Module) -> bool:
    """Whether something is removed in a file, as a hook is by `handle.remove()`: which calls of the module it sees is not known then."""
    return any(
        isinstance(node, cst.Call)
        and not node.args
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "remove"
        for node in walk(module)
    )


def run_applied(frame: Frame, thing: Object, site: CallSite, call_value: CallValue) -> None:
    """`model.apply(function)` calls it with each of the modules in turn: one that keeps what it finds outside of itself is read.

    With which of them nothing is known, so that what it asks of its argument (`isinstance(m, nn.BatchNorm2d)`) stays open.
    """
    given = site.get(0, "fn")
    if given is None or not isinstance(given.value, Function) or not _keeps_findings(given.value.node):
        return
    each = Object(("item", thing.key, "apply"), "")
    call_value(frame, given.value, CallSite(site.node, (Argument(each, cst.Arg(cst.Name("_"))),)))


def _keeps_findings(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function writes into what is not its own, itself or by another that it calls."""
    if not only_computes(function):
        return True
    return any(
        isinstance(node, (cst.Global, cst.Nonlocal))
        or (isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Subscript))
        for node in walk(function.body)
    )


def run_on_tensor(frame: Frame, tensor: Tensor, site: CallSite, call_value: CallValue) -> Value:
    """`tensor.register_hook(hook)`: the hook is given the gradient, which is where the tensor is."""
    given = site.get(0, "hook")
    if given is not None and isinstance(given.value, (Function, Method, Partial)):
        gradient = Argument(Tensor(tensor.device, scalar=tensor.scalar), cst.Arg(cst.Name("_")))
        call_value(frame, given.value, CallSite(site.node, (gradient,)))
    return frame.result_of(site.node)
