"""An object of a class of the program's own, whose `to` gives another one, is moved, and the result thrown away."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import Cpu
from torchdev_lint.flow.domain.values import Object
from torchdev_lint.flow.mistakes.discarded_transfers import discarded_copy
from torchdev_lint.flow.syntax.trees import SCOPES, dotted, receiver_name, remembered, walk
from torchdev_lint.flow.torch_calls import transfers


def check(frame: Frame, thing: Object, method: cst.FunctionDef, site: CallSite) -> None:
    """`batch.to(device)` as a statement, where the class's `to` leaves the object as it is."""
    name = method.name.value
    if name not in ("to", "cuda") or frame.discarded is not site.node:
        return
    if frame.state(thing).kind != "instance" or method.decorators or not _gives_another(method):
        return
    target = transfers.transfer_target(frame, site, name, sure=True)
    if target is not None and not isinstance(target, Cpu):
        discarded_copy(frame, site, target)


@remembered(cst.FunctionDef)
def _gives_another(method: cst.FunctionDef) -> bool:
    """Whether a method returns what a call makes, on all its ways, and sets nothing."""
    ways: list[cst.BaseExpression | None] = []
    for part in walk(method.body, below=SCOPES):
        match part:
            case cst.AssignTarget(target=target) if not isinstance(target, (cst.Name, cst.Tuple)):
                return False
            case cst.AugAssign() | cst.AnnAssign(target=cst.Attribute()) | cst.Del() | cst.Raise():
                return False
            case cst.Expr(value=cst.Call()):
                return False  # whatever that does
            case cst.Return(value=value):
                ways.append(value)
            case _:
                pass
    return bool(ways) and all(_makes_one(method, way) for way in ways)


def _makes_one(method: cst.FunctionDef, value: cst.BaseExpression | None) -> bool:
    """`Batch(self.x.to(device))`, `type(self)(...)`, `replace(self, ...)`; not `super().to(device)`, nor `self.move(device)`."""
    receiver = method.params.params[0].name.value if method.params.params else ""
    if not isinstance(value, cst.Call):
        return False
    called = dotted(value.func)
    if called is None:
        return isinstance(value.func, cst.Call) and dotted(value.func.func) == "type"
    return called.rpartition(".")[2] in ("replace", "_replace", "evolve") or (
        called.rpartition(".")[2][:1].isupper() and receiver_name(value.func) != receiver
    )
