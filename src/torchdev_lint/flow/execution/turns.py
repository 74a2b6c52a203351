"""Which turn of a loop a test singles out: `if t == n - 1` in `for t in reversed(range(n))` is true in the first and never again."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Counter, Frame
from torchdev_lint.flow.domain.conditions import Constant
from torchdev_lint.flow.syntax.trees import walk


def counter_of(frame: Frame, loop: cst.For) -> Counter | None:
    """The number that a loop counts with; None where it does not count, or its body changes the number."""
    target: cst.BaseExpression = loop.target
    iterable = loop.iter
    if not isinstance(iterable, cst.Call) or not isinstance(iterable.func, cst.Name):
        return None
    first: str | None = None
    descending = False
    match iterable.func.value, iterable.args:
        case "enumerate", [_] if isinstance(target, cst.Tuple):
            target, first = target.elements[0].value, "0"
        case "range", [_]:
            first = "0"
        case "range", [cst.Arg(value=start), _]:
            first = _text(frame, start)
        case "range", [cst.Arg(value=start), _, cst.Arg(value=cst.UnaryOperation(operator=cst.Minus()))]:
            first, descending = _text(frame, start), True
        case "reversed", [cst.Arg(value=cst.Call(func=cst.Name(value="range"), args=[cst.Arg(value=end)]))]:
            first, descending = _text(frame, end) + "-1", True
        case _:
            pass
    if first is None or not isinstance(target, cst.Name) or _is_changed(frame, loop, target.value):
        return None
    return Counter(target.value, first, descending)


_BINDING = frozenset({cst.AssignTarget, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor})


def _is_changed(frame: Frame, loop: cst.For, name: str) -> bool:
    key = ("counter changed", id(loop), name)
    known = frame.analysis.notes.get(key)
    if known is None:
        stored_in = (cst.Subscript, cst.Attribute)
        targets = [node.target for node in walk(loop.body) if type(node) in _BINDING]  # type: ignore[attr-defined]
        known = any(
            isinstance(part, cst.Name) and part.value == name
            for target in targets
            for part in walk(target, below=stored_in)
        )
        frame.analysis.notes[key] = known
    return bool(known)


def settled(frame: Frame, node: cst.Comparison) -> Constant | None:
    """What a comparison of a loop's number with its first value says in this turn; None for any other comparison."""
    if not isinstance(node.left, cst.Name) or len(node.comparisons) != 1:
        return None
    name, (compared,) = node.left.value, node.comparisons
    for loop in reversed(frame.loops):
        counter = loop.counter
        if counter is None or counter.name != name:
            continue
        if _text(frame, compared.comparator) != counter.first:
            return None
        match compared.operator:
            case cst.Equal():
                return Constant(loop.turn == 0)
            case cst.NotEqual():
                return Constant(loop.turn > 0)
            case cst.GreaterThan() if not counter.descending:
                return Constant(loop.turn > 0)
            case cst.LessThan() if counter.descending:
                return Constant(loop.turn > 0)
            case _:
                return None
    return None


def _text(frame: Frame, node: cst.BaseExpression) -> str:
    return frame.analysis.text(node).replace(" ", "")
