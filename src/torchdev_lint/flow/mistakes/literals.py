"""Device literals with an index: finding them, and telling whether the program guards them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import DeviceLiteral
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.conditions import (
    Atom,
    Constant,
    Formula,
    atoms,
    conjunction,
    disjunction,
    negate,
    truth,
)
from torchdev_lint.flow.domain.lattice import Accelerator, Choice, Symbol
from torchdev_lint.flow.domain.values import (
    ABSENT,
    UNKNOWN,
    DeviceType,
    DeviceValue,
    Either,
    Entries,
    Items,
    Literal,
    Object,
    Tensor,
    Truth,
    Value,
)
from torchdev_lint.flow.execution import truths
from torchdev_lint.flow.mistakes import lost_index
from torchdev_lint.flow.nn_modules.seen_to_work import DRIVEN
from torchdev_lint.flow.project import accelerator_programs, chosen_by_condition, chosen_elsewhere
from torchdev_lint.flow.project.accelerator_needs import is_marked_function, needs_accelerator
from torchdev_lint.flow.project.compiled_kernels import needs_own_kernels
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.torch_api import devices as api

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel

_FLAG = re.compile(
    r"(?i)cuda|[cg]pu|device|accelerator(?!\.is_(?:local_)?(?:main|last)_process)|data_?parallel|distributed|(?:^|[^a-z])dd?p\b"
)


MAX_INDEX = 15
"""No machine has a device with a greater index: such a number is something else."""


def is_literal(node: cst.CSTNode) -> bool:
    """Whether the node is a literal itself."""
    if isinstance(node, cst.Tuple):
        return all(is_literal(element.value) for element in node.elements)
    return isinstance(node, (cst.SimpleString, cst.Integer, cst.ConcatenatedString))


def is_text(node: cst.Tuple | cst.List | cst.Set | cst.Dict) -> bool:
    """Whether devices in a display are names to choose from, or words of a command line, not each put to use."""
    if type(node) is cst.Dict:
        return _is_table(node)
    assert not isinstance(node, cst.Dict)
    return _is_menu(node) or _is_command_line(node)


def _is_table(node: cst.Dict) -> bool:
    """`{True: "cuda:0", False: "cpu"}[wanted]`, `{"gpu": "cuda:0", "cpu": "cpu"}[name]`: which one is used is a matter of the key."""
    pairs = [element for element in node.elements if isinstance(element, cst.DictElement)]
    names = [pair.value.raw_value for pair in pairs if isinstance(pair.value, cst.SimpleString)]
    of_truths = {"True", "False"} == {pair.key.value for pair in pairs if isinstance(pair.key, cst.Name)}
    all_named = len(pairs) == len(node.elements) and all(_names_device(pair.value) for pair in pairs)
    return "cpu" in names and (of_truths or all_named)


def _names_device(node: cst.BaseExpression) -> bool:
    """Whether a device is written out, or one of two that are."""
    match node:
        case cst.IfExp(body=body, orelse=orelse):
            return _names_device(body) and _names_device(orelse)
        case cst.SimpleString():
            return api.parse(node.raw_value) is not None
        case _:
            return False


def _is_command_line(node: cst.Tuple | cst.List | cst.Set) -> bool:
    """`["--device", "cuda:0"]`."""
    for element in node.elements:  # noqa: SIM110 - asked of every display: a generator would take twice as long
        if type(element.value) is cst.SimpleString and _OPTION.match(element.value.raw_value):
            return True
    return False


_OPTION = re.compile(r"--?[a-z][\w-]*(?:=|\Z)")


def _is_menu(node: cst.Tuple | cst.List | cst.Set) -> bool:
    """Whether a tuple, list or set names several devices, the CPU among them."""
    if len(node.elements) < 2 or type(node.elements[0].value) is not cst.SimpleString:
        return False
    names = [e.value.raw_value for e in node.elements if type(e.value) is cst.SimpleString]
    return "cpu" in names and len(names) == len(node.elements)


def fold(node: cst.BinaryOperation, left: Value, right: Value) -> Literal | None:
    """`"cuda:" + "0"` and `"cuda:%d" % 0`; `8 - 1`, and `1 - momentum`, which is a number and no tensor."""
    match left, right:
        case Literal(value=int(one)), Literal(value=int(other)):
            return _fold_numbers(node.operator, one, other)
        case Literal(value=int(number) | float(number)), Literal(value=int(by) | float(by)):
            return _fold_fractions(node.operator, number, by)
        case _:
            pass
    if not (isinstance(left, Literal) and isinstance(left.value, str)):
        return None
    given: object
    match right:
        case Literal(value=given):
            pass
        case Items(items) if isinstance(node.right, cst.Tuple):
            constants = [item.value for item in items if isinstance(item, Literal)]
            if len(constants) != len(items):
                return None
            given = tuple(constants)
        case _:
            return None
    match node.operator:
        case cst.Add() if isinstance(given, str):
            return Literal(left.value + given, node)
        case cst.Modulo():
            try:
                return Literal(left.value % given, node)
            except (TypeError, ValueError):
                return None
        case _:
            return None


def _fold_fractions(operator: cst.BaseBinaryOp, one: float, other: float) -> Literal | None:
    match operator:
        case cst.Add():
            return Literal(one + other)
        case cst.Subtract():
            return Literal(one - other)
        case cst.Multiply():
            return Literal(one * other)
        case _:
            return None


def _fold_numbers(operator: cst.BaseBinaryOp, one: int, other: int) -> Literal | None:
    match operator:
        case cst.Add():
            return Literal(one + other)
        case cst.Subtract():
            return Literal(one - other)
        case cst.FloorDivide() if other:
            return Literal(one // other)
        case cst.Modulo() if other:
            return Literal(one % other)
        case _:
            return None


def see_string(frame: Frame, node: cst.BaseExpression, text: str) -> None:
    """A string is evaluated where it may be a device."""
    parsed = api.parse(text)
    if (
        parsed is None
        or parsed[1] is None
        or parsed[0] not in api.ACCELERATOR_TYPES
        or _is_unread(frame, node)
    ):
        return
    see(frame, node, "string", parsed[0], parsed[1], text)


def _is_unread(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a string is given a name that nobody reads: `second = "cuda:1"` of a notebook, or within a function."""
    if frame.function is None and not frame.analysis.options.in_cells:
        return False  # another file may import it
    for line in walk(_body(frame)):
        match line:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if (
                value is node
            ):
                return len(re.findall(rf"\b{re.escape(name)}\b", frame.analysis.written)) == 1
            case _:
                pass
    return False


def see_current(frame: Frame, argument: Argument) -> None:
    """Something is put on a device without an index: the literal (`"cuda"`) that names it is recorded."""
    match argument.value:
        case DeviceValue(device=Accelerator(type=kind, index=None), is_index=False, node=node) if (
            node is not None
        ):
            see(frame, node, "string", kind, None, kind)
        case Literal(value=str(kind), node=node) if node is not None and kind in INDEXLESS:
            see(frame, node, "string", kind, None, kind)
        case _:
            pass


def see_default(frame: Frame, parameter: cst.Param, value: Value) -> None:
    """A default argument names a device."""
    name = parameter.name.value
    if api.DEVICE_NAME.search(name) and not name.endswith("type"):
        see_current(frame, Argument(value, cst.Arg(cst.Name(name))))


def see_default_used(frame: Frame, parameter: cst.Param, value: Value) -> None:
    """A call takes a default argument that names a device: the call is what uses it, and may be guarded."""
    see_default(frame, parameter, value)
    if isinstance(value, Literal) and isinstance(value.value, str) and value.node is not None:
        see_string(frame, value.node, value.value)


def see(
    frame: Frame,
    node: cst.BaseExpression,
    form: str,
    kind: str,
    index: int | None,
    text: str,
    call: cst.Call | None = None,
) -> None:
    """Record one evaluation of an accelerator literal; without an index it names the current device."""
    # what is printed or compared may be a name, but what `.cuda()` does is done there, too
    quiet = frame.analysis.quiet - (frame.analysis.printed if form == "cuda-method" else 0)
    if quiet or (index or 0) > MAX_INDEX:
        return
    guarded = is_guarded(frame, kind, index or 0) or (
        index == 0
        and (
            _is_first_of_many(frame)
            or frame.analysis.learn(_is_chosen_by_environment, frame.analysis)
            or chosen_by_condition.is_beside_cpu(frame.analysis, node)
            or chosen_by_condition.is_asked_under_its_name(frame.analysis, node)
            or accelerator_programs.goes_along_with_use(frame, node)
            or frame.analysis.learn(needs_own_kernels, frame.analysis)
        )
    )
    literal = DeviceLiteral(
        node=node,
        form=form,
        type=kind,
        index=index,
        text=text,
        guarded=guarded,
        inlined=frame.caller is not None,
        scope_device=_device_in_scope(frame) or (_device_of_a_parameter(frame) if index is None else None),
        torch_name=device_values.torch_name(frame),
        call=call,
        visible=visible_devices(frame) if kind == "cuda" else None,
        chosen=None
        if guarded or index is not None or form in ("needs", "numbered") or frame.analysis.muted
        else chosen_elsewhere.choice(frame, node, kind),
    )
    frame.analysis.literals.setdefault(id(node), []).append(literal)


INDEXLESS = frozenset({"cuda", "mps", "xpu"})
"""Types of which a program may name the current device."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def note_environment(frame: Frame, key: Value, value: Value) -> None:
    """`os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"`: only these devices exist from here on, numbered from 0."""
    if not (isinstance(key, Literal) and key.value == _VISIBLE):
        return
    known = isinstance(value, Literal) and isinstance(value.value, str) and not frame.env.path
    if isinstance(value, Literal) and str(value.value).strip() in ("", "-1"):
        frame.env.assume(negate(Atom("available", ("cuda",))))
    top: Frame | None = frame
    while top is not None and top.caller is not None:
        top = top.caller
    names = (
        [part.strip() for part in str(value.value).split(",")] if known and isinstance(value, Literal) else []
    )
    written = (
        all(name.isdigit() for name in names) and bool(names) and top is not None and top.function is None
    )
    count = len(names) if written else None
    before = frame.analysis.notes.get(_VISIBLE, count)
    frame.analysis.notes[_VISIBLE] = count if before == count else None


def visible_devices(frame: Frame) -> int | None:
    """How many devices the program lets itself see; None when it does not say, or says several things."""
    count = frame.analysis.notes.get(_VISIBLE)
    return count if isinstance(count, int) else None


def is_guarded(frame: Frame, kind: str, index: int, *, handled: bool = True) -> bool:
    """Whether a machine without this very device never gets here (or gets an exception that is handled)."""
    if frame.analysis.skipped or (index == 0 and needs_accelerator(frame)):
        return True
    current: Frame | None = frame
    while current is not None:
        if handled and current.handlers:
            return True
        function = current.function
        if function is not None and (is_marked_function(function) or _TRIES.search(function.name)):
            return True
        current = current.caller
    return guards(frame.env.path, kind, index)


_TRIES = re.compile(r"(?i)(?:cuda|gpu|xpu|npu|mps|triton)\w*_(?:available|supported|works)$")
"""Functions that find out by trying whether there is an accelerator: `triton_xpu_available`."""


def _is_first_of_many(frame: Frame) -> bool:
    """Whether a method names the first device in a class, or a function, that divides its work among the devices."""
    function = frame.function
    if function is None:
        return False
    if frame.analysis.says(_DIVIDES) and _DIVIDES.search(frame.analysis.text(function.node)) is not None:
        return True
    return function.owner is not None and frame.analysis.learn(
        _counts_devices, frame.analysis, function.owner
    )


def _is_chosen_by_environment(analysis: Analysis) -> bool:
    """Whether a file that has no sign of doing without an accelerator says itself which ones there are: the first of those is meant.

    Or makes one the current one whatever it was told, so that it fails without one, and with `--device=cpu`.
    """
    known: bool | None = analysis.notes.get("chosen by environment")
    if known is None:
        written = analysis.written
        chooses = analysis.says(_SETS_VISIBLE) or accelerator_programs.sets_current(written)
        known = chooses and not accelerator_programs.does_without(written)
        analysis.notes["chosen by environment"] = known
    return known


_SETS_VISIBLE = re.compile(r"environ\[\s*['\"]CUDA_VISIBLE_DEVICES['\"]\s*\]\s*=(?!=)")


_DIVIDES = re.compile(r"device_ids\s*=\s*(?:list\(\s*)?(?:range\(\s*)?torch\.cuda\.device_count\(\)")
"""A module is copied to all of them: its own parameters have to be on the first (torch/nn/parallel/data_parallel.py)."""


def _counts_devices(analysis: Analysis, owner: ClassModel) -> bool:
    """Whether a class asks how many accelerators there are: there is a first one, then."""
    return "cuda.device_count()" in analysis.text(owner.node)


def see_needed(frame: Frame, node: cst.BaseExpression, name: str) -> None:
    """A function is called that raises where there is no GPU: `torch.cuda.synchronize()`."""
    analysis = frame.analysis
    if analysis.options.audits and not analysis.learn(_is_asked_for, analysis, _body(frame), node):
        see(frame, node, "needs", "cuda", None, name)


def _see_numbered(frame: Frame, node: cst.BaseExpression, kind: str) -> None:
    """A device has a computed index, and something is put there."""
    analysis, body = frame.analysis, _body(frame)
    if (
        analysis.options.audits
        and not analysis.says(_MANY_PROCESSES)
        and analysis.learn(_is_handed, body, node)
        and not analysis.learn(_is_asked_for, analysis, body, node)
    ):
        see(frame, node, "numbered", kind, None, analysis.text(node))


def _body(frame: Frame) -> cst.CSTNode:
    return frame.analysis.module if frame.function is None else frame.function.node.body


def _is_handed(body: cst.CSTNode, node: cst.CSTNode) -> bool:
    return any(
        isinstance(part, cst.Call) and any(argument.value is node for argument in part.args)
        for part in walk(body)
    )


_ASKED_FOR = re.compile(r"(?i)tim(?:e|ing)|profil|bench|warm_?up|debug|nccl|fp16|half|amp\b|\bis_cuda\b")
"""Tests below which somebody has asked for what is done on a GPU."""


def _is_asked_for(analysis: Analysis, body: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether it is done for each GPU there is, or below a test of such a thing, or of what it is given."""
    given = _names(node) - {"torch", "cuda", "args", "self"}
    for part in walk(body):
        match part:
            case cst.If(test=asked) | cst.IfExp(test=asked):
                text = analysis.text(asked)
                wanted = _ASKED_FOR.search(text) is not None or any(
                    isinstance(inner, cst.Comparison) and not given.isdisjoint(_names(inner))
                    for inner in walk(asked)
                )
            case cst.For(iter=asked) | cst.ListComp(for_in=asked) | cst.GeneratorExp(for_in=asked):
                wanted = "device_count" in analysis.text(asked)
            case _:
                continue
        if wanted and any(inner is node for inner in walk(part)):
            return True
    return False


def _names(node: cst.CSTNode) -> set[str]:
    return {text for part in walk(node) if (text := dotted(part)) is not None}


_MANY_PROCESSES = re.compile(
    r"torch\.distributed|DistributedDataParallel|\bnccl\b|LOCAL_RANK|WORLD_SIZE|horovod|megatron|deepspeed|parallel_state|import .*\bdist\b"
)


def guards(path: Sequence[Formula], kind: str, index: int) -> bool:
    """Whether the conditions cannot all hold on a machine without this very device."""
    return any(_unreachable(fact, kind, index) for fact in path)


def _unreachable(fact: Formula, kind: str, index: int) -> bool:
    """Whether `fact` is false on a machine that has only the devices below `index` (for 0: none)."""
    assignment: dict[Atom, bool] = {}
    for atom in atoms(fact):
        match atom.kind:
            case "available" if atom.key[0] in (kind, "any"):
                assignment[atom] = index > 0
            case "count" if atom.key[0] in (kind, "any"):
                assignment[atom] = index > atom.key[1]
            case "device-type" if atom.key[1] == kind:
                assignment[atom] = False
            case "opaque" if _says_available(atom.text, kind):
                assignment[atom] = index > 0
            case "opaque" if index == 0 and _FLAG.search(atom.text):
                # a flag that the user sets to ask for an accelerator; negated flags (`no_cuda`) the other way round
                assignment[atom] = _SAYS_NO.search(atom.text) is not None
            case _:
                pass
    return truth(fact, assignment) is False


_SAYS_NO = re.compile(r"(?i)(?:^|_|\.)(?:no(?:t?[_\W]|cuda|gpu|$)|disable|cpu)")


def _says_available(text: str, kind: str) -> bool:
    """Whether a name says that devices of a type are there: `IS_MUSA_AVAILABLE`."""
    told = api.AVAILABILITY_NAME.search(text.removesuffix("()"))
    return told is not None and told[1].lower() == kind


def _device_in_scope(frame: Frame) -> str | None:
    """A name in scope whose device is chosen at run time, to be used instead of a literal."""
    names = [
        name
        for name, device in device_values.device_names(frame)
        if isinstance(device, (Choice, Symbol)) and _DEVICE_WORD.search(name)
    ]
    preferred = ("device", "self.device", "dev", "args.device", "DEVICE")
    if not names:
        return None
    return min(names, key=lambda name: preferred.index(name) if name in preferred else len(preferred))


def _device_of_a_parameter(frame: Frame) -> str | None:
    """Where the first tensor given to the function is."""
    for name, value in frame.env.names.items() if frame.function is not None else ():
        match value:
            case Tensor(device=Symbol(key=("device", ("parameter", _, parameter)))) if parameter == name:
                return f"{name}.device"
            case _:
                pass
    return None


_DEVICE_WORD = re.compile(r"(?i)(?:^|[._])(?:dev|device)(?:$|_)|device$")


def formatted_device(
    frame: Frame, node: cst.BaseExpression, known: str, parts: Sequence[cst.BaseExpression]
) -> Value:
    """`f"cuda:{rank}"`, `"cuda:%d" % rank`: an accelerator whose index is whatever the names in `parts` hold."""
    kind, colon, _ = known.partition(":")
    if kind not in api.ACCELERATOR_TYPES or not (colon or isinstance(node, cst.FormattedString)):
        return UNKNOWN
    keys: list[object] = []
    values: list[Value] = []
    for part in parts:
        match part:
            case cst.Call(func=cst.Name(value="str" | "int"), args=[cst.Arg(value=inner)]):
                part = inner
            case _:
                pass
        with frame.quietly():
            value = frame.evaluate(part)
        if value == Object(lost_index.GLOBAL_RANK):
            lost_index.check_rank(frame, part)
        keys.append(value.key if isinstance(value, Object) else (id(part), frame.uid, frame.salt))
        values.append(value)
    if colon:
        _see_numbered(frame, node, kind)
    if known == f"{kind}:" and len(values) == 1:
        chosen = device_values.of_chosen_index(kind, values[0])
        if chosen is not None:
            return DeviceValue(chosen, is_object=False)
    return DeviceValue(Symbol(("format", f"{kind}:", *keys), frame.analysis.text(node)), is_object=False)


def composed_device(frame: Frame, node: cst.BinaryOperation, left: Value) -> Value | None:
    """`"cuda:" + str(gpu)` and `"cuda:%d" % gpu`; None for anything else."""
    if not (isinstance(left, Literal) and isinstance(left.value, str)):
        return None
    match node.operator, node.right:
        case cst.Modulo(), cst.Tuple(elements=elements):
            parts = [element.value for element in elements]
        case ((cst.Modulo() | cst.Add()), right):
            parts = [right]
        case _:
            return None
    found = formatted_device(frame, node, left.value, parts)
    return None if found == UNKNOWN else found


def membership(frame: Frame, node: cst.CSTNode, left: Value, right: Value, *, negated: bool) -> Formula:
    """The condition of `left in right`: `"cuda" in str(device)` tests the device's type."""
    formula: Formula | None = None
    if isinstance(right, Entries) and isinstance(left, Literal) and _is_own_dict(frame, node):
        entries = dict(right.entries)
        if left.value in entries:
            held = _is_there(entries[left.value])
            return negate(held) if negated else held
        if not right.open:
            return Constant(negated)
    if isinstance(right, Items) and right.items and isinstance(left, Literal) and isinstance(left.value, str):
        unchanged = right.cell is None or right.cell not in frame.env.heap
        if unchanged and all(isinstance(item, Literal) for item in right.items):
            return Constant((left in right.items) != negated)
    if isinstance(right, Items) and isinstance(left, (DeviceValue, DeviceType, Object)):
        tests = [truths.equality(frame, node, left, item) for item in right.items]
        return negate(disjunction(*tests)) if negated else disjunction(*tests)
    if isinstance(left, Literal) and isinstance(left.value, str):
        kind = left.value.partition(":")[0]
        if kind in api.ACCELERATOR_TYPES or kind == "cpu":
            match right:
                case DeviceValue(device=device) | DeviceType(device=device):
                    formula = truths.device_is(frame, device, kind)
                case Object():
                    formula = truths.device_is(frame, device_values.as_device(right), kind)
                case Literal(value=str(text)):
                    return Constant((kind in text) != negated)
                case _:
                    pass
    if formula is None:
        formula = truths.opaque(frame, node)
    return negate(formula) if negated else formula


def _is_there(entry: Value) -> Formula:
    """The condition under which a dict has an entry: it was put there, or taken out, on one of two ways only."""
    match entry:
        case Either(guard, then, otherwise):
            return disjunction(
                conjunction(guard, _is_there(then)), conjunction(negate(guard), _is_there(otherwise))
            )
        case _:
            return Constant(entry != ABSENT)


def _is_own_dict(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a thing that the program has made holds the dict: a table of a module, or of a class, may be filled by files not read yet."""
    match node:
        case cst.Comparison(
            comparisons=[
                cst.ComparisonTarget(comparator=cst.Attribute(value=receiver, attr=cst.Name(value=name)))
            ]
        ) if frame.analysis.at_top or DRIVEN in frame.analysis.notes:
            with frame.quietly():
                thing = frame.evaluate(receiver)
            return isinstance(thing, Object) and name in frame.state(thing).attributes
        case _:
            return False


def starts_with(frame: Frame, receiver: Value, site: CallSite) -> Value:
    """`str(device).startswith("cuda")`: a test of the device's type."""
    prefix = site.positional()[0].value
    if isinstance(prefix, Literal) and isinstance(prefix.value, str):
        kind = prefix.value.partition(":")[0]
        formula = truths.device_is(frame, device_values.as_device(receiver), kind)
        if (kind in api.ACCELERATOR_TYPES or kind == "cpu") and formula is not None:
            return Truth(formula)
    return Truth(truths.opaque(frame, site.node))
