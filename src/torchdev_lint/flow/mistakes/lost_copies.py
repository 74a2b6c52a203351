"""Copies that a loop makes of what it runs over, and lets go: `for x in parts: x = x.to(device)`.

The name gets the copy, and the next turn gives it another one; what the loop ran over stays where it was.
Of a module the same line is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.events import DiscardedTransfer
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Items, Tensor, Value
from torchdev_lint.flow.mistakes.discarded_transfers import holds_batch, is_target
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.factories import FACTORIES


def check(frame: Frame, loop: cst.For, items: Sequence[Value]) -> None:
    """Publish what the loop moves and lets go, if it is certainly a tensor, and of something that goes on to be used."""
    if frame.source.foreign:
        return
    for name, call in _known(frame, loop):
        whole = frame.analysis.module if frame.function is None else frame.function.node
        if (
            not _is_kept(whole, loop)
            or _is_read_behind(whole, loop, name)
            or not _is_tensor(frame, whole, loop, name, items)
        ):
            continue
        frame.analysis.publish(
            ("discarded", id(call)),
            DiscardedTransfer(
                node=call,
                receiver=cst.ensure_type(call.func, cst.Attribute).value,
                receiver_text=name,
                device=_target(frame, call),
                assignable=False,
            ),
        )


def _runs_over(loop: cst.For) -> list[cst.BaseExpression]:
    """What holds the things that the loop is at: a mapping, or each of several names; what a loader gives is held by nobody else."""
    match loop.iter:
        case cst.Call(func=cst.Attribute(value=held, attr=cst.Name(value="items" | "values")), args=[]):
            return [held]
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            return [element.value for element in elements]
        case _:
            return []


def _is_kept(whole: cst.CSTNode, loop: cst.For) -> bool:
    """Whether what the loop runs over is used again: behind it, or by whoever has it, too."""
    held = [dotted(one) for one in _runs_over(loop)]
    names = {one.partition(".")[0] for one in held if one is not None}
    if not held or None in held:
        return False
    if isinstance(whole, cst.FunctionDef):
        names_of_parameters = {parameter.name.value for parameter in all_parameters(whole.params)}
        if len(held) == 1 and names & names_of_parameters:
            return True
    return _are_read_behind(whole, loop, names)


def _known(frame: Frame, loop: cst.For) -> tuple[tuple[str, cst.Call], ...]:
    key = ("let go", id(loop))
    if key not in frame.analysis.notes:
        frame.analysis.notes[key] = tuple(_let_go(loop))
    found: tuple[tuple[str, cst.Call], ...] = frame.analysis.notes[key]
    return found


def _let_go(loop: cst.For) -> Iterator[tuple[str, cst.Call]]:
    """The transfers whose result replaces what the loop is at, and is not read any more in that turn."""
    for node in walk(loop.body, below=(cst.FunctionDef, cst.Lambda)):
        if type(node) is not cst.Assign:
            continue
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=name))],
                value=cst.Call(
                    func=cst.Attribute(value=cst.Name(value=moved), attr=cst.Name(value="to" | "cuda"))
                ) as call,
            ) if name == moved and is_target(loop.target, name) and _names_device(call):
                if not _is_read_after(loop.body, node, name):
                    yield name, call
            case _:
                pass


def _names_device(call: cst.Call) -> bool:
    if cst.ensure_type(call.func, cst.Attribute).attr.value == "cuda":
        return True
    match call.args:
        case [cst.Arg(value=cst.SimpleString(raw_value=text), keyword=None), *_]:
            return text.startswith("cuda")
        case [cst.Arg(value=value), *_]:
            return DEVICE_NAME.search((dotted(value) or "").rpartition(".")[2]) is not None
        case _:
            return False


def _target(frame: Frame, call: cst.Call) -> str:
    if cst.ensure_type(call.func, cst.Attribute).attr.value == "cuda":
        return "`cuda`"
    value = call.args[0].value
    return f"`{value.raw_value if isinstance(value, cst.SimpleString) else frame.analysis.text(value)}`"


def _is_read_after(body: cst.CSTNode, assignment: cst.CSTNode, name: str) -> bool:
    """Whether the copy is read in the turn that made it; in another branch nobody has it."""
    return _are_read_behind(body, assignment, {name})


def _are_read_behind(
    scope: cst.CSTNode, place: cst.CSTNode, names: set[str], apart: Iterable[cst.CSTNode] = ()
) -> bool:
    """Whether one of the names stands in a scope behind a part of it; `apart`: what does not count either."""
    left_out = {id(part) for one in (place, *apart) for part in walk(one)}
    passed = False
    for node in walk(scope):
        passed = passed or node is place
        if passed and id(node) not in left_out and isinstance(node, cst.Name) and node.value in names:
            return True
    return False


def _is_read_behind(whole: cst.CSTNode, loop: cst.For, name: str) -> bool:
    """Whether the name is read behind the loop, where it holds the last copy; other loops give it something else."""
    others = [node for node in walk(whole) if isinstance(node, cst.For) and is_target(node.target, name)]
    return _are_read_behind(whole, loop, {name}, others)


def _is_tensor(frame: Frame, whole: cst.CSTNode, loop: cst.For, name: str, items: Sequence[Value]) -> bool:
    """Whether what the loop is at is a tensor: by its value, by a test, or by what the loop runs over."""
    values = [_part(loop.target, name, item) for item in items]
    if values and all(
        isinstance(value, Tensor) and not (value.guess or value.batch or value.mapping) for value in values
    ):
        return True
    if any(_asks_for_tensor(node, name) for node in walk(loop.body)):
        return True
    if not isinstance(loop.iter, cst.Call):
        return False
    source = _runs_over(loop)[0]
    text = dotted(source)
    if text is None:
        return False
    return ("." not in text and holds_batch(whole, text)) or _is_filled(frame, text)


def _part(target: cst.BaseExpression, name: str, item: Value) -> Value | None:
    match target:
        case cst.Name():
            return item
        case cst.Tuple(elements=elements) if isinstance(item, Items) and len(item.items) == len(elements):
            for element, value in zip(elements, item.items, strict=True):
                if isinstance(element.value, cst.Name) and element.value.value == name:
                    return value
            return None
        case _:
            return None


def _asks_for_tensor(node: cst.CSTNode, name: str) -> bool:
    """`isinstance(x, torch.Tensor)`, `torch.is_tensor(x)`."""
    match node:
        case cst.Call(
            func=cst.Name(value="isinstance"),
            args=[cst.Arg(value=cst.Name(value=asked)), cst.Arg(value=kind)],
        ):
            return asked == name and (dotted(kind) or "").rpartition(".")[2] == "Tensor"
        case cst.Call(
            func=cst.Attribute(attr=cst.Name(value="is_tensor")), args=[cst.Arg(value=cst.Name(value=asked))]
        ):
            return asked == name
        case _:
            return False


def _is_filled(frame: Frame, text: str) -> bool:
    """Whether the file fills a mapping with tensors that it makes: `self.data[key] = torch.zeros(n)`."""
    filled = [
        node.value
        for node in walk(frame.analysis.module)
        if isinstance(node, cst.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0].target, cst.Subscript)
        and dotted(node.targets[0].target.value) == text
    ]
    made = [(dotted(value.func) or "").partition(".") for value in filled if isinstance(value, cst.Call)]
    torch = {"torch", "th"}
    return any(head in torch and f"torch.{rest}" in FACTORIES for head, _, rest in made)
