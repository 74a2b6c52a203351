"""Where a class keeps the models that it holds, as all of its methods together show.

`self.model.to(self.device)` in one method, or `self.model(x.to(self.device))`, tells where the model is in every other one: a class
keeps a model in one place. The methods are only looked at here, not executed, since in which order they run is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.syntax.naming import is_model_name
from torchdev_lint.flow.syntax.trees import dotted, remembered, walk
from torchdev_lint.torch_api.modules import MODEL_METHODS

_DEVICES = re.compile(r"^self\.(?:\w+\.)*\w*device\Z")
_ELSEWHERE = ""
"""A place that is not one of the class's own devices."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A model of the class (`self.model`), the device it is kept on (`self.device`), and the call that shows it."""

    model: str
    device: str
    node: cst.Call

    @property
    def direct(self) -> bool:
        """Whether the call moves the model itself, to the device by its own name."""
        match self.node:
            case cst.Call(func=cst.Attribute(value=receiver), args=[argument, *_]):
                return dotted(receiver) == self.model and dotted(argument.value) == self.device
            case _:
                return False


@dataclass(slots=True)
class _Seen:
    """By model: the devices it is moved to, and those of what it is given."""

    moved: dict[str, dict[str, cst.Call]] = field(default_factory=dict)
    given: dict[str, dict[str, cst.Call]] = field(default_factory=dict)


def placements(methods: Iterable[cst.FunctionDef]) -> Iterator[Placement]:
    """The models that the methods of a class keep on one of the class's own devices, and nowhere else."""
    seen = _Seen()
    for method in methods:
        for where, model, device, node in _shown(method):
            known = seen.moved if where == "moved" else seen.given
            known.setdefault(model, {}).setdefault(device, node)
    for model in {**seen.moved, **seen.given}:
        devices = seen.moved.get(model) or seen.given[model]
        elsewhere = {*seen.moved.get(model, ()), *seen.given.get(model, ())} - set(devices)
        if len(devices) == 1 and not elsewhere:
            device, node = next(iter(devices.items()))
            if device != _ELSEWHERE:
                yield Placement(model, device, node)


@remembered(cst.FunctionDef)
def _shown(method: cst.FunctionDef) -> tuple[tuple[str, str, str, cst.Call], ...]:
    """What a method shows: (`moved` | `given`, a model, a device, the call that shows it), in order."""
    shown: list[tuple[str, str, str, cst.Call]] = []
    names: dict[str, tuple[str, cst.Call]] = {}
    aliases: dict[str, str] = {}
    parameters = {parameter.name.value for parameter in (*method.params.params, *method.params.kwonly_params)}

    def place(node: cst.BaseExpression) -> tuple[str, cst.Call] | None:
        """Where an expression says that its value is."""
        match node:
            case cst.Name(value=name):
                return names.get(name)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="to"))) if node.args:
                first = node.args[0]
                if first.keyword is not None and first.keyword.value != "device":
                    return place(receiver)
                text = _text(first.value, aliases)
                if text is None:
                    return place(receiver) if _may_be_dtype(first.value) else (_ELSEWHERE, node)
                return text, node
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="cpu" | "cuda"))):
                return _ELSEWHERE, node
            case cst.Call():
                for argument in node.args:
                    if argument.keyword is not None and argument.keyword.value == "device":
                        text = _text(argument.value, aliases)
                        return (_ELSEWHERE if text is None else text), node
                if isinstance(node.func, cst.Attribute):
                    return place(node.func.value)
                return None
            case cst.Subscript(value=value):
                return place(value)
            case _:
                return None

    for node in walk(method.body, below=(cst.ClassDef, cst.FunctionDef, cst.Lambda)):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                names.pop(name, None)
                aliases.pop(name, None)
                text, found = _text(value, aliases), place(value)
                if text is not None:
                    aliases[name] = text
                elif found is not None:
                    names[name] = found
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                model, found = dotted(target), place(value)
                if model is not None and found is not None and _is_model(model):
                    shown.append(("moved", model, *found))
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="to" | "cuda" | "cpu"))):
                model = dotted(receiver)
                given = node.args[0].value if node.args else None
                if isinstance(given, cst.Name) and given.value in parameters and given.value not in aliases:
                    continue  # `def to(self, device)`: the class's device changes along with it
                found = place(node)
                if model is not None and found is not None and _is_model(model):
                    shown.append(("moved", model, *found))
            case cst.Call(func=function, args=arguments):
                model = _model_called(function)
                for argument in arguments if model is not None else ():
                    found = place(argument.value)
                    if model is not None and found is not None:
                        shown.append(("given", model, *found))
            case _:
                pass
    return tuple(shown)


def _text(node: cst.BaseExpression, aliases: dict[str, str]) -> str | None:
    """The device of the class that an expression names: `self.device`, or a name that was given it."""
    text = dotted(node)
    if text is None:
        return None
    text = aliases.get(text, text)
    return text if _DEVICES.search(text) else None


def _may_be_dtype(node: cst.BaseExpression) -> bool:
    return re.search(r"(?i)dtype|\bfloat|\bhalf|\blong|\bint|\bbool|\bdouble", dotted(node) or "") is not None


def _is_model(text: str) -> bool:
    return text.startswith("self.") and is_model_name(text)


def _model_called(function: cst.BaseExpression) -> str | None:
    """The model that a call runs: `self.model(...)`, `self.model.predict(...)`."""
    text = dotted(function)
    if text is None:
        return None
    if _is_model(text):
        return text
    holder, _, method = text.rpartition(".")
    return holder if method in MODEL_METHODS and _is_model(holder) else None
