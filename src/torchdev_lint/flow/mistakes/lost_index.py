"""Where a device's index gets lost: idioms that keep "on a GPU" of another thing's device and forget on which.

Everything here works on the first GPU and fails on the second, so that the fault is in the idiom, not in two devices that meet. What
is asked for is the device of *another* thing (`x.is_cuda`, `x.device.type == "cuda"`), on a path where the answer was yes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import LostIndex
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.conditions import Atom, Formula
from torchdev_lint.flow.domain.lattice import Accelerator, Cpu, Device, Symbol, leaves
from torchdev_lint.flow.domain.values import (
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Function,
    Literal,
    Object,
    Tensor,
    Truth,
    Value,
)
from torchdev_lint.flow.project.accelerator_needs import works_with_others
from torchdev_lint.flow.project.accelerator_programs import importing
from torchdev_lint.flow.project.current_gpu import stays_on_current_gpu
from torchdev_lint.flow.read_alone.evidence import TESTING
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, remembered, walk
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.torch_api.devices import DEVICE_NAME

GLOBAL_RANK = ("global-rank",)
"""The identity of what `torch.distributed.get_rank()` returns."""

_MAKE_CURRENT = frozenset(("pytorch_lightning", "lightning"))
"""Libraries that make the GPU of a process the current one (lightning/pytorch/accelerators/cuda.py, `setup_device`)."""

_LAUNCHED_ON_ONE_MACHINE = re.compile(
    r"(?i)local_?rank|nnodes|init_process_group|device_count\(\)|\.spawn\b|\bspawn\(|set_visible_devices|CUDA_VISIBLE_DEVICES"
)
"""Signs that the program tells ranks from indices, or runs on one machine only (who starts the processes knows how many)."""

_SPAWNS = re.compile(r"\.spawn\b|\bspawn\(")
_IS_STARTED = re.compile(r"(?i)torchrun|distributed\.launch|SLURM|env://|\binit_process_group\((?!.*rank *=)")
"""Signs that whoever starts the program starts all of its processes, on any number of machines."""

_CHANGES_CURRENT = re.compile(r"\bset_device\b|cuda\.device\(|cuda\.device_of\(")
"""What makes another GPU than the first the current one."""


def note_question(frame: Frame, node: cst.Attribute, receiver: Value, answer: Value) -> None:
    """`x.is_cuda` or `device.type` is read: remember how the program names the device asked for."""
    if frame.caller is not None:
        _see_current(frame, node, receiver)
        return
    text = dotted(node.value) if not isinstance(node.value, cst.Call) else _parameters_text(frame, node.value)
    if text is None or frame.analysis.notes.get(("on-current", id(node)), False):
        return
    match node.attr.value, answer:
        case "is_cuda", Truth(formula=Atom(kind="device-type", key=(key, "cuda"))):
            if isinstance(receiver, (Tensor, Object)) and not device_values.is_configuration(text):
                frame.analysis.asked[key] = (f"{text}.device", frame.uid, frame.analysis.budget)
        case "type", DeviceType(device=Symbol(key=key)) if DEVICE_NAME.search(text.rpartition(".")[2]):
            frame.analysis.asked[key] = (text, frame.uid, frame.analysis.budget)
        case _:
            pass


def _see_current(frame: Frame, node: cst.Attribute, receiver: Value) -> None:
    """The program's own code asks this of what it put on the current GPU: whether it only ever does.

    Nothing is lost then: `cuda` without an index is where all the program's tensors are.
    """
    if not frame.analysis.at_top or node.attr.value not in ("is_cuda", "type"):
        return
    device = receiver.device if isinstance(receiver, (Tensor, DeviceValue)) else None
    found = [] if device is None else list(leaves(device))
    first = (None,) if frame.analysis.says(_CHANGES_CURRENT) else (None, 0)
    current = any(isinstance(leaf, Accelerator) for leaf in found) and all(
        isinstance(leaf, Cpu) or (isinstance(leaf, Accelerator) and leaf.index in first) for leaf in found
    )
    for asker in (node, None if frame.function is None else frame.function.node):
        key = ("on-current", id(asker))
        frame.analysis.notes[key] = current and frame.analysis.notes.get(key, True)


def _parameters_text(frame: Frame, node: cst.Call) -> str | None:
    """`next(model.parameters())`."""
    match node:
        case cst.Call(
            func=cst.Name(value="next"),
            args=[cst.Arg(value=cst.Call(func=cst.Attribute(attr=cst.Name(value="parameters")), args=[]))],
        ):
            return frame.analysis.text(node)
        case _:
            return None


def _asked(frame: Frame, formula: Formula) -> str | None:
    """The device that `formula` says is a CUDA device, as the program names it, if the name still holds it."""
    if not (isinstance(formula, Atom) and formula.kind == "device-type" and formula.key[1] == "cuda"):
        return None
    text, uid, when = frame.analysis.asked.get(formula.key[0], ("", 0, 0))
    if uid != frame.uid:
        return None
    name = re.findall(r"[A-Za-z_]\w*", text.removeprefix("next("))[0]
    # the budget counts down: bound later than asked means that it may hold another thing
    return text if frame.bound.get(name, when) >= when else None


def _meant(frame: Frame) -> str | None:
    """The device that is known to be a CUDA device on this path."""
    read = _asked if frame.caller is None else _asked_by_caller
    return next((text for fact in frame.env.path[::-1] if (text := read(frame, fact)) is not None), None)


def _asked_by_caller(frame: Frame, formula: Formula) -> str | None:
    """The same in a function that was called on such a path: one of its own tensors is on that device."""
    if not (isinstance(formula, Atom) and formula.kind == "device-type" and formula.key[1] == "cuda"):
        return None
    askers = [
        one.function.node for one in (frame, frame.caller) if one is not None and one.function is not None
    ]
    if any(frame.analysis.notes.get(("on-current", id(asker)), False) for asker in askers):
        return None
    for name, value in frame.env.names.items():
        match value:
            case Tensor(device=Symbol(key=("device", *_) as key)) if key == formula.key[0]:
                return f"{name}.device"
            case _:
                pass
    return None


def check_method(frame: Frame, receiver: Value, name: str, site: CallSite) -> None:
    """`y.cuda()`, `y.cuda(True)`, `y.type(x.type())`."""
    if isinstance(receiver, (Api, Class, Function)):
        return
    if name == "type":
        check_typename(frame, receiver, site)
    elif name == "cuda":
        given = site.get(0, "device")
        if given is None:
            check_cuda_method(frame, receiver, site)
        else:
            check_positional_flag(frame, site)


def check_cuda_method(frame: Frame, receiver: Value, site: CallSite) -> None:
    """`y.cuda()`, without an index."""
    call = site.node
    assert isinstance(call, cst.Call)
    assert isinstance(call.func, cst.Attribute)
    assert site.receiver is not None
    if frame.function is not None and works_with_others(frame.function.node):
        return
    moved = frame.analysis.text(site.receiver)
    meant, form = _meant(frame), "guarded"
    if meant is None:
        meant, form = _brought_back(frame, site.receiver), "round-trip"
    if meant is None and isinstance(receiver, Tensor):
        meant, form = _convention(frame, receiver), "convention"
    if meant is None and not _is_only_copied_into(frame, call, moved):
        _check_flag(frame, call, f"{moved}.cuda()")
    if meant is None or meant in (f"{moved}.device", moved) or _is_only_copied_into(frame, call, moved):
        return
    edits: tuple[tuple[cst.CSTNode, str], ...]
    if call.args:
        first = call.args[0]
        edits = ((call.func.attr, "to"), (first, f"{meant}, {frame.analysis.text(first).rstrip(' ,')}"))
    else:
        edits = ((call, f"{moved}.to({meant})"),)
    _publish(frame, call, form, f"{moved}.cuda()", meant, edits)


def _check_flag(frame: Frame, node: cst.CSTNode, text: str) -> None:
    """A function is only told that another thing is on a GPU: `sample(n, use_cuda=x.is_cuda)`, and then `z.cuda()` in it.

    In another file it is right for who has no other GPU: so it is what it is told that is at fault.
    """
    caller = frame.caller
    if caller is None or caller.caller is not None or caller.function is None or frame.function is None:
        return
    if not isinstance(frame.call, cst.Call) or _is_moved_again(caller, frame.call):
        return
    if frame.analysis.notes.get(("on-current", id(caller.function.node)), False):
        return
    told: dict[str, cst.Attribute] = {}
    for given in frame.call.args:
        if isinstance(given.value, cst.Attribute) and given.value.attr.value == "is_cuda":
            told[f"{dotted(given.value.value)}.device"] = given.value
    for fact in frame.env.path:
        other = _asked(caller, fact)
        if other is not None and other in told:
            asked, name = told[other], frame.function.name
            if frame.source.foreign:
                _publish(frame, asked, f"told {name}", frame.analysis.text(asked), other, ())
            else:
                _publish(frame, node, "guarded", text, other, ())


def _is_only_copied_into(frame: Frame, call: cst.Call, moved: str) -> bool:
    """`ranks = ranks.cuda()`, and then only `ranks[i : i + n] = found`: that copies from any GPU (`Tensor.copy_`)."""
    if frame.function is None or not isinstance(frame.function.node, cst.FunctionDef):
        return False
    uses = _uses_of(frame.function.node).get(moved)
    return uses is not None and 0 < uses.copied == uses.count - (id(call) in uses.assigned)


@dataclass(slots=True)
class _Uses:
    """What a function does with a name: how often it copies into it, how often it does something else, and what calls it assigns to it."""

    copied: int = 0
    count: int = 0
    assigned: set[int] = field(default_factory=set)


@remembered(cst.FunctionDef)
def _uses_of(function: cst.FunctionDef) -> dict[str, _Uses]:
    found: dict[str, _Uses] = {}

    def of(node: cst.CSTNode) -> _Uses:
        return found.setdefault(dotted(node) or "", _Uses())

    for part in walk(function.body):
        match part:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)],
                value=cst.Call() as value,
            ):
                uses = of(target)
                uses.count -= 1  # what is written there is no use, nor what is moved
                uses.assigned.add(id(value))
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript(value=base, slice=parts))]):
                of(base).copied += all(isinstance(one.slice, cst.Slice) for one in parts)
            case (
                cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="cpu" | "tolist")))
                | cst.Return(value=cst.Name() | cst.Attribute() as base)
            ):
                of(base).count -= 1
            case cst.Name() | cst.Attribute():
                of(part).count += 1
            case _:
                pass
    return found


def check_device_argument(frame: Frame, argument: Argument, *, of_device: bool = False) -> None:
    """`.to("cuda")`, `device="cuda"`: an index-less literal; `device=x.device.type`.

    `of_device`: the argument is `torch.device`'s, whose result is looked at as a whole.
    """
    node, value = argument.node.value, argument.value
    if isinstance(value, DeviceType):
        if isinstance(node, cst.Attribute) and node.attr.value == "type" and _may_have_index(value.device):
            meant = frame.analysis.text(node.value)
            _publish(frame, node, "type", frame.analysis.text(node), meant, ((node, meant),))
        return
    if isinstance(value, Object) and value.key == GLOBAL_RANK:
        check_rank(frame, node)
        return
    if isinstance(node, cst.SimpleString) and node.raw_value == "cuda" and not of_device:
        _check_current(frame, node)


def _check_current(frame: Frame, node: cst.BaseExpression) -> None:
    """The current device is named where another thing is known to be on a CUDA device."""
    meant = _meant(frame)
    if meant is not None:
        _publish(frame, node, "guarded", frame.analysis.text(node), meant, ((node, meant),))


def check_string(frame: Frame, node: cst.BaseExpression) -> None:
    """`device = "cpu"`, and `device = "cuda"` where another thing is known to be on a CUDA device."""
    if type(node) is cst.SimpleString and node.raw_value == "cuda" and _is_used_as_device(frame, node):
        _check_current(frame, node)


def check_device_object(frame: Frame, call: cst.BaseExpression, made: Value) -> None:
    """`torch.device("cuda")` where another thing is known to be on a CUDA device."""
    device = device_values.as_device(made)
    if not (isinstance(device, Accelerator) and device.type == "cuda" and device.index is None):
        return
    if isinstance(call, cst.Call) and not _is_without_index(frame, call):
        _check_current(frame, call)


def _is_without_index(frame: Frame, call: cst.Call) -> bool:
    """Whether the current device is named for one that has no index: `d if d.index is not None else torch.device("cuda")`."""
    body = frame.source.module if frame.function is None else frame.function.node.body
    return any(
        isinstance(node, cst.IfExp)
        and ".index" in frame.analysis.text(node.test)
        and call in (node.body, node.orelse)
        for node in walk(body)
    )


def check_choice(frame: Frame, node: cst.IfExp, test: Formula, then: Value, otherwise: Value) -> None:
    """`torch.device("cuda") if x.is_cuda else torch.device("cpu")`, and the same with strings."""
    meant = _asked(frame, test) if frame.caller is None else None
    if meant is None:
        return
    if isinstance(then, Api):
        if then.path.startswith("torch.cuda.") and then.path.endswith("Tensor"):
            _publish(frame, node, "chosen", frame.analysis.text(node), meant, ())
        return
    device, host = device_values.as_device(then), device_values.as_device(otherwise)
    if not (isinstance(device, Accelerator) and device.index is None and isinstance(host, Cpu)):
        return
    if isinstance(then, DeviceValue) or _is_used_as_device(frame, node):
        for part in walk(node.body):
            frame.analysis.events.pop(("lost-index", id(part)), None)
        _publish(frame, node, "chosen", frame.analysis.text(node), meant, ((node, meant),))


def _is_used_as_device(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a string, or a choice between strings, is given to something that puts tensors there."""
    root: cst.CSTNode = frame.analysis.module if frame.function is None else frame.function.node
    names: set[str] = set()
    for part in walk(root):
        match part:
            case cst.Arg(keyword=cst.Name(value="device"), value=value):
                if value is node or dotted(value) in names:
                    return True
            case cst.Call(
                func=cst.Attribute(attr=cst.Name(value="to" | "device")), args=[cst.Arg(value=value), *_]
            ):
                if value is node or dotted(value) in names:
                    return True
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if (
                value is node
            ):
                names.add(name)
            case _:
                pass
    return False


def _brought_back(frame: Frame, receiver: cst.BaseExpression) -> str | None:
    """What `receiver` was brought to the CPU from, in the same expression."""
    if frame.caller is not None:
        return None
    found: set[str] = set()
    for part in walk(receiver):
        match part:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="cpu")), args=[]):
                text = dotted(inner)
                if text is None or not _follows_another(frame, inner):
                    return None
                found.add(text)
            case _:
                pass
    return f"{found.pop()}.device" if len(found) == 1 else None


def _follows_another(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a tensor is wherever the caller or the module put it."""
    with frame.quietly():
        value = frame.evaluate(node)
    if isinstance(value, Object):
        return value.key[0] == "parameter" and not frame.state(value).moved
    return isinstance(value, Tensor) and isinstance(value.device, Symbol) and value.device.key[0] == "device"


def _convention(frame: Frame, tensor: Tensor) -> str | None:
    """The device of a parameter on which the function puts the other tensors that it makes."""
    function = frame.function
    if function is None or frame.caller is not None or not isinstance(function.node, cst.FunctionDef):
        return None
    if frame.analysis.notes.get(("on-current", id(function.node)), False):
        return None
    origin = tensor.device.origin if isinstance(tensor.device, Cpu) else None
    if origin is None or origin.what != "factory" or origin.root().frame != frame.uid:
        return None
    for name in _places_beside(function.node):
        if name not in frame.bound and isinstance(frame.lookup(name), (Tensor, Object)):
            return f"{name}.device"
    return None


@remembered(cst.FunctionDef)
def _places_beside(function: cst.FunctionDef) -> tuple[str, ...]:
    """The parameters beside which a function puts what it makes: `.to(x.device)`, `device=x.device`, also by a name that has that."""
    parameters = {parameter.name.value for parameter in function.params.params}
    found: list[str] = []
    named: dict[str, cst.BaseExpression] = {}
    for part in walk(function.body):
        match part:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                named[name] = value
            case (
                cst.Call(func=cst.Attribute(attr=cst.Name(value="to")), args=[cst.Arg(value=where)])
                | cst.Arg(keyword=cst.Name(value="device"), value=where)
            ):
                match named.get(where.value) if isinstance(where, cst.Name) else where:
                    case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="device")):
                        found += [name] if name in parameters else []
                    case _:
                        pass
            case _:
                pass
    return tuple(found)


def _may_have_index(device: Device) -> bool:
    return any(
        isinstance(leaf, Symbol) or (isinstance(leaf, Accelerator) and leaf.index is not None)
        for leaf in leaves(device)
    )


def check_normalized(frame: Frame, node: cst.Assign, value: Value) -> None:
    """`device = device.type`, returned afterwards as the device."""
    if type(node.value) is not cst.Attribute:
        return
    match node:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=name))],
            value=cst.Attribute(value=cst.Name(value=source), attr=cst.Name(value="type")),
        ) if name == source and DEVICE_NAME.search(name):
            pass
        case _:
            return
    function = frame.function
    if function is None or frame.caller is not None or "type" in function.name:
        return
    if not (isinstance(value, DeviceType) and _may_have_index(value.device)):
        return
    returned = any(
        isinstance(part, cst.Return) and part.value is not None and dotted(part.value) == name
        for part in walk(function.node)
    )
    if returned:
        _publish(frame, node.value, "type", f"{name}.type", name, ((node.value, f"str({name})"),))


def check_positional_flag(frame: Frame, site: CallSite) -> None:
    """`x.cuda(True)`: the first parameter is the device."""
    positional = site.positional()
    if len(positional) != 1 or not isinstance(positional[0].node.value, cst.Name):
        return
    if isinstance(positional[0].value, Literal) and positional[0].value.value is True:
        node = positional[0].node
        _publish(
            frame,
            node,
            "positional",
            "True",
            "",
            ((node, f"non_blocking={frame.analysis.text(node.value)}"),),
        )


def check_typename(frame: Frame, receiver: Value, site: CallSite) -> None:
    """`y.type(x.type())`: the name of a type has no index.

    A tensor that is on an accelerator of the type already stays there, so that `y` must be known to be on the CPU, or is an argument as
    the caller gave it: what the function has made of its arguments is with them, as a rule.
    """
    if not isinstance(receiver, Tensor):
        return
    match site.node:
        case cst.Call(
            func=cst.Attribute(attr=cst.Name(value="type") as method),
            args=[
                cst.Arg(
                    value=cst.Call(
                        func=cst.Attribute(value=other, attr=cst.Name(value="type")), args=[]
                    ) as given
                )
            ],
        ):
            with frame.quietly():
                like = frame.evaluate(other)
            if (
                not isinstance(like, Tensor)
                or like.device == receiver.device
                or _is_first(like.device)
                or _is_moved_again(frame, site.node)
            ):
                return
            if not all(
                isinstance(leaf, Cpu) or (isinstance(leaf, Symbol) and _is_as_given(frame, site.receiver))
                for leaf in leaves(receiver.device)
            ):
                return
            text = frame.analysis.text(other)
            edits = ((method, "type_as"), (given, text))
            _publish(frame, given, "typename", frame.analysis.text(given), f"{text}.device", edits)
        case _:
            pass


def _is_first(device: Device) -> bool:
    """Whether a device is known, and no GPU but the first: a type's name gives that, too."""
    return all(
        isinstance(leaf, Cpu) or (isinstance(leaf, Accelerator) and leaf.type == "cuda" and not leaf.index)
        for leaf in leaves(device)
    )


def _is_as_given(frame: Frame, node: cst.BaseExpression | None) -> bool:
    """Whether an expression is a parameter that has not been given another value so far."""
    function = frame.function
    return (
        function is not None
        and isinstance(node, cst.Name)
        and node.value not in frame.bound
        and any(one.name.value == node.value for one in all_parameters(function.node.params))
    )


def _is_moved_again(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether the result is moved on the spot, or under the name that it gets: `kernel = kernel.to(x.device)`."""
    root: cst.CSTNode = frame.analysis.module if frame.function is None else frame.function.node
    named = {
        part.targets[0].target.value
        for part in walk(root)
        if isinstance(part, cst.Assign)
        and isinstance(part.targets[0].target, cst.Name)
        and any(inner is node for inner in walk(part.value))
    }
    return any(
        isinstance(part, cst.Attribute)
        and part.attr.value in ("to", "cuda")
        and (
            _is_made_of(part.value, node) or (isinstance(part.value, cst.Name) and part.value.value in named)
        )
        for part in walk(root)
    )


def _is_made_of(value: cst.BaseExpression, node: cst.BaseExpression) -> bool:
    """Whether a value is what a node gives, or a chain of methods of it: `x.type(y.type()).detach()`."""
    while value is not node and isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
        value = value.func.value
    return value is node


def check_rank(frame: Frame, node: cst.BaseExpression) -> None:
    """A process's global rank is given as a device's index."""
    if frame.analysis.says(_LAUNCHED_ON_ONE_MACHINE) or _is_test(frame):
        return
    if frame.analysis.learn(_is_run_on_one_machine, frame.analysis):
        return
    text = frame.analysis.text(node)
    torch = device_values.torch_name(frame)
    index = f"{text} % {torch}.cuda.device_count()"
    _publish(frame, node, "rank", text, index, ((node, index),) if torch is not None else ())


def _is_run_on_one_machine(analysis: Analysis) -> bool:
    """Whether those that import the file start their processes themselves, on the machine that they run on: `mp.spawn(main, nprocs=4)`.

    All that do it, of those that have several processes.
    """
    users = [text for _, text in importing(analysis, analysis.source.path)]
    alone = [text for text in users if _SPAWNS.search(text) is not None]
    return bool(alone) and not any(_IS_STARTED.search(text) for text in users)


def _publish(
    frame: Frame,
    node: cst.CSTNode,
    form: str,
    text: str,
    other: str,
    edits: tuple[tuple[cst.CSTNode, str], ...],
) -> None:
    if _is_test(frame) or not TESTING.isdisjoint(frame.analysis.imported) or _is_backward(frame):
        return
    alone = False
    if form not in ("rank", "positional"):
        if not _MAKE_CURRENT.isdisjoint(frame.analysis.imported):
            return
        alone = stays_on_current_gpu(frame.analysis)
    if not alone or frame.analysis.options.audits:
        event = LostIndex(node, form, text, other, edits, alone=alone)
        frame.analysis.publish(("lost-index", id(node)), event)


def _is_backward(frame: Frame) -> bool:
    """Whether it is the `backward` of an autograd function: the GPU of its gradients is the current one then.

    Source: torch/csrc/autograd/engine.cpp, `Engine::thread_init`: each GPU has a thread, which makes it current.
    """
    function = frame.function
    owner = None if function is None else function.owner
    return (
        function is not None
        and owner is not None
        and owner.is_autograd_function
        and function.name == "backward"
    )


def _is_test(frame: Frame) -> bool:
    """Whether the function is a test: those run on one machine."""
    function = frame.function
    if function is None:
        return False
    owner = "" if function.owner is None else function.owner.name
    return function.name.startswith("test") or owner.startswith("Test") or owner.endswith("Test")
