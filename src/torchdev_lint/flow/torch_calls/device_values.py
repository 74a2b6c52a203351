"""Reading values as devices, and finding an expression that names a device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Accelerator,
    Choice,
    Cpu,
    Device,
    Origin,
    Symbol,
    choose,
    leaves,
    with_origin,
)
from torchdev_lint.flow.domain.values import (
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Dtype,
    Either,
    Entries,
    Literal,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.instances.dict_classes import ITSELF
from torchdev_lint.flow.syntax.trees import names_bound_last, names_of_script, walk
from torchdev_lint.torch_api import devices as api


def literal_device(text: str) -> Device:
    """The device that a string names; unknown for `meta` and for what is no device string."""
    parsed = api.parse(text)
    if parsed is None or parsed[0] == "meta":
        return UNKNOWN_DEVICE
    kind, index = parsed
    return Cpu() if kind == "cpu" else Accelerator(kind, index)


def device_key(key: Key) -> Key:
    """The identity of the device that an object *is*: `x.device` is the device *of* `x`."""
    if key[0] == "attr" and key[2] == "device":
        return ("device", key[1])
    return key


def as_device(value: Value) -> Device:
    """The device that a value stands for when it is given as `device=` or to `.to()`."""
    match value:
        case DeviceValue(device=device):
            return device
        case Literal(value=bool()):
            return UNKNOWN_DEVICE
        case Literal(value=str(text)):
            return literal_device(text)
        case Literal(value=int(index)):
            return Accelerator("cuda", index)
        case Object(key=("parameter", *_), text=text) if _NAMES_THE_CPU.search(text):
            return Cpu()
        case Object(key=key, text=text):
            return Symbol(device_key(key), text, assumed=_is_anothers(key, text))
        case DeviceType(device=device):
            return _without_index(device)
        case Either(guard, then, otherwise):
            return choose(guard, as_device(then), as_device(otherwise))
        case _:
            return UNKNOWN_DEVICE


_NAMES_THE_CPU = re.compile(r"(?i)^cpu_?dev(?:ice)?$|^dev(?:ice)?_cpu$")
"""Parameters that are handed the CPU, as a fixture of tests is: `cpu_device`."""
_CONFIGURATION = re.compile(
    r"(?i)(?:^|[._])(?:self|cls|args?|opts?|options|cfg|conf|config|configuration|hparams?|hp|params|settings|flags|context|ctx|"
    r"trainer|agent|runner|experiment|env|estimator|state)\Z"
)


def is_configuration(text: str) -> bool:
    """Whether `text` names a collection of settings rather than a tensor."""
    return _CONFIGURATION.search(text) is not None


def _is_anothers(key: Key, text: str) -> bool:
    """Whether `text` is the device *of another thing* (`x.device`) rather than one that a configuration names."""
    if key[0] != "attr" or key[2] != "device":
        return False
    return _CONFIGURATION.search(text.removesuffix(".device")) is None


def _without_index(device: Device) -> Device:
    match device:
        case Accelerator(type=kind):
            return Accelerator(kind)
        case Choice(guard, then, otherwise):
            return choose(guard, _without_index(then), _without_index(otherwise))
        case _:
            return device


def _last_identifier(node: cst.BaseExpression) -> str:
    match node:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            return str(key.raw_value)
        case cst.Call(func=function):
            return _last_identifier(function)
        case _:
            return ""


def target_of(frame: Frame, value: Value, node: cst.BaseExpression) -> Device | None:
    """The device that `.to(value)` moves to; None when the argument is a dtype, unknown when that cannot be told."""
    match value:
        case Dtype():
            return None
        case Tensor(device=device):
            return device
        case DeviceValue() | DeviceType() | Literal(value=str()) | Literal(value=int()):
            return as_device(value)
        case Either(guard, then, otherwise):
            left, right = target_of(frame, then, node), target_of(frame, otherwise, node)
            if left is None and right is None:
                return None
            return choose(guard, left or UNKNOWN_DEVICE, right or UNKNOWN_DEVICE)
        case Object(key=("moved", *_)) if frame.state(value).moved:
            return frame.state(value).device
        case Object():
            name = _last_identifier(node)
            if api.DTYPE_NAME.search(name):
                return None
            if api.DEVICE_NAME.search(name) or api.DEVICE_NAME.search(value.text.rpartition(".")[2]):
                return as_device(value)
            return numbered(frame, node)
        case _:
            return numbered(frame, node)


def numbered(frame: Frame, node: cst.BaseExpression) -> Device:
    """The device of which a program has computed the number, by the name of that: `gpu_ids[0]`, `gpus[i % 2]`."""
    name = _last_identifier(node.value if isinstance(node, cst.Subscript) else node)
    if api.NUMBERS_GPUS.search(name) is not None:
        text = frame.analysis.text(node)
        return Symbol(("numbered", text), text)
    return UNKNOWN_DEVICE


def moved_to(frame: Frame, device: Device, node: cst.CSTNode) -> Device:
    """The device as the target of the transfer `node`, executed in this activation."""
    return with_origin(device, Origin(node, "moved", frame.uid, step=frame.analysis.budget))


def made_on(frame: Frame, device: Device, node: cst.CSTNode, *, following: bool = False) -> Device:
    """The device as the place where `node` makes something; with `following`, where the device came from is kept."""
    origin = Origin(node, "factory", frame.uid, step=frame.analysis.budget)
    return with_origin(device, origin, wrap=following)


def built_on(frame: Frame, device: Device, node: cst.CSTNode) -> Device:
    """The device as the place where `node` builds a module, executed now in this activation."""
    return with_origin(device, Origin(node, "made", frame.uid, step=frame.analysis.budget))


def same_device(left: Device, right: Device) -> bool:
    """Whether two devices are the same thing and known."""
    known = not any(leaf == UNKNOWN_DEVICE for leaf in leaves(left))
    return known and left == right


_PREFERRED = ("device", "self.device", "dev", "self._device", "args.device", "DEVICE")


def device_names(frame: Frame, *, local: bool = False) -> Iterator[tuple[str, Device]]:
    """Expressions in scope that hold a device: names, and attributes of `self` and of other named things."""
    for name, value in frame.env.names.items() if local else frame.visible_names():
        match value:
            case DeviceValue(device=device):
                yield name, device
            case Literal(value=str(text)) if api.parse(text):
                yield name, literal_device(text)
            case Either():
                yield name, as_device(value)
            case Object():
                if api.DEVICE_NAME.search(name):
                    yield name, as_device(value)
                for attribute, held in frame.state(value).attributes.items():
                    if attribute == ITSELF:
                        yield from _held_devices(frame, name, held)
                    elif not attribute.isidentifier():
                        continue  # no program can write it
                    elif isinstance(held, DeviceValue) or (
                        isinstance(held, (Object, Literal, Either)) and api.DEVICE_NAME.search(attribute)
                    ):
                        yield f"{name}.{attribute}", as_device(held)
                    else:
                        yield from _held_devices(frame, f"{name}.{attribute}", held)
            case Entries():
                yield from _held_devices(frame, name, value)
            case Class(model=model):
                for attribute, held in model.attributes.items():
                    if isinstance(held, (DeviceValue, Literal, Either)) and api.DEVICE_NAME.search(attribute):
                        yield f"{name}.{attribute}", as_device(held)
            case _:
                pass


def _held_devices(frame: Frame, name: str, holder: Value) -> Iterator[tuple[str, Device]]:
    """`config["device"]`, `self.config["device"]` and `self.config.device`: the devices of a dict or an instance."""
    match holder:
        case Entries(entries=entries):
            for key, held in entries:
                if isinstance(key, str) and api.DEVICE_NAME.search(key):
                    yield f'{name}["{key}"]', as_device(held)
        case Object() if frame.state(holder).kind == "instance":
            for attribute, held in frame.state(holder).attributes.items():
                if attribute == ITSELF and isinstance(held, Entries):
                    yield from _held_devices(frame, name, held)
                elif attribute.isidentifier() and (
                    isinstance(held, DeviceValue)
                    or (isinstance(held, (Literal, Either)) and api.DEVICE_NAME.search(attribute))
                ):
                    yield f"{name}.{attribute}", as_device(held)
        case _:
            pass


def of_chosen_index(kind: str, index: Value) -> Device | None:
    """The device of a type with an index that conditions choose among numbers; None for anything else."""
    match index:
        case Literal(value=int(number)):
            return literal_device(f"{kind}:{number}")
        case Either(guard, then, otherwise):
            left, right = of_chosen_index(kind, then), of_chosen_index(kind, otherwise)
            return None if left is None or right is None else choose(guard, left, right)
        case _:
            return None


def name_of_device(frame: Frame, device: Device, *, local: bool = False) -> str | None:
    """An expression in scope (with `local`, in the activation's own) that certainly holds this device here."""
    found = [name for name, held in device_names(frame, local=local) if same_device(held, device)]
    if found and not local and frame.function is not None:
        found = [name for name in found if not _comes_last(frame, name)]
    if not found:
        return _attribute_path(frame, device)
    return preferred(found)


def _comes_last(frame: Frame, name: str) -> bool:
    """Whether a name is bound where the file is run as a script, or is that of a thing which is made below all functions, and the
    function does not use it yet: it may not be bound when that runs."""
    root, _, attribute = name.partition(".")
    module, learn = frame.source.module, frame.analysis.learn
    if root not in learn(names_of_script, module) and not (
        attribute and root in learn(names_bound_last, module)
    ):
        return False
    assert frame.function is not None
    return all(
        not isinstance(part, cst.Name) or part.value != root for part in walk(frame.function.node.body)
    )


def preferred(names: Sequence[str]) -> str:
    """Of several names that hold a device, the one to write."""
    return min(names, key=lambda name: _PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED))


def speaks_of_device(name: str) -> bool:
    """Whether a name says that it holds a device."""
    return _NAMES_A_DEVICE.search(name) is not None


_NAMES_A_DEVICE = re.compile(r"(?i)(?:^|[._])(?:torch_?|\w+_)?device\Z|(?:^|\.)dev\Z")


def named_device(frame: Frame) -> str | None:
    """A name in scope for the device that the program has chosen, when it certainly holds one."""
    found = [
        name
        for name, device in device_names(frame)
        if _NAMES_A_DEVICE.search(name) and isinstance(device, (Choice, Symbol, Cpu))
    ]
    if not found:
        return None
    return preferred(found)


def _attribute_path(frame: Frame, device: Device) -> str | None:
    """`args.device` and its like: an attribute, never assigned here, of a name that still holds what it held."""
    if not isinstance(device, Symbol) or not device.text:
        return None
    base, _, attribute = device.text.rpartition(".")
    if base and base.isidentifier():
        value = frame.lookup(base)
        if isinstance(value, Object) and device.key in (
            ("device", value.key),
            ("attr", value.key, attribute),
        ):
            held = frame.state(value).attributes.get(attribute)
            if held is not None or not (attribute == "device" or device.key[0] == "attr"):
                return None
            return device_of(frame, base) if attribute == "device" else device.text
    return (
        _path_to(frame, device.key) if frame.function is not None and attribute.endswith("device") else None
    )


def _path_to(frame: Frame, key: Key) -> str | None:
    """`self.estimator.device`: attributes, never assigned here, that lead from a name to a device."""
    key, path = (key[1], ["device"]) if key[0] == "device" else (key, [])
    for _ in range(3):
        held = frame.state(Object(key)).attributes.get(path[0]) if path else None
        if held is not None and not (isinstance(held, Object) and held.key == ("attr", key, path[0])):
            return None
        for name, value in frame.visible_names():
            if not isinstance(value, Object) or not path:
                continue
            if value.key == key:
                model = frame.state(value).model
                if model is not None and model.is_optimizer:
                    return None  # its parameters have a device, it has none
                return device_of(frame, name) if path == ["device"] else ".".join([name, *path])
            for attribute, part in frame.state(value).attributes.items():
                if isinstance(part, Object) and part.key == key and attribute.isidentifier():
                    return ".".join([name, attribute, *path])
        if key[0] != "attr":
            return None
        key, path = key[1], [key[2], *path]
    return None


def device_of(frame: Frame, name: str) -> str:
    """An expression for the device of what a name holds; a plain nn.Module has no `.device`."""
    value, text = frame.lookup(name), f"{name}.device"
    if (
        isinstance(value, Object)
        and frame.state(value).kind == "module"
        and not frame.analysis.learn(_is_written, frame, text)
    ):
        return f"next({name}.parameters()).device"
    return text


def _is_written(frame: Frame, text: str) -> bool:
    """Whether the file itself asks a thing of this name for its `.device`."""
    key = ("is written", text)
    known = frame.analysis.notes.get(key)
    if known is None:
        known = frame.analysis.says(re.compile(rf"(?<![\w.]){re.escape(text)}\b"))
        frame.analysis.notes[key] = known
    return bool(known)


def torch_name(frame: Frame) -> str | None:
    """The name under which torch is imported here."""
    names = [name for name, value in frame.visible_names() if value == Api("torch")]
    return "torch" if "torch" in names else (names[0] if names else None)
