"""Arrays of NumPy's, and tables of pandas', that the program makes: that they are arrays, and how many dimensions they have at least.

An array is no tensor, and what `torch.tensor` makes of one with dimensions is no number: beside an accelerator's tensor it raises.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.values import UNKNOWN, Api, Items, Literal, Many, Object, Tensor, Value
from torchdev_lint.flow.execution import truths
from torchdev_lint.torch_api import arrays as facts
from torchdev_lint.torch_api import factories

_DIMENSIONS = "array dimensions"
_SAMPLERS = "numpy's samplers"
_ESTIMATOR = "an estimator"
_MADE = "an array that NumPy made"


def dimensions(frame: Frame, value: Value) -> int:
    """How many dimensions an array has at least that the program has made, or what is taken from one; 0 where it may be a number."""
    return _of_key(frame, value.key) if isinstance(value, Object) else 0


def is_array(frame: Frame, thing: Object) -> bool:
    """Whether a thing is an array that the program has made, or comes of one."""
    return truths.is_of_array(frame, thing.key) or _of_key(frame, thing.key) > 0


def holds_items(frame: Frame, thing: Object) -> bool:
    """Whether a thing is an array that a call of NumPy's made, of numbers or of what else is on the host: it refuses other tensors."""
    made = thing.key[0] == "call" and (_MADE, thing.key[1]) in frame.analysis.notes
    return made or truths.is_of_array(frame, thing.key)


def _of_key(frame: Frame, key: Key) -> int:
    noted = frame.analysis.notes.get((_DIMENSIONS, key))
    if noted is not None:
        return int(noted)
    if not truths.is_of_array(frame, key):
        return 0
    match key:
        case ("attr", base, name) if name in facts.SAME_ATTRIBUTES:
            return _of_key(frame, base)
        case ("item", base, tuple(index)) if _of_key(frame, index):
            return min(1, _of_key(frame, base))  # by numbers or by a mask: one dimension is left
        case ("item", base, str(index)) if index.startswith("at "):
            return 0
        case ("item", base, *_):
            return max(0, _of_key(frame, base) - 1)
        case _:
            return 0


def _note(frame: Frame, node: cst.CSTNode, dims: int, *, is_array: bool = True) -> None:
    """Remember what a call or an operator here comes to."""
    frame.analysis.notes[_DIMENSIONS, frame.result_key(node)] = dims
    if is_array:
        frame.analysis.arrays.add(id(node))


def of_tensor(frame: Frame, node: cst.CSTNode, dims: int) -> Value:
    """The array that a call reads a tensor of at least so many dimensions as."""
    _note(frame, node, dims)
    return frame.result_of(node)


# -- calls


def note(frame: Frame, path: str, site: CallSite) -> None:
    """Remember what a call of an imported function makes."""
    module, _, name = path.partition(".")
    if path in facts.GENERATORS:
        frame.analysis.notes[_SAMPLERS, frame.result_key(site.node)] = True
    elif module == "numpy":
        _note_numpy(frame, name, site)
    elif path in facts.TABLES:
        _note(frame, site.node, facts.TABLES[path])
    elif path.startswith(facts.DATA_SETS):
        _note(frame, site.node, 2)
    elif path == facts.SPLITS:
        known = [dimensions(frame, one.value) for one in site.positional()]
        if known and all(known):
            _note(frame, site.node, min(known) + 1)
    elif path.startswith(facts.ESTIMATORS):
        frame.analysis.notes[_ESTIMATOR, frame.result_key(site.node)] = True


def note_method(frame: Frame, thing: Object, name: str, site: CallSite) -> None:
    """Remember what a method of an array, a sampler or an estimator gives."""
    notes = frame.analysis.notes
    if (_SAMPLERS, thing.key) in notes:
        dims = _drawn(frame, name, site)
        if dims is not None:
            _note(frame, site.node, dims)
    elif (_ESTIMATOR, thing.key) in notes and name in facts.TRANSFORMS:
        first = site.get(0, "X")
        _note(
            frame,
            site.node,
            max(facts.TRANSFORMS[name], 0 if first is None else dimensions(frame, first.value)),
        )
    elif (of_numbers := truths.is_of_array(frame, thing.key)) or dimensions(frame, thing):
        of_array = name in factories.METHODS_OF_ARRAYS or name in facts.SAME_METHODS | facts.FLAT_METHODS
        dims = _of_method(dimensions(frame, thing), name, site)
        if (of_numbers and of_array) or dims:
            _note(frame, site.node, dims, is_array=of_numbers)


def _of_method(dims: int, name: str, site: CallSite) -> int:
    if name in facts.SAME_METHODS:
        return dims
    if name in facts.FLAT_METHODS:
        return 1 if site.keyword("axis") is None else max(1, dims)
    if name == "reshape":
        sizes = site.positional()
        return 0 if site.has_star() else _told(sizes[0]) if len(sizes) == 1 else len(sizes)
    return _reduced(dims, site, site.get(0, "axis")) if name in facts.REDUCTIONS else 0


def _reduced(dims: int, site: CallSite, axis: Argument | None) -> int:
    """What is left when the items along an axis, or several, are put together."""
    keeps = site.keyword("keepdims")
    match axis and axis.value:
        case Literal(value=int()):
            lost = 1
        case Items(items=several):
            lost = len(several)
        case _:
            return 0
    if keeps is not None:
        lost = 0 if keeps.value == Literal(value=True) else lost
    return max(0, dims - lost)


def _note_numpy(frame: Frame, name: str, site: CallSite) -> None:
    """Remember a function of NumPy's that makes an array of numbers; with `dtype=object` one holds whatever it is given."""
    dtype = site.keyword("dtype")
    if dtype is not None and isinstance(dtype.value, Api) and "object" in dtype.value.path:
        return
    if name in ("array", "asarray", "stack", "concatenate", "vstack", "hstack"):
        frame.analysis.notes[_MADE, id(site.node)] = True
    given = [one.value for one in site.arguments]
    of_tensors = any(isinstance(one, Tensor) for one in given)
    held = [_dimensions_of_given(frame, one.value) for one in site.positional()]
    drawn = _drawn(frame, name.removeprefix("random."), site) if name.startswith("random.") else None
    dims = facts.AT_LEAST.get(name, 0)
    if drawn is not None:
        dims = max(dims, drawn)
    elif name == "meshgrid":
        dims = len(held) + 1
    elif (name == "where" and len(given) == 1) or (
        name == "unique" and any(str(one.keyword).startswith("return_") for one in site.arguments)
    ):
        dims = 2  # several arrays
    elif name in facts.BY_SHAPE:
        dims = _told(site.keyword("shape") or site.get(facts.BY_SHAPE[name], "shape"))
    elif name in facts.REDUCTIONS:
        dims = _reduced(held[0] if held else 0, site, site.get(1, "axis"))
    elif name in facts.REDUCES_BY:
        # each of several quantiles has a row of its own
        rows = held[1] if facts.REDUCES_BY[name] and len(held) > 1 else 0
        dims = rows + _reduced(held[0] if held else 0, site, site.get(2, "axis"))
    elif name in facts.JOINS and not of_tensors:
        # of each item there is one dimension less than of the list of them
        dims = max([dims, *(one - 1 for one in held[:1])])
    elif name in facts.ADDS_ONE and not of_tensors:
        axis = site.get(1, "axis")
        dims = max([dims, *held[:1], _needed(axis)])
    elif name == "expand_dims" and not of_tensors:
        dims = max([1, *(one + 1 for one in held[:1]), _needed(site.get(1, "axis"))])
    elif name in facts.BROADCASTING and not of_tensors:
        dims = max([dims, *held])
    elif name in facts.LIKE_FIRST and not of_tensors:
        dims = max([dims, *held[:1]])
    is_made = (
        name.removeprefix("random.") in factories.OF_ARRAYS or drawn is not None or _is_of_numbers(site, name)
    )
    _note(frame, site.node, dims, is_array=is_made or _is_of_arrays(frame, given))


def _dimensions_of_given(frame: Frame, value: Value) -> int:
    """How many dimensions an argument makes at least: a list, of whatever, has one for its items."""
    count = 0
    while (isinstance(value, Items) and value.items) or isinstance(value, Many):
        value, count = value.element if isinstance(value, Many) else value.items[0], count + 1
    return count + dimensions(frame, value)


def _needed(axis: Argument | None) -> int:
    """How many dimensions there are at least where a new one is put: behind so many others."""
    match axis and axis.value:
        case Literal(value=int(number)) if not isinstance(number, bool):
            return number + 1 if number >= 0 else -number
        case _:
            return 0


def _is_of_numbers(site: CallSite, name: str) -> bool:
    """Whether an array is made of numbers, as they are written out, or as it is told: `np.array([-1.0, 1.0])`, `dtype=np.float32`."""
    given = site.get(0, "object")
    if given is None or name not in ("array", "asarray"):
        return False
    dtype = site.get(1, "dtype")
    if dtype is not None and isinstance(dtype.value, (Api, Literal)):
        told = dtype.value.path if isinstance(dtype.value, Api) else str(dtype.value.value)
        return facts.NUMERIC.search(told) is not None
    if not isinstance(given.value, Items):
        return False
    value: Value = given.value
    while isinstance(value, Items) and value.items:
        value = value.items[0]
    return isinstance(value, Literal) and isinstance(value.value, (int, float))


def _is_of_arrays(frame: Frame, given: list[Value]) -> bool:
    """Whether a function is given arrays and numbers only, or lists of such: `np.sin(angles)` is an array, or a number."""
    while any(isinstance(one, Items) for one in given):
        given = [item for one in given for item in (one.items if isinstance(one, Items) else (one,))]
    arrays = [one for one in given if isinstance(one, Object) and truths.is_of_array(frame, one.key)]
    return bool(arrays) and all(one in arrays or isinstance(one, Literal) for one in given)


def _drawn(frame: Frame, name: str, site: CallSite) -> int | None:
    """How many dimensions a sampler gives at least; None for what is none."""
    if name in facts.BY_COUNT:
        return 0 if site.has_star() else len(site.positional())
    if name in facts.BY_SIZE:
        return _told(site.get(facts.BY_SIZE[name], "size"))
    if f"random.{name}" in facts.AT_LEAST:
        first = site.get(0, "x")
        same = (
            0
            if first is None or f"random.{name}" not in facts.LIKE_FIRST
            else _dimensions_of_given(frame, first.value)
        )
        return max(facts.AT_LEAST[f"random.{name}"], same)
    return None


def _told(shape: Argument | None) -> int:
    """How many dimensions a shape says: at least one, unless it is none, or another's, which may have none."""
    if shape is None or shape.star:
        return 0
    match shape.value:
        case Items(items=sizes):
            return len(sizes)
        case Literal(value=constant):
            return int(isinstance(constant, int))
    node = shape.node.value
    name = node.attr if isinstance(node, cst.Attribute) else node
    if isinstance(name, cst.Name):
        return int(name.value not in ("shape", "size"))
    return int(isinstance(name, (cst.BinaryOperation, cst.Call)))


# -- operators and items


def operated(frame: Frame, node: cst.BinaryOperation, left: Value, right: Value) -> Value:
    """What an operator makes of an array and something else that is no tensor: an array (or a tensor) of as many dimensions at least."""
    both = dimensions(frame, left), dimensions(frame, right)
    most = max(both)
    if type(node.operator) is cst.MatrixMultiply:
        most = sum(both) - 2 if all(both) else 0
    if most <= 0:
        return UNKNOWN
    _note(frame, node, most, is_array=_is_of_arrays(frame, [left, right]))
    return frame.result_of(node)


def compared(frame: Frame, node: cst.Comparison, left: Value, right: Value) -> Value | None:
    """A mask: `X[:, 0] > 0`; None for what is no array."""
    most = max(dimensions(frame, left), dimensions(frame, right))
    if not most or not _is_of_arrays(frame, [left, right]):
        return None
    _note(frame, node, most)
    return frame.result_of(node)


def negated(frame: Frame, node: cst.UnaryOperation, value: Value) -> Value:
    """`-x` and `~mask`."""
    dims = dimensions(frame, value)
    if not dims:
        return UNKNOWN
    _note(frame, node, dims, is_array=_is_of_arrays(frame, [value]))
    return frame.result_of(node)


def indexed(frame: Frame, whole: Value, part: Value, node: cst.CSTNode) -> Value:
    """What stands in brackets behind an array: a slice leaves a dimension, a number takes one, `None` makes one."""
    held = dimensions(frame, whole)
    if isinstance(node, cst.Subscript) and isinstance(part, Object) and held:
        for element in node.slice:
            match element.slice:
                case (
                    cst.Index(value=cst.Name(value="None"))
                    | cst.Index(value=cst.Attribute(attr=cst.Name(value="newaxis")))
                ):
                    held += 1
                case cst.Index(value=cst.Ellipsis()):
                    pass
                case cst.Index(value=cst.Tuple()):
                    return part
                case cst.Index():
                    held -= 1
        if part.key[-1:] == (f"at {id(node)}",):
            frame.analysis.notes[_DIMENSIONS, part.key] = max(0, held)
    return part


def joined(frame: Frame, api: Api, node: cst.CSTNode) -> Value:
    """`np.c_[x, y]` and the like."""
    dims = facts.AT_LEAST.get(api.path.removeprefix("numpy."), 0)
    if not dims or not api.path.startswith("numpy."):
        return UNKNOWN
    _note(frame, node, dims)
    return frame.result_of(node)
