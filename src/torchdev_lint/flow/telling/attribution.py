"""Where a conflict is reported: not always where it is met.

When the tensor at fault entered the function through an argument, that is the argument of the call, however many calls
further up. And what is only possible is told only where nothing speaks against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import Place, Transfer
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Unwritten
from torchdev_lint.flow.domain.conditions import Atom, Formula, Key, atoms, chooses_host
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    ATTRIBUTE,
    LOADED,
    Accelerator,
    Conflict,
    Cpu,
    Device,
    Leaf,
    Level,
    Origin,
    Symbol,
    describe,
    leaves,
)
from torchdev_lint.flow.domain.values import Entries, Function, Items, Many, Object, State, Tensor, Value
from torchdev_lint.flow.project import private_helpers, reach, siblings
from torchdev_lint.flow.project.absent_arguments import is_never_given
from torchdev_lint.flow.project.caller_results import is_moved_then
from torchdev_lint.flow.project.callers_elsewhere import SAYS_HOST, given_from_host
from torchdev_lint.flow.project.defaults_elsewhere import is_set_elsewhere
from torchdev_lint.flow.project.untaken import is_untaken
from torchdev_lint.flow.read_alone.evidence import (
    TESTING,
    in_a_test,
    is_number_parameter,
    tested_for_none,
)
from torchdev_lint.flow.read_alone.host_functions import (
    HOST_FILE,
    is_named_for_cpu,
    mapped_over_data,
    shows_something,
    transforms_of,
)
from torchdev_lint.flow.syntax.trees import (
    all_parameters,
    dotted,
    goes_to_cpu,
    holds,
    receiver_name,
    remembered,
    says_device,
    transfers,
    walk,
)
from torchdev_lint.flow.telling.settled_devices import is_open, is_set_to_host
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.flow.torch_calls.operands import Operand, place_of
from torchdev_lint.torch_api.devices import DEVICE_NAME, names_only_the_cpu
from torchdev_lint.torch_api.factories import FACTORIES
from torchdev_lint.torch_api.libraries import SET_DEFAULT_DEVICE
from torchdev_lint.torch_api.marks import MARKS


@dataclass(frozen=True, slots=True)
class Report:
    """Where a conflict is reported: the place, its activation, and the activations left on the way up to it."""

    place: Place
    frame: Frame
    given: Device
    crossed: tuple[Frame, ...] = ()

    @property
    def through(self) -> str:
        """The function that the reported argument is given to; empty when none was left."""
        function = self.crossed[-1].function if self.crossed else None
        return "" if function is None else function.name

    def module(self) -> Object | None:
        """The outermost module that was entered on the way down to the conflict."""
        for crossed in self.crossed[::-1]:
            receiver = None if crossed.function is None else crossed.function.receiver
            if isinstance(receiver, Object) and crossed.state(receiver).kind == "module":
                return receiver
        return None


_OF_DATASETS = re.compile(
    r"(?i)(?:^|_)(?:dataset|datasets|data_?loader|loader)$|(?:dataset|loader)(?:_?\d+)?$"
)
"""Parameters, by name, that are on the CPU with all that they hold."""

_OF_STATES = re.compile(r"(?i)(?:^|_)(?:state_?dict|checkpoint|ckpt)$")
"""Parameters, by name, that hold what was loaded from a file, which most programs load to the CPU before it is given to a module."""


def worth_telling(frame: Frame, found: Conflict, *, anywhere: bool = False, by_default: bool = True) -> bool:
    """Whether a conflict that is only possible is to be told: with what a function is given, or a module holds.

    `anywhere`: whatever the names of its file and class say of where the function works. `by_default`: what a library that is
    used with a default device makes without `device=` is where it should be.
    """
    host = frame.analysis.on_host and not anywhere
    if host or frame.analysis.at_top or not TESTING.isdisjoint(frame.analysis.imported):
        return False
    learn = frame.analysis.learn
    if belongs_to_host(frame, by_names=not anywhere):
        return False
    if by_default and learn(_follows_default_device, frame, found):
        return False
    if is_set_elsewhere(frame, found):
        return False
    if host_was_chosen(frame.env.path) or _is_for_export(frame) or _is_pinned_then(frame):
        return False
    if shows_something(frame) or is_named_for_cpu(frame):
        return False
    for leaf in (found.left, found.right):
        if isinstance(leaf, Cpu) and _says_where(leaf.origin):
            return False  # `device=device`: whoever calls without one wants it there
        if isinstance(leaf, Symbol):
            root = root_of(leaf.key)
            if leaf.origin is not None and leaf.origin.root().what == "moved":
                if root[0] == "parameter" and leaf.key[0] == "device" and learn(given_from_host, frame, root):
                    return False
                continue  # it was taken to another thing's device on purpose
            if root[:1] not in (("parameter",), ("self",)) or frame.analysis.only_on_host(root):
                return False
            if root[0] == "parameter" and (
                _is_held_by_another(leaf.key)
                or _is_size(leaf.key)
                or _is_named_for_host(leaf.key)
                or _is_of_matcher(frame, root)
                or _is_left_where_it_came(frame, leaf.key)
                or _is_made_on_host_by_default(frame, root)
            ):
                return False
            if root[0] == "parameter" and (
                _OF_DATASETS.search(str(root[2]))
                or _OF_STATES.search(str(root[2]))
                or (leaf.key[1] == root and is_number_parameter(frame, root))
            ):
                return False
            if root[0] == "parameter" and frame.analysis.notes.get(("may be an array", *root[1:3])):
                return (
                    False  # a part of what the function turns into a tensor: pictures and sounds, on the host
                )
            if root[0] == "self" and (
                not _has_parameters(frame.state(Object(root))) or learn(_is_moved_in_parts, frame)
            ):
                return False
            if root[0] == "parameter" and (
                learn(given_from_host, frame, root)
                or learn(is_moved_then, frame, root)
                or learn(is_never_given, frame, root)
                or learn(siblings.bring, frame, root)
            ):
                return False
    used = any(isinstance(leaf, Accelerator) for leaf in (found.left, found.right))
    if not used and learn(private_helpers.is_within, frame):
        return False
    return (used or not is_reached_on_host(frame)) and not learn(is_untaken, frame, found)


def _is_left_where_it_came(frame: Frame, key: Key) -> bool:
    """Whether it is a part of an argument that the function takes apart, some other parts of which it moves, and this one nowhere.

    `images, labels, lengths = batch`, then `images.cuda()`: a batch comes on the CPU, and the lengths are wanted there. So does
    `data`, of which `data["image"].to(device)` is moved, with what else it holds.
    """
    function = frame.function
    if key[0] != "device" or key[1][0] != "item" or len(key[1]) < 3 or function is None:
        return False
    whole, where = key[1][1], str(key[1][2])
    if whole[0] != "parameter" or whole[1] != id(function.node):
        return False
    if not where.isdigit():
        moved_keys = _moved_keys(function.node, str(whole[2]))
        return bool(moved_keys) and where not in moved_keys
    index, moved = int(where), _moved_names(function.node)
    for names in _taken_apart(function.node, str(whole[2])):
        if index < len(names) and names[index] not in moved and not moved.isdisjoint(names):
            return True
    return False


def _taken_apart(node: cst.FunctionDef | cst.Lambda, name: str) -> Iterator[list[str]]:
    for part in walk(node.body):
        match part:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Tuple(elements=elements))], value=cst.Name(value=whole)
            ) if whole == name:
                yield [dotted(one.value) or "" for one in elements]
            case _:
                pass


def _moved_keys(node: cst.FunctionDef | cst.Lambda, name: str) -> frozenset[str]:
    """The entries of a dict that a function moves: of `data["image"].to(device)` that is `image`."""
    return frozenset(
        repr(key.evaluated_value)
        for _, moved in transfers(node.body)
        if isinstance(moved, cst.Subscript) and dotted(moved.value) == name
        for part in moved.slice
        if isinstance(part.slice, cst.Index) and isinstance(key := part.slice.value, cst.SimpleString)
    )


def _moved_names(node: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """The names of what a function moves by `x.to(...)` or `x.cuda()`."""
    return frozenset(moved.value for _, moved in transfers(node.body) if isinstance(moved, cst.Name))


def belongs_to_host(frame: Frame, *, by_names: bool = True) -> bool:
    """Whether the file, or the class that is read, works on the CPU as far as it says; `by_names`: also by what the file is called."""
    learn = frame.analysis.learn
    return (
        (by_names and learn(stays_on_host, frame.analysis))
        or learn(_is_of_program, frame)
        or learn(_is_transform, frame)
    )


def is_reached_on_host(frame: Frame) -> bool:
    """Whether nothing that gets to the function, in a program, ever uses an accelerator."""
    function = frame.outermost()
    if function is None:
        return False
    name = function.name if function.owner is None else function.owner.name
    return frame.analysis.learn(reach.stays_on_host, frame.analysis, name)


_EXPORT = re.compile(r"(?i)(?:^|_)(?:onnx|torch_?script|coreml|tflite|openvino)(?:_|$)")


_EXPORTING = re.compile(r"(?i)onnx|is_(?:tracing|scripting|export|torch_fx)|(?:^|[._])export")


def _is_for_export(frame: Frame) -> bool:
    """Whether a function, or a branch, is only there for a model that is exported: `to_torchscript`, `if self.onnx_trace:`.

    That is done on the CPU as well.
    """
    if any(isinstance(fact, Atom) and _EXPORTING.search(fact.text) for fact in frame.env.path):
        return True
    current: Frame | None = frame
    while current is not None:
        if current.function is not None and _EXPORT.search(current.function.name):
            return True
        current = current.caller
    return False


def _is_pinned_then(frame: Frame) -> bool:
    """Whether the file pins what comes of the function: `x = torch.stack([pad(x) for x in rows])`, and `x.pin_memory()`.

    Only what is on the CPU can be pinned (aten/src/ATen/native/Memory.cpp, `_pin_memory`).
    """
    analysis = frame.analysis
    return (
        frame.function is not None
        and analysis.says(_PINS)
        and frame.function.name in pinned_results(analysis.module)
    )


_PINS = re.compile(r"\.pin_memory\(")


@remembered(cst.Module)
def pinned_results(module: cst.Module) -> frozenset[str]:
    """The functions, by name, that are called in what a file pins, at once or under the name that it gets."""
    assigned: dict[str, list[cst.CSTNode]] = {}
    pinned: list[cst.CSTNode] = []
    for node in walk(module):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                assigned.setdefault(name, []).append(value)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="pin_memory"))):
                pinned.append(receiver)
            case _:
                pass
    names = {node.value for node in pinned if isinstance(node, cst.Name)}
    sources = [*pinned, *(value for name in names for value in assigned.get(name, ()))]
    return frozenset(
        part.func.value
        for source in sources
        for part in walk(source)
        if isinstance(part, cst.Call) and isinstance(part.func, cst.Name)
    )


def _has_parameters(state: State) -> bool:
    """Whether a thing is a module, or an optimizer, whose parameters are those of one."""
    return state.kind == "module" or (state.model is not None and state.model.is_optimizer)


def _is_made_on_host_by_default(frame: Frame, parameter: Key) -> bool:
    """Whether the function makes on the CPU what stands in for the parameter when it is not given: so the others are there, too."""
    current = frame.taking(parameter)
    if current is None or current.function is None or not isinstance(current.function.node, cst.FunctionDef):
        return False
    return any(
        isinstance(node, cst.If)
        and parameter[2] in tested_for_none(node.test)
        and any(_makes_on_host(line, parameter[2]) for line in node.body.body)
        for node in walk(current.function.node.body)
    )


def _makes_on_host(line: cst.BaseStatement | cst.BaseSmallStatement, name: str) -> bool:
    match line:
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=target))],
                    value=cst.Call(func=cst.Attribute(value=cst.Name(value="torch"), attr=made), args=given),
                )
            ]
        ) if target == name:
            return f"torch.{made.value}" in FACTORIES and not says_device(given)
        case _:
            return False


def _is_held_by_another(key: Key) -> bool:
    """Whether a device is that of `searcher.ranker.lengths`: what a thing in a thing holds may be anywhere.

    So may what its lists of lists hold, `for rows in task.answers: for row in rows`.
    """
    attributes, items = 0, 0
    while key and key[0] in ("device", "attr", "item"):
        attributes += key[0] == "attr"
        items += key[0] == "item" and len(key) == 2  # any one of them
        key = key[1]
    return attributes > 1 or (attributes == 1 and items > 1)


def _is_moved_in_parts(frame: Frame) -> bool:
    """Whether the project moves a part of such a module by itself, `model.tower.to(device)`: the others may stay on purpose."""
    function = frame.outermost()
    owner = None if function is None else function.owner
    made = None if owner is None else owner.methods.get("__init__")
    if made is None:
        return False
    parts = {
        name.removeprefix("self.")
        for node in walk(made.body)
        if isinstance(node, cst.AssignTarget)
        for part in walk(node.target)
        if (name := dotted(part) or "").startswith("self.")
    }
    return any(
        re.search(rf"(?<!self)\.{part}\.(?:to|cuda)\(", text) is not None
        for part in parts
        for way in ("to", "cuda")
        for _, text in frame.analysis.imports.mentioning(f".{part}.{way}(") or ()
    )


def _is_named_for_host(key: Key) -> bool:
    """Whether a device is that of what an argument keeps under a name that says where it is: `ctx.b_cpu`."""
    while key and key[0] in ("device", "attr", "item"):
        if len(key) > 2 and SAYS_HOST.search(str(key[2])):
            return True
        key = key[1]
    return False


def _is_of_matcher(frame: Frame, parameter: Key) -> bool:
    """Whether a parameter holds the pairs that a matcher gives, which SciPy computes: in a loss of detection transformers."""
    function = frame.outermost()
    owner = None if function is None else function.owner
    return (
        str(parameter[2]) in ("indices", "indices_list")
        and owner is not None
        and re.search(r"\bself\.matcher\b", frame.analysis.text(owner.node)) is not None
    )


def _is_size(key: Key) -> bool:
    """Whether a device is that of an item of `x.shape`: a number, or, where the function is traced, a tensor of the CPU."""
    while key and key[0] in ("device", "attr", "item"):
        if key[0] == "attr" and key[2] == "shape":
            return True
        key = key[1]
    return False


def host_was_chosen(path: tuple[Formula, ...]) -> bool:
    """Whether a flag says that no accelerator is used here: `if use_gpu: ... else: ...`."""
    return any(map(chooses_host, path))


_RUNS_ITSELF = re.compile(r"(?m)^(?:if __name__ *== *['\"]__main__['\"]|for |while |with )")


def stays_on_host(analysis: Analysis) -> bool:
    """Whether nothing in the file is on an accelerator: it prepares data, or it or the project speaks of no other device."""
    known = analysis.notes.get("stays on host")
    if known is None:
        known = HOST_FILE.search(analysis.source.path) is not None or (
            analysis.says(_RUNS_ITSELF)
            and (not analysis.speaks_of_devices or names_only_the_cpu(analysis.written))
        )
        known = known or reach.trains_on_host(analysis)
        analysis.notes["stays on host"] = known
    return bool(known)


def _is_of_program(frame: Frame) -> bool:
    """Whether a file is read that never speaks of devices and is part of one program: a plain function of it prepares something, and
    a module of it is only on an accelerator if the program's script speaks of one."""
    analysis = frame.analysis
    if analysis.speaks_of_devices:
        return False
    known = analysis.notes.get("of program")
    if known is None:
        known = not analysis.imports.in_package()
        analysis.notes["of program"] = known
    function = frame.outermost()
    owner = None if function is None else function.owner
    if not known or owner is None or not owner.is_module:
        return bool(known) and not (function is not None and _differentiates(analysis, function))
    return analysis.imports.runs_on_host()


_DIFFERENTIATES = re.compile(r"\bautograd\.grad\(|\.backward\(|\.requires_grad_\(|\benable_grad\(")


def _differentiates(analysis: Analysis, function: Function) -> bool:
    """Whether a function runs a model that it is given, and computes gradients: it works where the model does, and prepares nothing."""
    if _DIFFERENTIATES.search(analysis.text(function.node)) is None:
        return False
    given = {one.name.value for one in all_parameters(function.node.params)}
    return any(
        isinstance(part, cst.Call) and isinstance(part.func, cst.Name) and part.func.value in given
        for part in walk(function.node.body)
    )


def _is_transform(frame: Frame) -> bool:
    """Whether the class, or the function, that is read is a transform of data by what the file does with it."""
    function = frame.outermost()
    if function is None:
        return False
    module = frame.analysis.module
    if function.owner is None:
        return function.name in mapped_over_data(module)
    return function.owner.name in transforms_of(module)


def _follows_default_device(frame: Frame, found: Conflict) -> bool:
    """Whether the file is about a library that is used with a default device, and the function speaks of no other."""
    analysis = frame.analysis
    known = analysis.notes.get("default device is set")
    if known is None:
        folders = set(re.split(r"[/\\]", analysis.source.path)[:-1])
        # `import pyro` binds it; to use a distribution of it says nothing of how the program is run
        known = not SET_DEFAULT_DEVICE.isdisjoint({*frame.module_frame.env.names, *folders})
        analysis.notes["default device is set"] = known
    if not known or any(_is_attribute(leaf) for leaf in (found.left, found.right)):
        return False
    return frame.function is None or "device" not in analysis.text(frame.function.node)


def _is_attribute(leaf: Leaf) -> bool:
    """Whether a tensor is kept by a module without being registered: that is a fault of its own."""
    return leaf.origin is not None and leaf.origin.passed(ATTRIBUTE)


def _says_where(origin: Origin | None) -> bool:
    """Whether what made a tensor was told where by `device=`, or it was taken where a name says: `.to(device)`, by default the CPU.

    Or loaded there, `map_location="cpu"`.
    """
    root = None if origin is None else origin.root()
    if root is not None and root.what == "moved" and root.name == LOADED:
        return True
    if root is not None and root.what == "moved" and isinstance(root.node, cst.Call):
        return any(
            isinstance(argument.value, cst.Name) and DEVICE_NAME.search(argument.value.value)
            for argument in root.node.args
        )
    return (
        root is not None
        and root.what == "factory"
        and isinstance(root.node, cst.Call)
        and says_device(root.node.args)
    )


def _is_brought(operand: Operand, root: Origin | None) -> bool:
    """Whether an operand is brought to the CPU where it is used, `table[index.cpu()]`: who writes that knows where the other one is."""
    if root is None or root.what != "moved" or not holds(operand.node, root.node):
        return False
    match root.node:
        case cst.Call(func=cst.Attribute(value=receiver)):
            made_there = receiver_name(receiver) in ("torch", "np")
            return not made_there and goes_to_cpu(root.node)
        case _:
            return False


def _is_moved_then(frame: Frame, operand: Operand, other: Leaf) -> bool:
    """Whether the function moves what comes of the operation: `ids = torch.cartesian_prod(rows, columns)`, then `ids.to(x.device)`.

    So it is on the CPU until then, and its operands are. At once (`torch.cat([x, torch.zeros(4)]).to(device)`) that says nothing where it
    is taken to an operand's own device; nor does it later, `noise.to(x.device)`, where the other operand was computed from `x`.
    """
    if frame.function is None:
        return False
    if _is_moved_at_once(frame.function.node, operand):
        return True
    names: set[str] = set()
    met = False
    for node in walk(frame.function.node.body):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if not met:
                if any(part is operand.node for part in walk(value)):
                    names, met = {name}, True
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=target))],
                value=cst.Call(
                    func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="cuda")), args=[]
                ),
            ) if target == name and name in names:
                return True
            case cst.Call(
                func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="to" | "cuda")),
                args=[cst.Arg(value=given), *_],
            ) if (
                name in names
                and not isinstance(given, cst.SimpleString)
                and DEVICE_NAME.search((dotted(given) or "").rpartition(".")[2])
            ):
                return not (
                    isinstance(given, cst.Attribute)
                    and not _is_set_after(frame.function.node, operand.node, given)
                    and _is_place_of(frame, given, other)
                )
            case _:
                pass
    return False


def _is_set_after(function: cst.CSTNode, node: cst.CSTNode, given: cst.Attribute) -> bool:
    """Whether the function gives the thing whose device this is another value behind a node."""
    behind = False
    for part in walk(function):
        behind = behind or part is node
        if behind and isinstance(part, cst.AssignTarget) and dotted(part.target) == dotted(given.value):
            return True
    return False


def _is_place_of(frame: Frame, given: cst.BaseExpression, other: Leaf) -> bool:
    """Whether a device is the one that another thing certainly is on, by where that came from."""
    with frame.quietly():
        device = device_values.as_device(frame.evaluate(given))
    return isinstance(device, Symbol) and isinstance(other, Symbol) and device.key == other.key


def _is_moved_at_once(function: cst.CSTNode, operand: Operand) -> bool:
    for node in walk(function):
        match node:
            case cst.Call(
                func=cst.Attribute(value=cst.Call() as computed, attr=cst.Name(value="to")),
                args=[cst.Arg(value=given, keyword=None), *_],
            ) if computed is not operand.node and any(part is operand.node for part in walk(computed)):
                name = dotted(given) or ""
                return (
                    DEVICE_NAME.search(name.rpartition(".")[2]) is not None
                    and name.count(".") < 2
                    and not any(
                        isinstance(part, cst.Name)
                        and (part.value in ("to", "cuda") or part.value == name.partition(".")[0] != "self")
                        for part in walk(computed)
                    )
                )
            case _:
                pass
    return False


def root_of(key: Key) -> Key:
    """The parameter, or whatever else, that a value with this identity was taken from."""
    while key and key[0] in ("device", "attr", "item"):
        key = key[1]
    return key


def argument_of(frame: Frame, leaf: Leaf, *, is_tensor: bool = False) -> str:
    """The argument of a function read without a caller whose device this is; else empty.

    The argument has to be known as a tensor by itself, unless something else shows that it is one.
    """
    if not isinstance(leaf, Symbol) or leaf.key[0] != "device":
        return ""
    key = root_of(leaf.key)
    known = is_tensor or ("given", *key[1:]) in frame.analysis.notes
    return str(key[2]) if key[0] == "parameter" and known else ""


def report_at(frame: Frame, operand: Operand, found: Conflict) -> Report | None:
    """Where to report a conflict whose right side is at fault; None for the consequence of one already reported.

    An argument's origin leads up to the call. It is not followed out of an activation in which the other side was moved:
    the caller cannot know the device. But a function of another file is always left: what the file does with it fails.
    """
    root = found.right.origin.root() if found.right.origin is not None else None
    if root is not None and is_consequence(frame, root):
        return None
    if root is not None and ("model-call", id(root.node)) in frame.analysis.events:
        return None  # computed by a module that was never moved, which is told already
    if found.level != Level.CERTAIN and (
        not worth_telling(frame, found)
        or _is_brought(operand, root)
        or _is_moved_then(frame, operand, found.left)
    ):
        return None
    if frame.source.foreign and _hangs_on_switch(frame):
        return None
    if found.level == Level.CERTAIN and frame.env.path and frame.analysis.learn(is_untaken, frame, found):
        return None
    if any(is_open(frame, leaf) or is_set_to_host(frame, leaf) for leaf in (found.left, found.right)):
        return None
    if not frame.analysis.blame(root, certain=found.level == Level.CERTAIN):
        return None
    moved = found.left.origin.root() if found.left.origin is not None else None
    place, current = place_of(frame, operand.node, operand.value), frame
    crossed: list[Frame] = []
    origin = found.right.origin
    while origin is not None and origin.what == "factory" and origin.inner is not None:
        origin = origin.inner  # made on the device of another tensor: the fault is that one's
    while (
        origin is not None
        and origin.what == "argument"
        and origin.frame == current.uid
        and current.caller is not None
        and not isinstance(origin.node, Unwritten)
        and (current.source.foreign or _may_be_told_of(current.caller))
        and not (
            moved is not None
            and not current.source.foreign
            and moved.what == "moved"
            and moved.frame in {current.uid, *(f.uid for f in crossed)}
        )
    ):
        if root is not None:
            current.caller.faults.add((id(current.call), id(root.node)))
        crossed.append(current)
        current = current.caller
        value = operand.value if not isinstance(operand.value, (Items, Many)) else Tensor(operand.device)
        if isinstance(origin.node, cst.Arg):
            place = place_of(current, origin.node, value if origin.node.star != "**" else operand.value)
        origin = origin.inner
    if current.source.foreign and root is not None:
        objects = found.level == Level.CERTAIN
        handed = _handed_inside(current, root, operand.device, crossed, in_objects=objects)
        if handed is not None:
            return handed
    return Report(place, current, operand.device, tuple(crossed))


def _may_be_told_of(caller: Frame) -> bool:
    """Whether a call is in the checked file, or in one that is checked for itself: others only hand tensors on, and say nothing of them."""
    return not caller.source.foreign or _has_marks(caller.source.module)


@remembered(cst.Module)
def _has_marks(module: cst.Module) -> bool:
    code = module.code
    return any(mark in code for mark in MARKS)


def _hangs_on_switch(frame: Frame) -> bool:
    """Whether a test only fails where a switch of another file is on, of which nothing is known: its maintainers run it as it stands."""
    if not in_a_test(frame):
        return False
    own = frame.at_home()
    return any(
        isinstance(atom, Atom) and atom.kind == "opaque"
        for fact in frame.env.path
        if fact not in own.env.path
        for atom in atoms(fact)
    )


def _handed_inside(
    frame: Frame, root: Origin, given: Device, crossed: list[Frame], *, in_objects: bool
) -> Report | None:
    """Where the file that is checked hands a tensor to a function of another one inside of a list or dict; None if it does not.

    `in_objects`: or inside of a plain object. What it does with its own tensors is told when that file is checked.
    """
    entered = frame.entrance()
    caller = entered.caller
    if caller is None or not isinstance(entered.call, cst.Call):
        return None
    found = [
        (argument, value)
        for name, value in entered.handed.items()
        if _holds(frame, value, root, in_objects=in_objects)
        and (argument := _argument_for(entered, entered.call, name)) is not None
    ]
    if not found:
        return None
    argument, held = found[0]
    current = frame
    while current is not caller:
        assert current.caller is not None
        current.caller.faults.add((id(current.call), id(root.node)))
        crossed.append(current)
        current = current.caller
    node = _written_once(argument.value)
    place = (
        place_of(caller, argument, held) if node is argument.value else place_of(caller, node, Tensor(given))
    )
    if not _holds(frame, held, root):
        # it need not have a way to move what it keeps
        place = replace(place, container=place.container or "list", mixed=True, in_object=True)
    return Report(place, caller, given, tuple(crossed))


def _holds(frame: Frame, value: Value, root: Origin, *, in_objects: bool = False) -> bool:
    """Whether a list or dict, or (`in_objects`) an instance of a class of the project, holds what was made there."""
    match value:
        case Tensor(device=device):
            return any(leaf.origin is not None and leaf.origin.root() == root for leaf in leaves(device))
        case Items(items):
            return any(_holds(frame, item, root, in_objects=in_objects) for item in items)
        case Many(element):
            return _holds(frame, element, root, in_objects=in_objects)
        case Entries():
            return any(_holds(frame, entry, root, in_objects=in_objects) for entry in value.values())
        case Object() if in_objects:
            state = frame.state(value)
            # a data set is on the CPU, and right there
            of_project = state.model is not None and not state.model.has_unseen_base()
            return (
                state.kind == "instance"
                and of_project
                and any(_holds(frame, held, root) for held in state.attributes.values())
            )
        case _:
            return False


def _argument_for(frame: Frame, call: cst.Call, name: str) -> cst.Arg | None:
    """The argument of the call of a function's activation that is bound to the parameter of this name."""
    function = frame.function
    if function is None:
        return None
    parameters = [parameter.name.value for parameter in function.node.params.params]
    if function.receiver is not None and "staticmethod" not in function.decorators:
        parameters = parameters[1:]
    for index, argument in enumerate(call.args):
        if argument.star:
            return None
        written = argument.keyword.value if argument.keyword is not None else None
        if (written or (parameters[index] if index < len(parameters) else None)) == name:
            return argument
    return None


def _written_once(node: cst.BaseExpression) -> cst.BaseExpression:
    """The one element of a list that is written out (`[x]`, `[x] * 3`), else the expression of the list."""
    match node:
        case cst.BinaryOperation(operator=cst.Multiply(), left=cst.List() as repeated):
            return _written_once(repeated)
        case (
            cst.List(elements=[cst.Element(value=element)]) | cst.Tuple(elements=[cst.Element(value=element)])
        ):
            return element
        case _:
            return node


def is_consequence(frame: Frame, root: Origin) -> bool:
    """Whether the same tensor was already found at fault in this very call: the program does not get here."""
    child = frame
    while child.caller is not None:
        if (id(child.call), id(root.node)) in child.caller.faults:
            return True
        child = child.caller
    return False


_PREPARES = frozenset("prepare prepare_model setup setup_module fit validate test predict".split())
"""Methods that are given what they move, not where: `accelerator.prepare(model, loader)`, `trainer.fit(model)`."""


def transfer_of(frame: Frame, origin: Origin | None) -> Transfer | None:
    """The transfer that an origin speaks of."""
    if origin is None or origin.what != "moved":
        return None
    match origin.node:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method)), args=arguments):
            keyword, before = ("map_location", 1) if method == "load" else ("device", 0)
            named = (a.value for a in arguments if a.keyword is not None and a.keyword.value == keyword)
            by_position = [a.value for a in arguments if a.keyword is None][before:]
            given = next(named, by_position[0] if by_position and method not in _PREPARES else None)
            return Transfer(origin.node, frame.analysis.text(receiver), given, method)
        case _:
            return None


def called(leaf: Leaf, transfer: Transfer | None) -> str:
    """What a message calls a device: the name that was used for it, and what it stands for."""
    plain = describe(leaf)
    name = dotted(transfer.argument) if transfer is not None else None
    if name is None or plain == f"`{name}`":
        return plain
    return f"`{name}`" if isinstance(leaf, Symbol) else f"`{name}` ({plain.strip('`')})"
