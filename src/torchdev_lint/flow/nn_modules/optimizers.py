"""Optimizers: of which modules they are, and whether their state was made before the module was moved."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import StateBeforeMove
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Conflict, Level, Symbol, conflict, describe
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    DeviceValue,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Value,
)
from torchdev_lint.flow.nn_modules import parameter_groups
from torchdev_lint.flow.project.project_calls import argument_at
from torchdev_lint.flow.syntax.trees import all_parameters, binds, blocks, dotted, transfers, walk
from torchdev_lint.torch_api.optimizers import OPTIMIZERS, STATE_FROM_THE_START

OF_PARAMETER = "optimizer state"
"""What the dict is known by that an optimizer has for a parameter."""
_MODULES, _STATE, _WHERE, _MOVE, _AT_TOP = "[modules]", "[state]", "[where]", "[move]", "[at top]"
"""Attributes that no program can set: the modules, what made the state, where each module was then, its last move, and whether the
state was made while the file's top level ran."""


def build(frame: Frame, path: str, site: CallSite) -> Value | None:
    """A new optimizer; None when it keeps no state or when it is not known whose parameters it has."""
    if path not in OPTIMIZERS or (path.endswith(".SGD") and not _has_momentum(site)):
        return None
    modules = tuple(_modules(frame, site))
    if not modules:
        return None
    thing = frame.result_of(site.node, path.rpartition(".")[2])
    frame.set_state(
        thing,
        State("instance", frame.state(thing).device, path, attributes={_MODULES: Items(modules)}),
    )
    if path in STATE_FROM_THE_START:
        _make(frame, thing, "made", site)
    return thing


def adopt(frame: Frame, thing: Object, site: CallSite) -> None:
    """An optimizer of the program's own: what it keeps for each parameter it makes at its first step, or is given back."""
    model = frame.state(thing).model
    modules = tuple(_modules(frame, site))
    if model is not None and modules and _keeps_state(model.find("step")):
        brings = any(next(transfers(method.body), None) for method in model.methods.values())
        if not brings and model.find("load_state_dict") is None and model.find("__setstate__") is None:
            frame.set_state(thing, frame.state(thing).with_attribute(_MODULES, Items(modules)))


def _keeps_state(step: cst.FunctionDef | None) -> bool:
    """Whether a step makes something for each parameter, `self.state[p]`."""
    return step is not None and any(
        isinstance(part, cst.Subscript) and dotted(part.value) == "self.state" for part in walk(step.body)
    )


def held_by_base(thing: Object) -> dict[str, Value]:
    """What `torch.optim.Optimizer.__init__` gives `self`: groups of parameters, and a dict for each of these, empty at first.

    The parameters are wherever the model is (torch/optim/optimizer.py).
    """
    there = Symbol(("device", thing.key), "the parameters' device", assumed=True)
    group = Entries((("params", Many(Tensor(there, parameter=True))),), open=True)
    of_one = Object((OF_PARAMETER, thing.key), "the state")
    return {"param_groups": Many(group), "state": Entries((), of_one, open=True)}


def _make(frame: Frame, thing: Object, how: str, site: CallSite) -> None:
    """The optimizer's state is made, or brought, where its modules are now."""
    state = frame.state(thing)
    modules = state.attributes[_MODULES]
    if isinstance(modules, Items):
        where = tuple(
            DeviceValue(frame.state(module).device) for module in modules.items if isinstance(module, Object)
        )
        at_top = Literal(frame.analysis.at_top)
        made: dict[str, Value] = {_STATE: Literal(how, site.node), _WHERE: Items(where), _AT_TOP: at_top}
        frame.set_state(thing, replace(state, attributes={**state.attributes, **made}))
        # Where flows meet, the state is there in both: what held when it was made has to hold when it is used.
        frame.analysis.notes["state made under", id(site.node)] = frame.env.path
        frame.analysis.notes["state made through", id(site.node)] = tuple(_calls_above(frame))


def _calls_above(frame: Frame) -> Iterator[cst.CSTNode]:
    """The calls by which the function was reached, the last one first."""
    while frame.caller is not None:
        yield frame.call
        frame = frame.caller


def _has_momentum(site: CallSite) -> bool:
    argument = site.get(2, "momentum")
    return argument is not None and not (isinstance(argument.value, Literal) and not argument.value.value)


def _modules(frame: Frame, site: CallSite) -> Iterator[Object]:
    """The modules whose `parameters()` an optimizer is given."""
    argument = site.get(0, "params")
    if argument is not None:
        yield from _owners(frame, argument.node.value)


def _owners(frame: Frame, node: cst.BaseExpression) -> Iterator[Object]:
    """The modules whose parameters an expression puts together; of a parameter those that the caller gives for it."""
    named = (one for one in parameter_groups.owners(frame, node) if one is not None)
    written = (
        part.func.value
        for part in walk(node)
        if isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and part.func.attr.value == "parameters"
        and dotted(part.func.value) is not None
    )
    found = {id(one): one for one in (*written, *named)}.values()
    for owner in found:
        value = frame.evaluate(owner)
        if isinstance(value, Object):
            yield value
    function, caller = frame.function, frame.caller
    if found or function is None or caller is None or not isinstance(frame.call, cst.Call):
        return
    names = [one.name.value for one in all_parameters(function.node.params)]
    if not isinstance(node, cst.Name) or node.value not in names:
        return
    bound = function.receiver is not None and "staticmethod" not in function.decorators
    given = argument_at(frame.call, names.index(node.value) - bound, node.value)
    if given is not None:
        yield from _owners(caller, given)


def call_method(frame: Frame, thing: Object, name: str, site: CallSite) -> None:
    """The effect of a method on what is known of an optimizer's state: its own methods, and `scaler.step(optimizer)`."""
    if name == "step":
        first = site.positional()[0].value if site.positional() else None
        for optimizer in (thing, first):
            if isinstance(optimizer, Object) and _MODULES in frame.state(optimizer).attributes:
                step(frame, optimizer, site)
    elif name == "add_param_group":
        parameter_groups.forget(frame, thing)
    elif name == "load_state_dict" and _MODULES in frame.state(thing).attributes:
        _make(frame, thing, "restored", site)


def step(frame: Frame, thing: Object, site: CallSite) -> None:
    """An optimizer steps: it fails if a module of it is elsewhere now than when its state was made."""
    attributes = frame.state(thing).attributes
    if attributes.get(_AT_TOP) == Literal(value=True) and not frame.analysis.at_top:
        return  # a function read on its own, after the top level: that it is called once more is not known
    match attributes.get(_STATE), attributes.get(_MODULES), attributes.get(_WHERE), attributes.get(_MOVE):
        case None, _, _, _:
            _make(frame, thing, "made", site)
        case (
            Literal(node=made, value=str(how)),
            Items(modules),
            Items(where),
            Literal(node=cst.Call() as move),
        ) if made is not None:
            path = (*frame.env.path, *frame.analysis.notes.get(("state made under", id(made)), ()))
            for module, before in zip(modules, where, strict=False):
                if isinstance(module, Object) and isinstance(before, DeviceValue):
                    now = frame.state(module).device
                    found = conflict(now, before.device, path)
                    if found is not None and found.level == Level.CERTAIN:
                        _publish(frame, thing, site, made, how, move, found)
        case _:
            pass


def note_read(frame: Frame, thing: Object) -> None:
    """`optimizer.state`: whoever reads it may move what is in it to where the parameters are now. Its own class is known not to."""
    state = frame.state(thing)
    if _STATE in state.attributes and (frame.function is None or frame.function.receiver != thing):
        frame.set_state(thing, state.with_attribute(_STATE, UNKNOWN))


def _publish(
    frame: Frame, thing: Object, site: CallSite, made: cst.CSTNode, how: str, move: cst.Call, found: Conflict
) -> None:
    ways = (made, *frame.analysis.notes.get(("state made through", id(made)), ()))
    places = (_place_before(frame, way, move) for way in ways)
    earlier, indentation = next((place for place in places if place[0] is not None), (None, ""))
    frame.analysis.publish(
        ("state-before-move", id(move)),
        StateBeforeMove(
            node=move,
            state=made,
            step=site.node,
            how=how,
            optimizer=_called(frame, thing),
            module=frame.analysis.text(move.func.value) if isinstance(move.func, cst.Attribute) else "it",
            device_name=describe(found.left),
            move=frame.analysis.text(move),
            earlier=earlier,
            indentation=indentation,
        ),
    )


def note_move(frame: Frame, thing: Object, site: CallSite) -> None:
    """A module is moved: the optimizers whose modules move with it remember by what."""
    if not isinstance(site.node, cst.Call):
        return
    for key, state in list(frame.env.heap.items()):
        held = state.attributes.get(_MODULES)
        if isinstance(held, Items) and any(_holds(frame, thing, module) for module in held.items):
            frame.env.heap[key] = state.with_attribute(_MOVE, Literal("moved", site.node))


def _holds(frame: Frame, owner: Object, module: Value, depth: int = 3) -> bool:
    """Whether moving `owner` moves `module`."""
    if owner == module:
        return True
    if depth == 0:
        return False
    state = frame.state(owner)
    return any(
        isinstance(held, Object) and _holds(frame, held, module, depth - 1)
        for name, held in state.attributes.items()
        if name in state.registered
    )


def _called(frame: Frame, thing: Object) -> str:
    for name, value in frame.visible_names():
        if value == thing:
            return name
        if isinstance(value, Object):
            for attribute, held in frame.state(value).attributes.items():
                if held == thing:
                    return f"{name}.{attribute}"
    return thing.text


def _place_before(frame: Frame, state: cst.CSTNode, move: cst.CSTNode) -> tuple[cst.CSTNode | None, str]:
    """The statement that made the state, if the move may be written before it, with its indentation."""
    module = frame.analysis.module
    for block, indentation in blocks(module, module.default_indent):
        lines = [line for line in block if isinstance(line, cst.SimpleStatementLine)]
        made = [line for line in lines if any(part is state for part in walk(line))]
        moved = [line for line in lines if any(part is move for part in walk(line))]
        if made and moved and isinstance(moved[0].body[0], cst.Expr) and moved[0].body[0].value is move:
            between = block[block.index(made[0]) : block.index(moved[0])]
            if any(binds(line, move) for line in between):
                return None, ""
            return made[0].body[0], indentation
    return None, ""
