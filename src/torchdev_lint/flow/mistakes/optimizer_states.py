"""What an optimizer of the program's own keeps for a parameter, made of its size on the CPU: `self.state[p]["m"] = torch.zeros(p.shape)`.

The parameter is wherever the model is (torch/optim/optimizer.py), and the state is there to be computed with it, in this class or in one
that derives from it, which a file of its own may hold that is not read for this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from torchdev_lint.flow.activation.events import Event, Made, MixedOperation, ReturnedFactory
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Object, Tensor, Value
from torchdev_lint.flow.mistakes import disagreeing_returns
from torchdev_lint.flow.nn_modules.optimizers import OF_PARAMETER
from torchdev_lint.flow.syntax.trees import (
    dotted,
    functions_around,
    names_bound,
    takes_device,
    walk,
)

_ON_HOST = re.compile(r"offload|pin_memory|\.cpu\(|['\"]cpu['\"]")
"""What speaks of states that are kept on the host on purpose."""
_STAYING = disagreeing_returns.STAYING | {"tensor"}


def note_kept(frame: Frame, state: Object, value: Value) -> None:
    """`state[name] = value`: publish what was made for the parameter without saying where."""
    if state.key[0] != OF_PARAMETER or not isinstance(value, Tensor) or value.scalar is True:
        return
    origin = disagreeing_returns.made_by(value.device, _STAYING)
    of = None if origin is None else next(_sized_like(origin.node, frame), None)
    if origin is None or of is None or _keeps_on_host(frame, state):
        return
    made = Made(origin.node, f"{of}.device", takes_device(origin.node))
    frame.analysis.publish(("kept", id(origin.node)), ReturnedFactory(made, "", "", kept=of))


def _keeps_on_host(frame: Frame, state: Object) -> bool:
    """Whether the optimizer's class, or one that it derives from, speaks of the CPU."""
    model = frame.state(Object(state.key[1])).model
    return model is None or any(
        _ON_HOST.search(owner.frame.source.module.code_for_node(owner.node)) for owner in model.lineage()
    )


def _sized_like(factory: cst.Call, frame: Frame) -> Iterator[str]:
    """The name of what a factory is given the shape of, or a part of it: `for axis, size in enumerate(p.shape)`."""
    given = [part for argument in factory.args for part in walk(argument.value)]
    yield from _shaped(given)
    names = {part.value for part in given if isinstance(part, cst.Name)}
    for function in functions_around(frame.source.module, factory):
        for part in walk(function.body):
            match part:
                case cst.For(target=target, iter=source) | cst.CompFor(target=target, iter=source):
                    bound = set(names_bound(target))
                case cst.Assign(targets=targets, value=source):
                    bound = {name for one in targets for name in names_bound(one.target)}
                case _:
                    continue
            if not names.isdisjoint(bound):
                yield from _shaped(walk(source))


def _shaped(nodes: Iterable[cst.CSTNode]) -> Iterator[str]:
    for part in nodes:
        if isinstance(part, cst.Attribute) and part.attr.value in ("shape", "size"):
            of = dotted(part.value)
            if of is not None:
                yield of


def without_met(events: Iterable[Event]) -> list[Event]:
    """The events, less states of which another one says where they meet the parameter."""
    events = list(events)
    met = {
        id(event.made.node)
        for event in events
        if isinstance(event, MixedOperation) and event.made is not None
    }
    return [
        event
        for event in events
        if not (isinstance(event, ReturnedFactory) and event.kept and id(event.made.node) in met)
    ]
