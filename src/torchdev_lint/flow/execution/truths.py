"""Reading expressions as conditions: availability, device types, flags, identity with None, isinstance."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import (
    FALSE,
    TRUE,
    Atom,
    Constant,
    Formula,
    Key,
    conjunction,
    disjunction,
    negate,
)
from torchdev_lint.flow.domain.lattice import (
    OUTGROWN,
    Accelerator,
    Choice,
    Cpu,
    Device,
    Leaf,
    Level,
    Symbol,
    conflict,
    leaves,
)
from torchdev_lint.flow.domain.values import (
    ASKED,
    AnyOf,
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Dtype,
    Either,
    Entries,
    Function,
    Generator,
    Import,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Truth,
    Unknown,
    Value,
    alternatives,
)
from torchdev_lint.flow.instances import dict_classes
from torchdev_lint.flow.mistakes import device_indices
from torchdev_lint.flow.syntax.trees import all_parameters, last_name
from torchdev_lint.flow.torch_calls.device_values import as_device, literal_device
from torchdev_lint.torch_api.devices import AVAILABILITY_NAME, parse


def opaque(frame: Frame, node: cst.CSTNode, value: Value | None = None) -> Formula:
    """A condition that is only known by its identity: a flag object, or this very evaluation."""
    if isinstance(value, Object):
        return Atom("opaque", ("truth", value.key), value.text or _asked_of_library(node))
    return Atom("opaque", ("node", id(node), frame.uid, frame.salt), _wanted(frame, node), node)


def _asked_of_library(node: cst.CSTNode) -> str:
    """`xpu_available` for `ipex.xpu.is_available()`: what such a condition is called otherwise; empty for any other."""
    match node:
        case cst.Call(func=cst.Attribute(value=library, attr=cst.Name(value="is_available"))):
            return f"{last_name(library)}_available"
        case _:
            return ""


def _wanted(frame: Frame, node: cst.CSTNode) -> str:
    """The text of a condition that holds when something is there: `gpus`, `len(gpus) > 0`; empty for any other."""
    if type(node) is cst.Comparison:
        assert isinstance(node, cst.Comparison)
        asks = len(node.comparisons) == 1 and type(node.comparisons[0].operator) in _MORE
        return frame.analysis.text(node) if asks else ""
    return node.value if isinstance(node, cst.Name) else ""


_MORE = frozenset((cst.GreaterThan, cst.GreaterThanEqual, cst.NotEqual))


def truth_of(frame: Frame, node: cst.CSTNode, value: Value) -> Formula:
    """The condition under which a value counts as true."""
    match value:
        case Truth(formula=formula):
            return formula
        case Object(key=("device-count", kind), text=text):
            return Atom("count", (kind, 0), text)
        case Literal(value=constant):
            return Constant(bool(constant))
        case Api(path=path) if (
            told := AVAILABILITY_NAME.search(path.rpartition(".")[2])
        ) and path.rpartition(".")[2].isupper():
            return Atom("available", (told[1].lower(),), path)
        case Api(path="typing.TYPE_CHECKING") if frame.function is not None:
            return FALSE  # at the top of a file it imports what names stand for: they are found in other ways there
        case Function() | Class() | Import() | Api() | DeviceValue() | Dtype() | Generator():
            return TRUE
        case Items(items):
            return Constant(bool(items))
        case Either(guard, then, otherwise):
            return disjunction(
                conjunction(guard, truth_of(frame, node, then)),
                conjunction(negate(guard), truth_of(frame, node, otherwise)),
            )
        case Object() if frame.state(value).kind == "module" or _is_plain_instance(frame.state(value)):
            return TRUE
        case _:
            return opaque(frame, node, value)


def _is_plain_instance(state: State) -> bool:
    """Whether a thing is an instance of a class of the project that does not say when it counts as true."""
    model = state.model
    return (
        state.kind == "instance"
        and model is not None
        and not model.has_unseen_base()
        and not model.is_tuple
        and model.find("__bool__") is None
        and model.find("__len__") is None
    )


def condition(frame: Frame, node: cst.BaseExpression) -> Formula:
    """The condition that an expression tests."""
    device_indices.check_test(frame, node)  # first: of `not index`, the whole is to be written anew
    if type(node) is cst.Comparison:
        frame.analysis.notes[ASKED, id(node)] = True
    value = frame.evaluate(node)
    return truth_of(frame, node, value)


def _type_of(frame: Frame, device: Device, kind: str) -> Formula | None:
    """The condition that a device is of a type."""
    match device:
        case Cpu():
            return Constant(kind == "cpu")
        case Accelerator(type=type_):
            return Constant(kind == type_)
        case Symbol(key=key, text=text):
            return Atom("device-type", (key, kind), text)
        case Choice(guard, then, otherwise):
            left, right = _type_of(frame, then, kind), _type_of(frame, otherwise, kind)
            if left is None or right is None:
                return None
            return disjunction(conjunction(guard, left), conjunction(negate(guard), right))
        case _:
            return None


def device_is(frame: Frame, device: Device, kind: str) -> Formula | None:
    """The condition of `device.type == kind` (`cuda`, `cpu`, ...); None when nothing is known of the device."""
    return _type_of(frame, device, kind)


_TENSOR_TYPE = re.compile(r"torch\.(cuda\.)?[A-Z]\w*Tensor\Z")
"""What `x.type()` says of a tensor: its type, and where it is (https://pytorch.org/docs/stable/tensors.html#data-types)."""


def tensor_type_is(frame: Frame, node: cst.Comparison) -> Formula | None:
    """The condition of `x.type() == "torch.cuda.LongTensor"`; None for any other comparison."""
    match node:
        case cst.Comparison(
            left=cst.Call(func=cst.Attribute(value=asked, attr=cst.Name(value="type")), args=[]),
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.Equal() | cst.NotEqual() as operator, comparator=cst.SimpleString() as named
                )
            ],
        ):
            told = _TENSOR_TYPE.match(str(named.evaluated_value))
            value = frame.evaluate(asked)
        case _:
            return None
    there = None if told is None else _is_there(frame, value, "cuda" if told[1] else "cpu")
    if there is None:
        return None
    equal = conjunction(there, opaque(frame, node))
    return equal if isinstance(operator, cst.Equal) else negate(equal)


def _is_there(frame: Frame, thing: Value | Device, kind: str) -> Formula | None:
    """The condition that a tensor is on a device of a type, as far as it is known where it is; None where that is nowhere."""
    match thing:
        case Tensor(device=device):
            return _is_there(frame, device, kind)
        case Object():
            return device_is(frame, as_device(thing), kind)
        case Either(guard, then, otherwise) | Choice(guard, then, otherwise):
            ways = _is_there(frame, then, kind), _is_there(frame, otherwise, kind)
            if ways == (None, None):
                return None
            return disjunction(
                conjunction(guard, ways[0] or TRUE), conjunction(negate(guard), ways[1] or TRUE)
            )
        case Cpu() | Accelerator() | Symbol():
            return device_is(frame, thing, kind)
        case _:
            return None


def equal_devices(frame: Frame, node: cst.CSTNode, left: Device, right: Device) -> Formula:
    """The condition of `left == right` for devices."""
    if left == right and isinstance(left, (Cpu, Symbol)):
        return TRUE
    for one, other in ((left, right), (right, left)):
        if isinstance(other, (Cpu, Accelerator)) and (isinstance(other, Cpu) or other.index is None):
            typed = _type_of(frame, one, other.type if isinstance(other, Accelerator) else "cpu")
            if typed is not None:
                return typed
    found = conflict(left, right, frame.env.path)
    if (
        found is not None
        and found.level == Level.CERTAIN
        and not isinstance(left, Choice)
        and not isinstance(right, Choice)
    ):
        return FALSE
    return opaque(frame, node)


def _equal_types(frame: Frame, node: cst.CSTNode, left: Device, right: Device) -> Formula:
    """The condition of `left.type == right.type`."""
    if left == right:
        return TRUE
    for one, other in ((left, right), (right, left)):
        kinds = [_kind_of(leaf) for leaf in leaves(one)]
        ways = [
            (_type_of(frame, one, kind), _type_of(frame, other, kind))
            for kind in dict.fromkeys(kinds)
            if kind is not None
        ]
        if None not in kinds and all(None not in way for way in ways):
            equal: Formula = FALSE
            for here, there in ways:
                assert here is not None
                assert there is not None
                equal = disjunction(equal, conjunction(here, there))
            return equal
    return opaque(frame, node)


def _kind_of(leaf: Leaf) -> str | None:
    match leaf:
        case Cpu():
            return "cpu"
        case Accelerator(type=kind):
            return kind
        case _:
            return None


def equality(frame: Frame, node: cst.CSTNode, left: Value, right: Value) -> Formula:
    """The condition of `left == right`."""
    if any(isinstance(one, Literal) and one.value is None for one in (left, right)):
        return identity(frame, node, left, right)  # nothing else equals None
    for one, other in ((left, right), (right, left)):
        match one, other:
            case (Truth(), Literal(value=str())):
                return FALSE  # `torch.cuda.is_available() == "cpu"`
            case (
                Api(path="builtins.type" | "builtins.id" | "builtins.input" | "builtins.filter"),
                Literal(value=str()),
            ):
                return FALSE  # the builtin, where an argument of another name was meant: `if type == "laplacian":`
            case (DeviceValue(device=device, is_index=True), Literal(value=-1)):
                found = device_is(frame, device, "cpu")
                return opaque(frame, node) if found is None else found
            case (DeviceType(device=device), Literal(value=str(kind))):
                found = device_is(frame, device, kind)
                if found is not None:
                    return found
                if kind in _TYPES:  # of a device of which nothing is known, but that this holds for it
                    return Atom("device-type", (("node", id(node), frame.uid, frame.salt), kind))
            case (DeviceValue(device=device), Literal(value=str(text))) if parse(text) is None and all(
                isinstance(leaf, (Cpu, Accelerator)) for leaf in leaves(device)
            ):
                return FALSE  # "auto" and its like are no device's name
            case (DeviceValue(is_object=True), Literal(value=str())):
                # never true (torch/csrc/Device.cpp, `THPDevice_rc`), which TDV012 says: nothing is built on what was meant
                return opaque(frame, node)
            case (DeviceValue(device=device), Literal(value=str(text))):
                return equal_devices(frame, node, device, literal_device(text))
            case (Object(key=("attr", ("type", key), "__name__"), text=text), Literal(value=str(name))) if (
                name in _CLASSES
            ):
                return is_instance(frame, node, Object(key, text), Api(_CLASSES[name]))
            case (Object(key=("type", key), text=text), Api()):
                return is_instance(frame, node, Object(key, text), other)
            case (Object(text=text), Literal(value=str(kind))) if kind.partition(":")[0] in _TYPES:
                return Atom("device-type", (as_key(one), kind.partition(":")[0]), text)
            case (Object(key=("device-count", counted)), Literal(value=int(number))):
                more = Atom("count", (counted, number), one.text)
                return (
                    conjunction(Atom("count", (counted, number - 1), one.text), negate(more))
                    if number
                    else negate(more)
                )
            case (Unknown(), Literal(value=str(kind))) if kind.partition(":")[0] in _TYPES:
                here = ("node", id(node), frame.uid, frame.salt)
                return Atom("device-type", (here, kind.partition(":")[0]), frame.analysis.text(node))
            case (Object(), Literal(value=-1)):
                return negate(_is_given(one))
            case (Object(), Literal(value=constant)):
                return Atom("opaque", ("equal", one.key, repr(constant)), f"{one.text} == {constant!r}")
            case _:
                pass
    match left, right:
        case Either(guard, then, otherwise), Literal() | Api() | Object(key=("member", *_)) | DeviceValue():
            return disjunction(
                conjunction(guard, equality(frame, node, then, right)),
                conjunction(negate(guard), equality(frame, node, otherwise, right)),
            )
        case Api(path=one_path), Api(path=other_path):
            return _same_import(frame, node, one_path, other_path)
        case DeviceType(), DeviceType():
            return _equal_types(frame, node, left.device, right.device)
        case DeviceValue(), (DeviceValue() | Object()):
            return equal_devices(frame, node, left.device, as_device(right))
        case Object(), DeviceValue():
            return equal_devices(frame, node, as_device(left), right.device)
        case DeviceValue(), Either():
            return equality(frame, node, right, left)
        case Literal(value=a), Literal(value=b):
            return Constant(a == b)
        case Object(), Object():
            if left == right or left.key[0] == right.key[0] == "member":
                return Constant(left == right)
            return Atom("opaque", ("equal", left.key, right.key))
        case _:
            return opaque(frame, node)


def _same_import(frame: Frame, node: cst.CSTNode, one: str, other: str) -> Formula:
    """`backend == np`: one library is not another, but one library may have two names for a thing."""
    if one == other:
        return TRUE
    return FALSE if one.partition(".")[0] != other.partition(".")[0] else opaque(frame, node)


def _is_given(value: Object) -> Formula:
    """The condition that an index is one: not negative (`args.gpu >= 0`, `gpu != -1`)."""
    return Atom("opaque", ("given", value.key), value.text)


def compare_numbers(
    frame: Frame, node: cst.CSTNode, operator: cst.BaseCompOp, left: Value, right: Value
) -> Formula:
    """The condition of `left < right` and its like, where both are numbers that a condition chooses."""
    match left, right:
        case DeviceValue(device=device, is_index=True), Literal(value=int(bound)) if bound in _OF_NO_DEVICE:
            on_host = device_is(frame, device, "cpu")
            if on_host is None or type(operator) not in _OF_NO_DEVICE[bound]:
                return opaque(frame, node)
            return on_host if _OF_NO_DEVICE[bound][type(operator)] else negate(on_host)
        case Either(guard, then, otherwise), _:
            return disjunction(
                conjunction(guard, compare_numbers(frame, node, operator, then, right)),
                conjunction(negate(guard), compare_numbers(frame, node, operator, otherwise, right)),
            )
        case Object(key=("device-count", kind)), Literal(value=int(count)) if type(operator) in _MIRRORED:
            return _counted(operator, kind, count, left.text)
        case Object(), Literal(value=0) if isinstance(operator, (cst.LessThan, cst.GreaterThanEqual)):
            return _is_given(left) if isinstance(operator, cst.GreaterThanEqual) else negate(_is_given(left))
        case Object(), Literal(value=-1) if isinstance(operator, (cst.LessThanEqual, cst.GreaterThan)):
            return _is_given(left) if isinstance(operator, cst.GreaterThan) else negate(_is_given(left))
        case Literal(value=int() | float() as a), Literal(value=int() | float() as b):
            holds = {
                cst.LessThan: a < b,
                cst.LessThanEqual: a <= b,
                cst.GreaterThan: a > b,
                cst.GreaterThanEqual: a >= b,
            }.get(type(operator))
            return opaque(frame, node) if holds is None else Constant(holds)
        case Object(), Literal(value=int() | float() as bound):
            # the same thing compared with the same number is one condition wherever it is asked
            kept = (OUTGROWN,) if bound > 1 and _asks_for_more(node) else ()
            more = Atom("opaque", ("more", left.key, bound, *kept), f"{left.text} > {bound}", node)
            least = Atom("opaque", ("least", left.key, bound), f"{left.text} >= {bound}", node)
            compared: dict[type[cst.BaseCompOp], Formula] = {
                cst.GreaterThan: more,
                cst.LessThanEqual: negate(more),
                cst.GreaterThanEqual: least,
                cst.LessThan: negate(least),
            }
            return compared.get(type(operator)) or opaque(frame, node)
        case Literal(), Object() if type(operator) in _MIRRORED:
            return compare_numbers(frame, node, _MIRRORED[type(operator)](), right, left)
        case _, Literal(value=int(bound)) if bound > 1 and _asks_for_more(node):
            key = "node", id(node), frame.uid, frame.salt, OUTGROWN
            return Atom("opaque", key, _wanted(frame, node), node)
        case _:
            return opaque(frame, node)


def _asks_for_more(node: cst.CSTNode) -> bool:
    """`seq_len > self.cached_length`: whether what a class keeps is too small."""
    match node:
        case cst.Comparison(
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.GreaterThan(),
                    comparator=cst.Attribute(value=cst.Name(value="self")),
                )
            ]
        ):
            return True
        case _:
            return False


def _counted(operator: cst.BaseCompOp, kind: str, count: int, text: str) -> Formula:
    """The condition of comparing `torch.cuda.device_count()` with a number."""
    inclusive = isinstance(operator, (cst.GreaterThanEqual, cst.LessThan))
    more = Atom("count", (kind, count - 1 if inclusive else count), text)
    return more if isinstance(operator, (cst.GreaterThan, cst.GreaterThanEqual)) else negate(more)


_OF_NO_DEVICE: dict[int, dict[type[cst.BaseCompOp], bool]] = {
    0: {cst.LessThan: True, cst.GreaterThanEqual: False},
    -1: {cst.LessThanEqual: True, cst.GreaterThan: False},
}
"""What compares `x.get_device()`, which is -1 on the CPU, with these numbers: whether it holds there."""

_MIRRORED: dict[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.LessThan: cst.GreaterThan,
    cst.LessThanEqual: cst.GreaterThanEqual,
    cst.GreaterThan: cst.LessThan,
    cst.GreaterThanEqual: cst.LessThanEqual,
}


def as_key(value: Object) -> Any:
    """The identity of the device that an object is."""
    device = as_device(value)
    return device.key if isinstance(device, Symbol) else value.key


def identity(frame: Frame, node: cst.CSTNode, left: Value, right: Value) -> Formula:
    """The condition of `left is right`; only comparisons with None are looked into."""
    if isinstance(left, Literal) and left.value is None:
        left, right = right, left
    if isinstance(right, Literal) and isinstance(right.value, bool) and isinstance(left, Truth):
        return left.formula if right.value else negate(left.formula)
    if is_bare_object(frame, left):
        left, right = right, left
    if is_bare_object(frame, right):
        return _is_that_object(frame, node, left, right)
    if not (isinstance(right, Literal) and right.value is None):
        comparable = isinstance(right, (Literal, Api)) or _is_member(right)
        return equality(frame, node, left, right) if comparable else opaque(frame, node)
    match left:
        case Literal(value=value):
            return Constant(value is None)
        case Object(key=("call", made_by, *_)) if made_by in frame.analysis.instances:
            return FALSE  # `torch.cuda.Stream()`
        case Object(key=key, text=text) if frame.state(left).kind == "unknown" and key[0] != "made":
            if key[0] == "parameter" and not _NO_TENSOR.search(text):
                # whoever calls the function may leave it out: that has nothing to do with where the others are
                return Atom("absent", key, f"{text} is None")
            return Atom("opaque", ("none", key), f"{text} is None")
        case Either() if any(isinstance(one, Api) and one.path == "torch" for one in alternatives(left)):
            return FALSE  # `except ImportError: torch = None`: without it there is nothing to go wrong
        case Either(guard, then, otherwise):
            return disjunction(
                conjunction(guard, identity(frame, node, then, right)),
                conjunction(negate(guard), identity(frame, node, otherwise, right)),
            )
        case (
            Tensor()
            | Generator()
            | Items()
            | Many()
            | Entries()
            | Function()
            | Class()
            | Api()
            | Import()
            | Object()
            | DeviceValue()
            | Dtype()
            | Truth()
        ):
            return FALSE
        case _:
            return opaque(frame, node)


BARE = "builtins.object"


def is_bare_object(frame: Frame, value: Value) -> bool:
    """Whether a value is an `object()`, of which nothing can be said but that it is itself: it marks an end, or what is missing."""
    return isinstance(value, Object) and value.key[0] == "made" and frame.state(value).api == BARE


def _is_that_object(frame: Frame, node: cst.CSTNode, value: Value, marker: Value) -> Formula:
    match value:
        case Tensor() | Items() | Many() | Entries() | Literal() | DeviceValue() | Function() | Class():
            return FALSE
        case Object() if value == marker or frame.state(value).kind == "module":
            return Constant(value == marker)
        case Either(guard, then, otherwise):
            return disjunction(
                conjunction(guard, _is_that_object(frame, node, then, marker)),
                conjunction(negate(guard), _is_that_object(frame, node, otherwise, marker)),
            )
        case _:
            return opaque(frame, node)


def _is_member(value: Value) -> bool:
    """Whether a value is a member of an enumeration, of which there is one only."""
    return isinstance(value, Object) and value.key[0] == "member"


_NO_TENSOR = re.compile(r"(?i)device|dtype|generator|rng|cuda|gpu|rank|group")
"""Parameters that decide where other things are, or are no tensors in any case."""

_TYPES = frozenset({"cpu", "cuda", "mps", "xpu"})
_CONTAINERS = {
    "builtins.list",
    "builtins.tuple",
    "builtins.dict",
    "collections.abc.Mapping",
    "collections.Mapping",
}


_SEQUENCES = frozenset(
    f"{module}.{name}"
    for module in ("collections.abc", "collections", "typing")
    for name in ("Sequence", "Iterable", "Collection", "Sized", "Container", "Reversible")
)
"""Abstract classes that lists and tuples are instances of."""

_OF_GPUS = re.compile(r"torch\.cuda\.\w*Tensor")
"""Types of tensors on a GPU, of whatever dtype: `isinstance(x, torch.cuda.FloatTensor)` (torch/csrc/tensor/python_tensor.cpp)."""

_ON_HOST = frozenset({"PIL", "cv2", "numbers", "numpy", "pandas", "scipy", "sklearn"})
"""Modules none of whose things is ever on a device."""

_NO_TENSORS = _ON_HOST | {"builtins"}
"""Modules none of whose classes derives from `torch.Tensor`."""


_CLASSES = {"Tensor": "torch.Tensor", "ndarray": "numpy.ndarray", "list": "builtins.list"}
"""What `type(x).__name__` is compared with."""


def _has_no_tensors(path: str) -> bool:
    return path in _CONTAINERS or path.partition(".")[0] in _NO_TENSORS


def is_instance(frame: Frame, node: cst.CSTNode, value: Value, classes: Value) -> Formula:
    """The condition of `isinstance(value, classes)`."""
    asked = classes.items if isinstance(classes, Items) else (classes,)
    if isinstance(value, (Tensor, Items, Many, Entries, Literal)) and not _may_be_more(value):
        asked = tuple(one for one in asked if not _is_plain_class(one))
        if not asked:
            return FALSE
    if isinstance(value, Object) and _is_read_module(frame, value):
        settled = _is_module_of(frame, value, asked)
        if settled is not None:
            return Constant(settled)
    if isinstance(value, (Object, AnyOf)):
        things = value.things if isinstance(value, AnyOf) else (value,)
        answers = {_is_instance_of(frame, thing, asked) for thing in things}
        if len(answers) == 1 and (whether := answers.pop()) is not None:
            return Constant(whether)
    paths = [one.path for item in asked for one in alternatives(item) if isinstance(one, Api)]
    if not paths:
        return opaque(frame, node)
    if all(path.partition(".")[0] in _ON_HOST for path in paths) and _was_put_somewhere(frame, value):
        return FALSE  # arrays and numbers have no `to`
    together = _arrays_together(frame, node, value) if paths == ["numpy.ndarray"] else None
    if isinstance(value, Either):
        found = disjunction(
            conjunction(value.guard, is_instance(frame, node, value.then, classes)),
            conjunction(negate(value.guard), is_instance(frame, node, value.otherwise, classes)),
        )
        if together is not None:
            frame.env.assume(disjunction(negate(together), found))
        return found
    if together is not None:
        return together
    tensor = any(path in ("torch.Tensor", "torch.FloatTensor", "torch.LongTensor") for path in paths)
    on_gpu = all(map(_OF_GPUS.fullmatch, paths))
    match value:
        case Tensor() if on_gpu:
            return device_is(frame, value.device, "cuda") or opaque(frame, node)
        case Object() if on_gpu and frame.state(value).kind == "unknown":
            return device_is(frame, as_device(value), "cuda") or opaque(frame, node)
        case DeviceValue(is_object=True):
            return Constant("torch.device" in paths)
        case Generator():
            return Constant("torch.Generator" in paths)
        case Tensor(mapping=False, batch=False):
            return Constant(tensor) if tensor or all(map(_has_no_tensors, paths)) else opaque(frame, node)
        case Items(kind=str(kind)) | Many(kind=str(kind)) if kind:
            return Constant(any(path == f"builtins.{kind}" or path in _SEQUENCES for path in paths))
        case Items() | Many():
            return Constant(
                any(path in ("builtins.list", "builtins.tuple") or path in _SEQUENCES for path in paths)
            )
        case Entries():
            return Constant(any("dict" in path or "Mapping" in path for path in paths))
        case Literal(value=constant):
            return Constant(any(path == f"builtins.{type(constant).__name__}" for path in paths))
        case Object() if _is_read_module(frame, value) and set(paths) <= _CONTAINERS | _MODULES | {
            "numpy.ndarray"
        }:
            return Constant(not _MODULES.isdisjoint(paths))
        case Object(key=key) if set(paths) == {"torch.Tensor"} and is_of_array(frame, key):
            return FALSE
        case Object(key=key, text=text):
            return Atom("opaque", ("isinstance", key, tuple(sorted(paths))), f"isinstance({text}, ...)")
        case _:
            this = ("node", id(node), frame.uid, frame.salt)
            return Atom("opaque", ("isinstance", this, tuple(sorted(paths))), "", node)


def _may_be_more(value: Value) -> bool:
    """Whether a tensor may be something else, a batch or what a library's function gave."""
    return isinstance(value, Tensor) and (value.mapping or value.batch or value.guess)


def _is_plain_class(asked: Value) -> bool:
    """Whether a class of the project has instances only that it, or one that derives from it, was called for: tensors, lists are none."""
    match asked:
        case Class(model=model):
            return not model.has_unseen_base() and not any(
                path.startswith(("abc.", "typing.", "typing_extensions.")) for path in model.imported_bases()
            )
        case _:
            return False


def _was_put_somewhere(frame: Frame, value: Value) -> bool:
    """Whether it is something unknown that the program has put on a device (`x = x.to(device)`), or that a model gave out there."""
    if isinstance(value, Tensor):
        return value.guess and any(isinstance(leaf, Accelerator) for leaf in leaves(value.device))
    if not isinstance(value, Object):
        return False
    state = frame.state(value)
    return state.kind == "unknown" and (
        value.key[0] == "moved" or isinstance(state.device, (Accelerator, Choice))
    )


def is_of_array(frame: Frame, key: Key) -> bool:
    """Whether it is an array of numbers that a call of NumPy's made, or something taken from one."""
    while key[0] in ("attr", "item"):
        key = key[1]
    return key[0] == "call" and key[1] in frame.analysis.arrays


def _arrays_together(frame: Frame, node: cst.CSTNode, value: Value) -> Formula | None:
    """The condition that an argument of the function is an array; one for all of them: a caller hands over arrays or tensors, not both.

    None for what is no argument as it was given, or of which it is known what it is.
    """
    if (
        frame.function is None
        or not isinstance(node, cst.Call)
        or not isinstance(node.args[0].value, cst.Name)
    ):
        return None
    name = node.args[0].value.value
    parameters = frame.function.node.params
    given = all_parameters(parameters)
    if all(parameter.name.value != name for parameter in given):
        return None
    for one in alternatives(value):
        if not isinstance(one, (Unknown, Object, Tensor)) or (
            isinstance(one, Object) and frame.state(one).kind != "unknown"
        ):
            return None
    if all(isinstance(one, Tensor) for one in alternatives(value)):
        return None
    return Atom("opaque", ("arrays", frame.uid, frame.salt), "the arguments are arrays")


_NOT_DERIVED_FROM = (_CONTAINERS - {"builtins.tuple"}) | {
    "numpy.ndarray",
    "torch.Tensor",
    "torch.nn.Module",
    *(f"builtins.{name}" for name in ("str", "bytes", "int", "float", "bool", "set", "frozenset")),
}
"""Classes that an instance is of only if its class derives from them."""


_OF_DICTS = {"builtins.dict", "typing.Dict"} | {
    f"{module}.{name}Mapping"
    for module in ("collections", "collections.abc", "typing")
    for name in ("", "Mutable")
}
"""What every dict is an instance of (https://docs.python.org/3/library/collections.abc.html)."""


def _is_instance_of(frame: Frame, thing: Object, asked: tuple[Value, ...]) -> bool | None:
    """Whether what the program made of a class that it defines itself is of one of the classes; None where it is not known."""
    state, model = frame.state(thing), frame.state(thing).model
    if (
        state.kind != "instance"
        or thing.key[0] != "made"
        or model is None
        or model.has_unseen_base(dict_classes.DICTS)
    ):
        return None
    is_dict = not dict_classes.DICTS.isdisjoint(model.imported_bases())
    answers: list[bool | None] = []
    for one in asked:
        match one:
            case Class(model=other) if other in model.lineage():
                answers.append(True)
            case Class(model=other):
                # of an abstract class it may be by its methods, or because it is registered
                abstract = other.has_unseen_base() or "abc.ABC" in other.imported_bases()
                answers.append(None if abstract else False)
            case Api(path="builtins.tuple" | "collections.abc.Sequence" | "typing.Sequence"):
                answers.append(model.is_tuple)
            case Api(path=path) if is_dict and path in _OF_DICTS:
                answers.append(True)
            case Api(path=path) if path in _NOT_DERIVED_FROM:
                answers.append(False)
            case _:
                answers.append(None)
    return True if True in answers else None if None in answers else False


_MODULES = frozenset(("torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module"))


_DERIVED = {
    "Hardtanh": {"ReLU6"},
    "RNNBase": {"RNN", "GRU", "LSTM"},
    "RNNCellBase": {"RNNCell", "GRUCell", "LSTMCell"},
    "NLLLoss": {"NLLLoss2d"},
    "Upsample": {"UpsamplingBilinear2d", "UpsamplingNearest2d"},
    **{f"ConstantPad{n}d": {f"ZeroPad{n}d"} for n in (1, 2, 3)},
}
"""Public classes of `torch.nn` that others of its public classes derive from (torch/nn/modules/*.py), the lazy ones apart."""


def _is_module_of(frame: Frame, thing: Object, asked: tuple[Value, ...]) -> bool | None:
    """Whether a module is of one of the classes; None where it is not known."""
    state = frame.state(thing)
    models = [] if state.model is None else state.model.lineage()
    bases = {state.api} if state.model is None else set(state.model.imported_bases())
    names = {base.rpartition(".")[2] for base in bases}
    answers: list[bool | None] = []
    for one in asked:
        match one:
            case Class(model=model):
                unseen = (
                    state.model is not None and state.model.has_unseen_base() and not _all_of_torch(bases)
                )
                answers.append(True if model in models else None if unseen else False)
            case Api(path=path) if path in _MODULES:
                answers.append(True)
            case Api(path=path) if path.startswith("torch.nn.") and _all_of_torch(bases):
                name = path.rpartition(".")[2]
                unsure = name.startswith("_") or not _all_public(bases)
                derives = name in names or not _DERIVED.get(name, set()).isdisjoint(names)
                answers.append(True if derives else None if unsure and names != {"Module"} else False)
            case _:
                answers.append(None)
    return True if True in answers else None if None in answers else False


def _all_of_torch(paths: set[str]) -> bool:
    return all(path.startswith("torch.nn.") for path in paths)


def _all_public(paths: set[str]) -> bool:
    """Whether each is a public class of `torch.nn`, of which one knows what it derives from: no lazy one, none that stands for any."""
    names = {path.removeprefix("torch.nn.") for path in paths}
    return bool(names) and not any(
        "." in name or name.startswith(("_", "Lazy")) or name == "AnyModule" for name in names
    )


def _is_read_module(frame: Frame, thing: Object) -> bool:
    """Whether a thing is a module of PyTorch or of the file, and so is no container that it could be taken for."""
    state = frame.state(thing)
    if state.kind != "module":
        return False
    return state.api.startswith("torch.nn.") if state.model is None else state.model.is_module
