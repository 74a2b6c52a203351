"""Functions that make tensors: on `device=`, else on the default device."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import arrays
from torchdev_lint.flow.calling.callsites import Argument, CallSite, name_given
from torchdev_lint.flow.domain.conditions import atoms
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    CPU,
    UNKNOWN_DEVICE,
    Device,
    Symbol,
    UnknownDevice,
    leaves,
)
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Api,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.execution import truths
from torchdev_lint.flow.mistakes import forwarding
from torchdev_lint.flow.read_alone.evidence import is_number_parameter
from torchdev_lint.flow.syntax.trees import all_parameters
from torchdev_lint.flow.torch_calls import device_values, generators, transfers
from torchdev_lint.flow.torch_calls.operator_calls import bound
from torchdev_lint.flow.torch_calls.tensor_values import is_scalar, moved_tensor, tensor_device
from torchdev_lint.torch_api import factories, operators


def factory(frame: Frame, path: str, site: CallSite) -> Value:
    """A new tensor: where `device=` says, else on the default device; with what is known of its shape."""
    first = site.get(0, "data")
    if path in factories.HOST_FACTORIES and site.keyword("device") is None:
        back = _back_again(frame, site)
        if back is not None and back.device == UNKNOWN_DEVICE:
            return back
        made = device_values.made_on(frame, CPU, site.node)
        if back is None:
            return Tensor(made, dims=dimensions(frame, path, site))
        return replace(back, device=made)
    converts = path in factories.CONVERTERS and site.keyword("device") is None
    if converts and first is not None and isinstance(first.value, Tensor):
        # of an argument, which is converted since it may be a list
        doubtful = isinstance(first.value.device, Symbol) and first.value.device.assumed
        return replace(first.value, device=UNKNOWN_DEVICE) if doubtful else first.value
    if converts and first is not None and (moved := moved_tensor(frame, first.value)) is not None:
        return moved
    argument = transfers.device_keyword(frame, site)
    device: Device
    if (
        path in factories.CONVERTERS
        and argument is None
        and first is not None
        and _may_be_tensor(frame, first.value)
    ):
        return Tensor(UNKNOWN_DEVICE, scalar=None)
    following = False
    if argument is not None and argument.value != NONE:
        device = device_values.as_device(argument.value)
        following = True
    elif site.has_unknown_keywords():
        device = UNKNOWN_DEVICE
    elif (out := site.keyword("out")) is not None and out.value != NONE:
        device = tensor_device(frame, out.value) or UNKNOWN_DEVICE
        following = True
    elif (given := _following(path, site)) is not None:
        device = given
    elif _stands_for_nothing(frame, path, site):
        device = UNKNOWN_DEVICE
    else:
        device = frame.default_device()
        forwarding.note_factory(frame, site)
    generators.check(frame, site, device)
    scalar = _scalar_ness(frame, path, first, site)
    made = device_values.made_on(frame, device, site.node, following=following)
    return Tensor(made, scalar=scalar, dims=0 if scalar else dimensions(frame, path, site))


def drawn(frame: Frame, thing: Object, name: str, site: CallSite) -> Value | None:
    """`SobolEngine(2).draw(64)`: rows of points on the CPU, or what they are written into; None for any other method."""
    draws = factories.HOST_ENGINES.get(frame.state(thing).api)
    if draws is None or name not in draws | factories.GIVES_ENGINE:
        return None
    if name in factories.GIVES_ENGINE:
        return thing
    out = site.get(1, "out")
    if site.has_star() or (out is not None and out.value != NONE):
        return UNKNOWN if out is None else out.value
    return Tensor(device_values.made_on(frame, CPU, site.node), scalar=False, dims=2)


def named(frame: Frame, site: CallSite) -> str | None:
    """The factory that `getattr(torch, name)` gives, or one like it: by the parts of the name that are written out (`f"{kind}_window"`),
    else by what the parameter is that holds the name when it is not given. Whatever else is named is called with the same arguments.
    """
    pattern = name_given(site, 1)
    if pattern is not None:
        if "{}" not in pattern:
            return None
        wanted = re.compile("torch\\." + r"\w+".join(map(re.escape, pattern.split("{}"))))
        return min(filter(wanted.fullmatch, factories.FACTORIES), default=None)
    held = site.positional()[1].value
    default = _default(frame, held) if isinstance(held, Object) else None
    path = f"torch.{default}"
    return path if path in factories.FACTORIES else None


def _default(frame: Frame, held: Object) -> str | None:
    """The string that a parameter of a function on the way here, or of a method of its class, is by default."""
    current: Frame | None = frame
    while current is not None:
        function = current.function
        if function is not None:
            methods = () if function.owner is None else function.owner.methods.values()
            for node in (function.node, *methods):
                if held.key[:2] == ("parameter", id(node)):
                    return _default_of(node, str(held.key[2]))
        current = current.caller
    return None


def _default_of(node: cst.FunctionDef | cst.Lambda, name: str) -> str | None:
    for parameter in all_parameters(node.params):
        if parameter.name.value == name and isinstance(parameter.default, cst.SimpleString):
            return str(parameter.default.evaluated_value)
    return None


def _back_again(frame: Frame, site: CallSite) -> Tensor | None:
    """`torch.from_numpy(x.detach().numpy())`: as `x` is, on the CPU, or this is never reached; None for anything else."""
    given = site.positional()[0].node.value if site.positional() else None
    match given:
        case cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name(value="numpy")), args=[]):
            with frame.quietly():
                value = frame.evaluate(tensor)
            device = tensor_device(frame, value)
            if device is None or any(isinstance(leaf, (UnknownDevice, Symbol)) for leaf in leaves(device)):
                return Tensor(UNKNOWN_DEVICE)
            if isinstance(value, Tensor):
                return Tensor(device, scalar=value.scalar, dims=value.dims)
        case _:
            pass
    return None


_ASKS_HOW_MANY = re.compile(r"\blen\b|\.numel\(|\.size\(|\.shape\b|\bempty\b|^not ")


_FROM_START = frozenset({"torch.arange", "torch.range", "torch.linspace", "torch.logspace", "torch.randint"})
"""Of two numbers that these are given, the first is where they begin."""


def _stands_for_nothing(frame: Frame, path: str, site: CallSite) -> bool:
    """Whether an empty tensor is made where it was asked how many there are: none, and then hardly anybody goes on to compute."""
    if not site.positional() or (path in _FROM_START and len(site.positional()) > 1):
        return False
    first = site.positional()[0].value
    if isinstance(first, Items) and first.items and path not in factories.TAKES_DATA:
        first = first.items[0]
    if first != (Items(()) if path in factories.TAKES_DATA else Literal(value=0)):
        return False
    asked = [atom for fact in frame.env.path[-3:] for atom in atoms(fact)]
    texts = [atom.text if atom.node is None else frame.analysis.text(atom.node) for atom in asked]
    return any(_ASKS_HOW_MANY.search(text) is not None for text in texts)


def _may_be_tensor(frame: Frame, value: Value) -> bool:
    """Whether the value is an attribute of something or a part of it: it stays where it is if it is a tensor.

    Or a parameter that a call gives a tensor.
    """
    match value:
        case Object(key=("attr" | "item", *_) as key):
            return not truths.is_of_array(frame, key)
        case Object(key=("parameter", *_) as key):
            return key in frame.analysis.handed_tensors
        case Either(_, then, otherwise):
            return any(isinstance(one, Tensor) or _may_be_tensor(frame, one) for one in (then, otherwise))
        case _:
            return False


def _following(path: str, site: CallSite) -> Device | None:
    """Where a tensor among the arguments is that the result follows: samplers, sparse tensors, copies of data."""
    operator = operators.operator(path)
    for parameter, argument in () if operator is None else bound(operator, site):
        if parameter.is_operand and isinstance(argument.value, Tensor):
            given = argument.value
            return UNKNOWN_DEVICE if given.guess or given.batch else given.device
    if path not in factories.RANDOM_SAMPLERS | factories.OF_PARTS:
        return None
    computed = [
        a for a in site.arguments if not isinstance(a.value, (Literal, Items)) and a.keyword != "size"
    ]
    return UNKNOWN_DEVICE if computed else None


def is_new_scalar(frame: Frame, name: str, site: CallSite) -> bool:
    """Whether `x.new_zeros(())`, `x.new_tensor(0.5)` and the like make something 0-dim."""
    path = f"torch.{name.removeprefix('new_')}"
    return name != "new" and _scalar_ness(frame, path, site.get(0, "data"), site) is True


def _scalar_ness(frame: Frame, path: str, first: Argument | None, site: CallSite) -> bool | None:
    """Whether a new tensor is 0-dim: by its data, or by an empty shape."""
    if path in factories.TAKES_DATA:
        if first is None:
            return None
        if _is_number(first) or _is_of_number_parameter(frame, first.value):
            return True
        if arrays.dimensions(frame, first.value) or _is_normalized(first.node.value):
            return False
        return False if isinstance(first.value, (Items, Many, Entries)) else None
    given = site.positional()
    # without a size, of the means' and deviations'
    if path == "torch.normal" and len(given) == len(site.arguments) < 3:
        numbers = [is_scalar(one.value) for one in given if isinstance(one.value, Tensor)]
        return all(numbers) if numbers else None
    last = path in _SIZE_IS_LAST and len(given) > 1
    shape = site.keyword("size") or (given[-1] if last else site.get(0, "size"))
    return bool(shape is not None and shape.value == Items(()))


_REDUCTIONS = frozenset("max min sum mean std norm".split())


def _is_normalized(node: cst.BaseExpression) -> bool:
    """Whether something is scaled or shifted by what it holds itself, as no number is: `w / w.max()`, `(x - x.mean()) / s`."""
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Divide() | cst.Subtract(), right=right):
            if isinstance(right, cst.BinaryOperation) and isinstance(right.operator, cst.Add):
                right = right.left  # `w.sum() + eps`
            match right:
                case cst.Call(func=cst.Attribute(value=of, attr=cst.Name(value=name))) if name in _REDUCTIONS:
                    return of.deep_equals(left) or _is_normalized(left)
                case _:
                    return _is_normalized(left)
        case _:
            return False


_SIZE_IS_LAST = frozenset({"torch.randint", "torch.normal"})
"""Those that are told the size after the numbers to draw between (torch/_C/_VariableFunctions.pyi)."""


_OF_SIZES = frozenset(("torch.zeros", "torch.ones", "torch.rand", "torch.randn", "torch.empty"))


def dimensions(frame: Frame, path: str, site: CallSite) -> int:
    """How many dimensions a new tensor has at least, by the sizes or the lists that are written out."""
    given = site.positional()
    if path in factories.TAKES_DATA:
        if given and (held := arrays.dimensions(frame, given[0].value)):
            return held
        data, count = given[0].node.value if given else None, 0
        value = given[0].value if given else None
        while isinstance(value, Items) and value.items:
            value, count = value.items[0], count + 1
        if count:
            return count + (value.dims if isinstance(value, Tensor) else 0)
        while isinstance(data, cst.List) and data.elements:
            data, count = data.elements[0].value, count + 1
        return count
    if path == "torch.eye":
        return 2
    shape = site.keyword("size")
    if shape is None and path in ("torch.full", "torch.randint"):
        shape = next((one for one in given if isinstance(one.value, Items)), None)
    elif shape is None and path in _OF_SIZES:
        if len(given) > 1:
            return 0 if site.has_star() else len(given)
        shape = given[0] if given else None
    return len(shape.value.items) if shape is not None and isinstance(shape.value, Items) else 0


def _is_number(argument: Argument) -> bool:
    node = argument.node.value
    if isinstance(argument.value, Literal) and isinstance(argument.value.value, (int, float)):
        return True
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
        return node.func.value in ("float", "int", "len", "bool")
    return isinstance(argument.value, Api) and argument.value.path in ("math.pi", "math.inf", "math.e")


def _is_of_number_parameter(frame: Frame, value: Value) -> bool:
    """Whether a value is what a function was given for a parameter that is a number: `torch.tensor(step)`."""
    return (
        isinstance(value, Object)
        and value.key[:1] == ("parameter",)
        and len(value.key) == 3
        and is_number_parameter(frame, value.key)
    )


def legacy(frame: Frame, path: str, site: CallSite) -> Value:
    device = frame.default_device() if path == factories.LEGACY_DEFAULT_TYPE else CPU
    told = site.keyword("device")
    if told is not None and told.value != NONE:
        device = device_values.as_device(told.value)  # it is refused elsewhere, and that is told
    given = [] if site.has_star() else site.positional()
    # sizes, or data
    dims = len(given) if len(given) > 1 else dimensions(frame, "torch.tensor", site)
    return Tensor(device_values.made_on(frame, device, site.node), dims=dims)
