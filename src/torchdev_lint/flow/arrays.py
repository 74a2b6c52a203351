"""Arrays of NumPy's that the program has just made: that they are arrays, and how many dimensions they have at least.

An array is no tensor, and what `torch.tensor` makes of one with dimensions is no number.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow import truths
from torchdev_lint.flow.callsites import CallSite
from torchdev_lint.flow.conditions import Key
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.values import UNKNOWN, Api, Items, Literal, Many, Object, Value
from torchdev_lint.torch_api import factories

_DIMENSIONS = "array dimensions"


def note(frame: Frame, path: str, site: CallSite) -> None:
    """Remember a call that makes a NumPy array of numbers; with `dtype=object` one holds whatever it is given."""
    module, _, name = path.rpartition(".")
    written = _written_dimensions(site) if path in ("numpy.array", "numpy.asarray") else 0
    if module not in ("numpy", "numpy.random") or (name not in factories.OF_ARRAYS and not written):
        if module == "numpy" and name in ("array", "asarray", "stack", "concatenate") and _is_of_list(site):
            frame.analysis.notes[_DIMENSIONS, id(site.node)] = 1
        if module == "numpy" and _is_of_arrays(frame, site):
            frame.analysis.arrays.add(id(site.node))  # `np.sin(angles)`: an array, or a number
        return
    dtype = site.keyword("dtype")
    if dtype is None or (isinstance(dtype.value, Api) and "object" not in dtype.value.path):
        frame.analysis.arrays.add(id(site.node))
        frame.analysis.notes[_DIMENSIONS, id(site.node)] = written or _told_dimensions(name, site)


def _is_of_list(site: CallSite) -> bool:
    """Whether an array is made of a list, of whatever: it has a dimension for its items."""
    first = site.get(0, "object")
    return first is not None and isinstance(first.value, (Items, Many))


def dimensions(frame: Frame, value: Value) -> int:
    """How many dimensions a NumPy array has at least that the program has just made, or what is taken from one."""
    return _of_key(frame, value.key) if isinstance(value, Object) else 0


def _of_key(frame: Frame, key: Key) -> int:
    if key[0] == "call":
        return int(frame.analysis.notes.get((_DIMENSIONS, key[1]), 0))
    if key[0] == "item" and len(key) == 3 and isinstance(key[2], tuple) and truths.is_of_array(frame, key):
        # by an array, be it of numbers or a mask: one dimension is left
        return min(1, _of_key(frame, key[2]))
    return 0


def operated(frame: Frame, node: cst.BinaryOperation, left: Value, right: Value) -> Value:
    """What an operator makes of an array and something else that is no tensor: an array (or a tensor) of as many dimensions at least."""
    if type(node.operator) is cst.MatrixMultiply:
        return UNKNOWN
    most = max(dimensions(frame, left), dimensions(frame, right))
    if not most:
        return UNKNOWN
    frame.analysis.notes[_DIMENSIONS, id(node)] = most
    return frame.result_of(node)


def _written_dimensions(site: CallSite) -> int:
    """How many dimensions an array has that is made of numbers that are written out: `np.array([-1.0, 1.0])`."""
    given, count = site.get(0, "object"), 0
    value = None if given is None else given.value
    while isinstance(value, Items) and value.items:
        value, count = value.items[0], count + 1
    is_number = isinstance(value, Literal) and isinstance(value.value, (int, float))
    return count if is_number else 0


def _is_of_arrays(frame: Frame, site: CallSite) -> bool:
    """Whether a function is given arrays and numbers only."""
    given = [one.value for one in site.arguments]
    arrays = [one for one in given if isinstance(one, Object) and truths.is_of_array(frame, one.key)]
    return bool(arrays) and all(one in arrays or isinstance(one, Literal) for one in given)


def _told_dimensions(name: str, site: CallSite) -> int:
    """How many dimensions a new array has at least, by the sizes that are written out."""
    given = site.positional()
    if site.has_star():
        return 0
    if name in ("rand", "randn", "eye"):
        return 2 if name == "eye" else len(given)
    if name in ("arange", "linspace", "permutation"):
        return 1
    if name in ("uniform", "normal", "randint"):
        told = site.keyword("size") or (given[2] if len(given) > 2 else None)
    else:
        told = site.keyword("shape") or (
            given[0] if name in ("zeros", "ones", "empty", "full") and given else None
        )
    match told and told.value:
        case Items(items=sizes):
            return len(sizes)
        case Literal(value=int()):
            return 1
        case _:
            return 0
