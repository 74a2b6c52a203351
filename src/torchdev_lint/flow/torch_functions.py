"""Calls of imported functions: PyTorch's factories and operations, device sources, loaders; the rest is unresolved."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from torchdev_lint.flow import (
    checkpoints,
    current_device,
    device_objects,
    device_values,
    forwarding,
    generators,
    host_arguments,
    library_calls,
    library_functions,
    literals,
    lost_index,
    model_calls,
    modules,
    optimizers,
    tensors,
    truths,
)
from torchdev_lint.flow.callsites import Argument, CallSite
from torchdev_lint.flow.conditions import Atom
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.functions import following
from torchdev_lint.flow.lattice import (
    CPU,
    UNKNOWN_DEVICE,
    Accelerator,
    Cpu,
    Device,
    Origin,
    Symbol,
)
from torchdev_lint.flow.objects import escape
from torchdev_lint.flow.operands import Given, dotted, given_by
from torchdev_lint.flow.values import (
    NONE,
    UNKNOWN,
    Api,
    DeviceValue,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Partial,
    State,
    Tensor,
    Truth,
    Value,
    element_of,
    without_cell,
)
from torchdev_lint.torch_api import callables, devices, factories, functions, libraries
from torchdev_lint.torch_api import modules as module_api
from torchdev_lint.torch_api.checkpoints import LOADERS
from torchdev_lint.torch_api.generators import DRAWS_INDICES, HOST_ARGUMENTS, HOST_GENERATORS


def canonical(path: str) -> str:
    """One spelling for a name that PyTorch exports twice."""
    for old, new in _ALIASES:
        if path.startswith(old):
            return new + path.removeprefix(old)
    return path


_ALIASES = (
    ("torch.nn.modules.loss.", "torch.nn."),
    ("torch.nn.modules.linear.", "torch.nn."),
    ("torch.nn.modules.container.", "torch.nn."),
    ("torch.nn.modules.conv.", "torch.nn."),
    ("torch.nn.modules.activation.", "torch.nn."),
    ("torch.functional.", "torch."),
    ("torch.tensor.", "torch."),
)


def call_api(frame: Frame, path: str, site: CallSite) -> Value:
    """The result of calling an imported name."""
    path = canonical(path)
    name = path.rpartition(".")[2]
    if path in current_device.THREAD_STARTS:
        current_device.check_thread(frame, site)
    if path in libraries.LEAVES_PROGRAM:
        frame.leave()
        return UNKNOWN
    if path.startswith("torch"):
        found = _torch(frame, path, site)
        if found is not None:
            return found
    known = library_calls.call_imported(frame, path, site)
    if known is not None:
        return known
    from torchdev_lint.flow.calls import call_value

    known = library_functions.call(frame, path, site, call_value)
    if known is not None:
        return known
    if path in ("functools.partial", "partial") and site.positional():
        first, *rest = site.positional()
        keywords = tuple((a.keyword, a.value) for a in site.arguments if a.keyword is not None)
        return Partial(first.value, tuple(argument.value for argument in rest), keywords)
    if path in module_api.TRANSPARENT_WRAPPERS and site.positional():
        return site.positional()[0].value
    if path in module_api.COPIES and site.positional():
        return _copy(frame, site)
    if {path, name} & frame.analysis.options.tensor_constructors:
        return Tensor(Cpu(Origin(site.node, "made")))
    if {path, name} & frame.analysis.options.device_sources:
        return told_device(path)
    tokenized = tokenizer_result(site, name)
    return tokenized if tokenized is not None else unresolved(frame, path, site)


def told_device(path: str) -> DeviceValue:
    """The device that a function gives of which the configuration says so: the same at every call."""
    return DeviceValue(Symbol(("source", path.rpartition(".")[2]), f"{path}()"))


def tokenizer_result(site: CallSite, name: str) -> Value | None:
    """The result of a call with `return_tensors="pt"`; None for any other call."""
    argument = site.keyword(libraries.RETURN_TENSORS)
    if argument is None or not isinstance(argument.value, Literal) or argument.value.value != "pt":
        return None
    return Tensor(Cpu(Origin(site.node, "made")), mapping=name not in libraries.RETURNS_ONE_TENSOR)


def unresolved(frame: Frame, path: str, site: CallSite) -> Value:
    """A call of something that cannot be read: the shape of the seed bug is looked for, then nothing is known."""
    name = path.rpartition(".")[2]
    told_device = any(_is_device_argument(argument) for argument in site.arguments)
    if not name[:1].isupper() and not told_device and not callables.STORES_OR_INSPECTS.search(name):
        model_calls.check_handed_together(frame, site, site.callee)
    for argument in site.arguments:
        escape(frame, argument.value)
    result = following(frame, frame.result_of(site.node, name if name[:1].isupper() else ""), site)
    moves = any(argument.keyword in libraries.PLACED_BY_LIBRARY for argument in site.arguments)
    moves = moves or (name[:1].isupper() and told_device)
    if name[:1].isupper() or name == "from_pretrained" or moves:
        state = frame.state(result)
        device = UNKNOWN_DEVICE if moves else state.device
        frame.set_state(result, replace(state, api=path, moves_inputs=moves, device=device))
    return result


def _is_device_argument(argument: Argument) -> bool:
    if isinstance(argument.value, DeviceValue):
        return True
    if argument.keyword is not None and devices.DEVICE_NAME.search(argument.keyword):
        return True
    text = dotted(argument.node.value)
    return text is not None and bool(devices.DEVICE_NAME.search(text.rpartition(".")[2]))


def _copy(frame: Frame, site: CallSite) -> Value:
    value = site.positional()[0].value
    if not isinstance(value, Object):
        return value
    return _deep_copy(frame, site, value, {})


def _deep_copy(frame: Frame, site: CallSite, thing: Object, copies: dict[Object, Object]) -> Object:
    """A copy of an object with copies of the modules in it: moving one leaves the other."""
    if thing in copies:
        return copies[thing]
    copy = Object(("copy", id(site.node), frame.uid, frame.round, thing.key), thing.text)
    copies[thing] = copy
    state = frame.state(thing)
    attributes = {
        name: _deep_copy(frame, site, held, copies)
        if isinstance(held, Object) and frame.env.knows(held)
        else held
        for name, held in state.attributes.items()
    }
    frame.set_state(copy, replace(state, attributes=attributes))
    return copy


def _torch(frame: Frame, path: str, site: CallSite) -> Value | None:
    """PyTorch's own names; None when the name is not special."""
    found = _device_functions(frame, path, site)
    if found is not None:
        return found
    if path == "torch.Generator":
        return generators.construct(frame, site)
    if path.startswith("torch.optim."):
        return optimizers.build(frame, path, site)
    if path in HOST_GENERATORS:
        return generators.default(frame, site)
    if path in HOST_ARGUMENTS:
        host_arguments.check_call(frame, path, site)
    if path in DRAWS_INDICES:
        generators.check(frame, site, frame.default_device(), draws_indices=True)
    if path in LOADERS:
        checkpoints.note(frame, path, site)
        return None
    if path in factories.FACTORIES or path in factories.HOST_FACTORIES or path in factories.CONVERTERS:
        return factory(frame, path, site)
    if path in factories.LIKE:
        argument = tensors.device_keyword(frame, site)
        if argument is not None and argument.value != NONE:
            return Tensor(device_values.made_on(frame, device_values.as_device(argument.value), site.node))
        first = site.get(0, "input")
        device = None if first is None else tensors.tensor_device(frame, first.value)
        return Tensor(UNKNOWN_DEVICE if device is None else device)
    if path in factories.LEGACY_HOST_TYPES or path == factories.LEGACY_DEFAULT_TYPE:
        return _legacy(frame, path, site)
    if path.startswith("torch.cuda.") and path.endswith("Tensor"):
        return Tensor(Accelerator("cuda", None, Origin(site.node, "made")))
    if path in module_api.PARAMETER_TYPES:
        first = site.get(0, "data")
        device = None if first is None else tensors.tensor_device(frame, first.value)
        return Tensor(UNKNOWN_DEVICE if device is None else device, parameter=True)
    if path in functions.FOLLOWS_ARGUMENT:
        return _following_argument(frame, path, site)
    if path == "torch.autograd.Variable" and site.positional():
        return site.positional()[0].value
    if modules.is_module_path(path):
        return modules.construct(frame, path, site)
    if path in module_api.TRANSPARENT_WRAPPERS and site.positional():
        return site.positional()[0].value
    if path in module_api.LOADERS:
        return loader(frame, site)
    if path.startswith("torch.utils.data."):
        return _dataset(frame, path, site)
    if path == "torch.jit.trace" and len(site.positional()) > 1:
        model_calls.check_handed_together(frame, site, site.callee)
        return site.positional()[0].value
    if path == "torch.onnx.export":
        model_calls.check_handed_together(frame, site, site.callee)
        return UNKNOWN
    return _operation(frame, path, site)


def _device_functions(frame: Frame, path: str, site: CallSite) -> Value | None:
    if path == "torch.device":
        made = _device(frame, site)
        lost_index.check_device_object(frame, site.node, made)
        return made
    if path in devices.AVAILABILITY:
        return Truth(Atom("available", (devices.AVAILABILITY[path],), f"{path}()"))
    if path in devices.DEVICE_COUNTS:
        return Object(("device-count", devices.DEVICE_COUNTS[path]), f"{path}()")
    if path in devices.CURRENT_ACCELERATOR:
        return DeviceValue(Symbol(("accelerator",), "torch.accelerator.current_accelerator()"))
    if path == "torch.cuda.current_device":
        return DeviceValue(Accelerator("cuda"), is_object=False, is_index=True)
    if path == "torch.get_default_device":
        return DeviceValue(frame.default_device())
    if path == "torch.set_default_device":
        argument = site.get(0, "device")
        none = argument is None or argument.value == NONE
        frame.env.default_device = (
            CPU if none or argument is None else device_values.as_device(argument.value)
        )
        return UNKNOWN
    if path == "torch.distributed.get_rank" and not site.arguments:
        return Object(lost_index.GLOBAL_RANK, site.callee + "()")
    if path == "torch.cuda.set_device" and site.positional():
        lost_index.check_device_argument(frame, site.positional()[0])
        tensors.see_integer(frame, site.positional()[0], "current", site)
        current_device.check_change(frame, site)
        return UNKNOWN
    if path == "torch.set_default_tensor_type":
        return _set_default_tensor_type(frame, site)
    return None


def _set_default_tensor_type(frame: Frame, site: CallSite) -> Value:
    argument = site.get(0, "t")
    match argument and argument.value:
        case Api(path=name) | Literal(value=str(name)):
            frame.env.default_device = Accelerator("cuda") if ".cuda." in name else CPU
        case _:
            frame.env.default_device = UNKNOWN_DEVICE
    return UNKNOWN


def _device(frame: Frame, site: CallSite) -> Value:
    """`torch.device(...)`."""
    first, second = site.get(0, "type") or site.keyword("device"), site.get(1, "index")
    if first is None:
        return DeviceValue(UNKNOWN_DEVICE)
    if second is not None:
        kind, index = first.value, second.value
        if isinstance(kind, Literal) and isinstance(kind.value, str):
            if isinstance(index, Literal) and isinstance(index.value, int):
                if isinstance(second.node.value, cst.Integer) and kind.value in devices.ACCELERATOR_TYPES:
                    literals.see(
                        frame, site.node, "call", kind.value, index.value, f"{kind.value}:{index.value}"
                    )
                return DeviceValue(device_values.literal_device(f"{kind.value}:{index.value}"))
            lost_index.check_device_argument(frame, second)
            key = index.key if isinstance(index, Object) else ("node", id(site.node))
            if kind.value in devices.ACCELERATOR_TYPES:
                return DeviceValue(Symbol(("format", kind.value, key), frame.analysis.text(site.node)))
        return DeviceValue(UNKNOWN_DEVICE)
    tensors.see_integer(frame, first, "integer", site)
    device_objects.check_name(frame, first)
    device_objects.check_index(frame, first)
    lost_index.check_device_argument(frame, first, of_device=True)
    if isinstance(first.value, Tensor):
        return DeviceValue(first.value.device)
    node = first.value.node if isinstance(first.value, Literal) else None
    return DeviceValue(device_values.as_device(first.value), node=node)


def factory(frame: Frame, path: str, site: CallSite) -> Value:
    """A new tensor: where `device=` says, else on the default device; with what is known of its shape."""
    first = site.get(0, "data")
    if path in factories.HOST_FACTORIES:
        return Tensor(device_values.made_on(frame, CPU, site.node))
    if path in factories.TAKES_DATA and first is not None and isinstance(first.value, Tensor):
        data = first.value
        if path in factories.CONVERTERS and site.keyword("device") is None:
            return data
    argument = tensors.device_keyword(frame, site)
    device: Device
    following = False
    if argument is not None and argument.value != NONE:
        device = device_values.as_device(argument.value)
        following = True
    elif site.has_unknown_keywords():
        device = UNKNOWN_DEVICE
    elif (out := site.keyword("out")) is not None and out.value != NONE:
        device = tensors.tensor_device(frame, out.value) or UNKNOWN_DEVICE
        following = True
    else:
        device = _following(frame, path, site) or frame.default_device()
        forwarding.note_factory(frame, site)
    generators.check(frame, site, device)
    scalar = _scalar_ness(path, first, site)
    return Tensor(device_values.made_on(frame, device, site.node, following=following), scalar=scalar)


def _following(frame: Frame, path: str, site: CallSite) -> Device | None:
    """Samplers and the like follow a tensor argument."""
    if path not in factories.RANDOM_SAMPLERS:
        return None
    for argument in site.arguments:
        if isinstance(argument.value, Tensor):
            return argument.value.device
    computed = [
        a for a in site.arguments if not isinstance(a.value, (Literal, Items)) and a.keyword != "size"
    ]
    return UNKNOWN_DEVICE if computed else None


def _scalar_ness(path: str, first: Argument | None, site: CallSite) -> bool | None:
    """Whether a new tensor is 0-dim: by its data, or by an empty shape."""
    if path in factories.TAKES_DATA:
        if first is None:
            return None
        if _is_number(first):
            return True
        return False if isinstance(first.value, (Items, Many, Entries)) else None
    shape = site.get(0, "size")
    return bool(shape is not None and shape.value == Items(()))


def _is_number(argument: Argument) -> bool:
    node = argument.node.value
    if isinstance(argument.value, Literal) and isinstance(argument.value.value, (int, float)):
        return True
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
        return node.func.value in ("float", "int", "len", "bool")
    return isinstance(argument.value, Api) and argument.value.path in ("math.pi", "math.inf", "math.e")


def _legacy(frame: Frame, path: str, site: CallSite) -> Value:
    device = frame.default_device() if path == factories.LEGACY_DEFAULT_TYPE else CPU
    return Tensor(device_values.made_on(frame, device, site.node))


def _operation(frame: Frame, path: str, site: CallSite) -> Value | None:
    """A function of tensors: its operands must share a device, its result is there."""
    if not path.startswith(functions.OPERATION_NAMESPACES) or path.startswith(
        ("torch.distributed", "torch.cuda.")
    ):
        return None
    name = path.removeprefix("torch.nn.functional.").removeprefix("torch.")
    if name in functions.HOST_ONLY_RESULT:
        if name == "is_tensor" and site.positional():
            value = site.positional()[0].value
            return Truth(truths.is_instance(frame, site.node, value, Api("torch.Tensor")))
        return UNKNOWN
    if name in functions.NO_COMMON_DEVICE or (
        "." in name and not path.startswith(functions.OPERATION_NAMESPACES[1:])
    ):
        return None
    operands: list[Given] = []
    for argument in site.arguments:
        if not argument.star and argument.keyword not in ("device", "dtype", "out", "generator"):
            given = given_by(argument)
            if name in functions.FIRST_OPERAND_ONLY and argument is not site.arguments[0]:
                continue
            if argument is site.arguments[0]:
                given = [replace(one, value=tensors.taken_for_tensor(frame, one.value)) for one in given]
            operands += given
    result = tensors.combine(frame, site.node, name, operands, admits_scalar=name in functions.ADMITS_SCALAR)
    if isinstance(result, Tensor):
        generators.check(frame, site, result.device)
        if name not in functions.ADMITS_SCALAR:
            reduces = name in (
                "sum",
                "mean",
                "max",
                "min",
                "norm",
                "prod",
                "std",
                "var",
                "median",
                "argmax",
                "argmin",
            )
            scalar = len(site.arguments) == 1 or None if reduces else result.scalar
            if name in functions.ALWAYS_SCALAR:
                scalar = True
            if reduces and tensors.reduces_inner_dimension(site):
                scalar = False
            if name in ("cat", "concat", "stack", "matmul", "mm", "bmm", "unsqueeze", "reshape"):
                scalar = False
            result = replace(result, scalar=scalar)
        return result
    return frame.result_of(site.node)


def _following_argument(frame: Frame, path: str, site: CallSite) -> Value:
    """A result that is where the tensors of one argument are."""
    position, name, kind = functions.FOLLOWS_ARGUMENT[path]
    given = site.get(position, name)
    device = None if given is None else tensors.tensor_device(frame, given.value)
    result = Tensor(UNKNOWN_DEVICE if device is None else device, scalar=kind == "scalar")
    return Many(result) if kind == "tuple" else result


def loader(frame: Frame, site: CallSite) -> Value:
    """A DataLoader: what its batches are made of."""
    dataset, collate = site.get(0, "dataset"), site.keyword("collate_fn")
    origin = Origin(site.node, "loaded")
    on_host = Tensor(Cpu(origin), batch=True)
    element: Value = on_host
    if collate is not None and collate.value != NONE:
        element = _collated(frame, collate.value, site, dataset)
    elif dataset is not None and isinstance(dataset.value, Object):
        state = frame.state(dataset.value)
        if state.element != UNKNOWN:
            element = state.element
        elif state.model is not None:
            element = _item(frame, dataset.value, site, on_host)
        elif not state.api.rpartition(".")[2][:1].isupper() or state.moves_inputs:
            # whoever made it may have put it anywhere
            element = UNKNOWN
    elif dataset is not None and isinstance(dataset.value, (Items, Many)):
        element = element_of(dataset.value)
    if collate is None or collate.value == NONE:
        element = _batched(element, origin)
    element = without_cell(element)
    state = State("loader", UNKNOWN_DEVICE, "torch.utils.data.DataLoader", element=element)
    if dataset is not None:
        state = state.with_attribute("dataset", dataset.value)
    return frame.fresh(site.node, state, "DataLoader")


def _batched(element: Value, origin: Origin) -> Value:
    match element:
        case Tensor(device=Cpu()):
            return Tensor(Cpu(origin), batch=element.batch, mapping=element.mapping)
        case Tensor():
            return replace(element, scalar=False)
        case Items(items):
            return Items(tuple(_batched(item, origin) for item in items))
        case Entries(entries=entries):
            held = tuple((name, _batched(entry, origin)) for name, entry in entries)
            return Entries(held, _batched(element.default, origin), element.open)
        case Literal(value=int() | float()):
            return Tensor(Cpu(origin))
        case _:
            return element


def _item(frame: Frame, dataset: Object, site: CallSite, on_host: Tensor) -> Value:
    from torchdev_lint.flow.functions import call

    model = frame.state(dataset).model
    getter = None if model is None else model.find("__getitem__") or model.find("__iter__")
    if model is None or getter is None:
        return UNKNOWN if model is not None and model.has_unseen_base() is False else on_host
    given = call(frame, model.function(getter, getter.name.value, dataset), CallSite(site.node))
    if getter.name.value == "__iter__":
        given = element_of(given)
    return given if isinstance(given, (Tensor, Items, Entries)) else UNKNOWN


def _collated(frame: Frame, collate: Value, site: CallSite, dataset: Argument | None) -> Value:
    from torchdev_lint.flow.calls import call_value

    batch: Value = Many(UNKNOWN)
    if dataset is not None and isinstance(dataset.value, (Items, Many)):
        batch = Many(element_of(dataset.value))
    elif dataset is not None and isinstance(dataset.value, Object):
        state = frame.state(dataset.value)
        if state.model is not None:
            batch = Many(_item(frame, dataset.value, site, Tensor(CPU, batch=True)))
        elif state.element != UNKNOWN:
            batch = Many(state.element)
    argument = Argument(batch, cst.Arg(cst.Name("batch")))
    result = call_value(frame, collate, CallSite(site.node, (argument,)))
    known = isinstance(result, Object) and frame.state(result).kind == "instance"
    return result if known or isinstance(result, (Tensor, Items, Entries)) else UNKNOWN


def _dataset(frame: Frame, path: str, site: CallSite) -> Value | None:
    name = path.rpartition(".")[2]
    values = [argument.value for argument in site.positional()]
    if name == "TensorDataset":
        element: Value = (
            Items(tuple(tensors_of(value) for value in values)) if not site.has_star() else UNKNOWN
        )
        return frame.fresh(site.node, State("instance", UNKNOWN_DEVICE, path, element=element), name)
    if name in ("Subset", "ConcatDataset") and values and isinstance(values[0], Object):
        return values[0]
    if name == "random_split" and values:
        return Many(values[0])
    return frame.result_of(site.node)


def tensors_of(value: Value) -> Value:
    """What a dataset of this tensor yields."""
    return Tensor(value.device) if isinstance(value, Tensor) else UNKNOWN
