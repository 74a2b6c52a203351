"""Functions in which nothing leaves the CPU: a copy that is thrown away there is missed by nobody.

    def try_out(Net):
        net, x = Net(3), torch.zeros(5, 3)
        if torch.cuda.is_available():
            x.cuda()
        return net(x)

What computes with the tensor was made by the function itself, of classes that it is given or that say nothing of devices, and moved
nowhere.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, receiver_name, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME, speaks_of_devices

_MOVES = frozenset({"to", "cuda", "xpu", "npu", "mps", "device"})
_LIBRARIES = frozenset({"torch", "nn", "F", "np", "numpy"})
_SAYS = frozenset({"print", "len", "str", "repr", "type", "isinstance"})


def are_together(frame: Frame, receiver: cst.BaseExpression) -> bool:
    """Whether a function makes all that meets a tensor of its own, and moves nothing but to throw the copies away."""
    function = frame.function
    if (
        function is None
        or not isinstance(receiver, cst.Name)
        or not isinstance(function.node, cst.FunctionDef)
    ):
        return False
    body = function.node.body
    given = {one.name.value for one in all_parameters(function.node.params)}
    made = {
        target.target.value: node.value
        for node in walk(body)
        if isinstance(node, cst.Assign)
        for target in node.targets
        if isinstance(target.target, cst.Name)
    }
    if receiver.value in given or receiver.value not in made or "self" in given:
        return False
    return not _moves(body) and all(
        _is_of_its_own(frame, node, made, given)
        for node in walk(body)
        if isinstance(node, cst.Call)
        and any(
            isinstance(part, cst.Name) and part.value == receiver.value
            for one in node.args
            for part in walk(one.value)
        )
    )


def _moves(body: cst.BaseSuite) -> bool:
    """Whether something is moved, made or asked for on a device, but for copies that are thrown away and the question for a GPU."""
    apart: set[int] = set()
    for node in walk(body):
        match node:
            case cst.Expr(
                value=cst.Call(func=cst.Attribute(value=cst.Name(), attr=cst.Name(value=name)))
            ) if name in _MOVES:
                apart |= {id(part) for part in walk(node.value)}
            case cst.Attribute() if dotted(node) in ("torch.cuda.is_available", "torch.cuda"):
                apart.add(id(node))
            case _:
                pass
    return any(
        id(node) not in apart
        and (
            (isinstance(node, cst.Attribute) and node.attr.value in _MOVES)
            or (
                isinstance(node, cst.Arg)
                and node.keyword is not None
                and DEVICE_NAME.search(node.keyword.value)
            )
        )
        for node in walk(body)
    )


def _is_of_its_own(
    frame: Frame, call: cst.Call, made: dict[str, cst.BaseExpression], given: set[str]
) -> bool:
    """Whether what is called was made by the function, or only looks at what it is given."""
    name = receiver_name(call.func)
    if name in made:
        return _is_made_here(frame, made[name], given)
    return name in _LIBRARIES | _SAYS or _is_plain_class(frame, name)


def _is_made_here(frame: Frame, value: cst.BaseExpression, given: set[str]) -> bool:
    """Whether something is an instance of a class that the function is given, or a tensor: not what a function of the program returns."""
    if not isinstance(value, cst.Call):
        return False
    name = receiver_name(value.func)
    if isinstance(value.func, cst.Name):
        return name in given or _is_plain_class(frame, name)
    return name in _LIBRARIES


def _is_plain_class(frame: Frame, name: str) -> bool:
    """Whether a class of the file says nothing of devices."""
    return any(
        isinstance(line, cst.ClassDef)
        and line.name.value == name
        and not speaks_of_devices(frame.analysis.text(line))
        for line in frame.analysis.module.body
    )
