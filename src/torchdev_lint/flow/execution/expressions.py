"""Evaluating expressions other than calls."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import libcst as cst

from torchdev_lint.flow.activation.analysis import Printed
from torchdev_lint.flow.activation.frame import Frame, expression
from torchdev_lint.flow.calling import arrays, choices, paths, registries
from torchdev_lint.flow.calling.functions import evaluate_defaults, is_context_manager
from torchdev_lint.flow.domain.conditions import (
    FALSE,
    TRUE,
    Constant,
    Formula,
    conjunction,
    disjunction,
    known,
    negate,
    truth,
)
from torchdev_lint.flow.domain.environment import merge
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Symbol, choose
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Either,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Method,
    Object,
    Partial,
    Tensor,
    Truth,
    Value,
    alternatives,
    each_of,
    element_of,
    if_not_none,
    is_number,
    join,
    join_all,
    narrowed,
    without_cell,
)
from torchdev_lint.flow.execution import containers, truths, turns, yields
from torchdev_lint.flow.execution.iteration import counts_only, indexes_with, is_exact, iterate, rounds
from torchdev_lint.flow.execution.patterns import assign, item_name
from torchdev_lint.flow.instances import dict_classes, list_classes, special_methods
from torchdev_lint.flow.instances.objects import SET_BY_ANY_NAME, as_tuple, get_attribute
from torchdev_lint.flow.libraries import library_facts
from torchdev_lint.flow.mistakes import (
    device_indices,
    device_objects,
    host_reads,
    left_behind,
    literals,
    lost_index,
)
from torchdev_lint.flow.nn_modules import (
    library_parts,
    loaded_parts,
    module_containers,
    optimizers,
    parameter_groups,
)
from torchdev_lint.flow.syntax.trees import dotted
from torchdev_lint.flow.telling import attribution
from torchdev_lint.flow.torch_calls import indexing, operations, torch_devices
from torchdev_lint.flow.torch_calls.tensor_values import moved_tensor
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES


@expression(cst.Name)
def visit_Name(frame: Frame, node: cst.Name) -> Value:
    name = node.value
    known = _CONSTANTS.get(name)
    return frame.lookup(name) if known is None else known


_CONSTANTS = {"True": Literal(True), "False": Literal(False), "None": Literal(None)}


@expression(cst.Integer)
def visit_Integer(frame: Frame, node: cst.Integer) -> Value:
    return _constant(frame, node) or _keep(frame, node, int(node.value.replace("_", ""), 0))


@expression(cst.Float)
def visit_Float(frame: Frame, node: cst.Float) -> Value:
    return _constant(frame, node) or _keep(frame, node, float(node.value.replace("_", "")))


def _constant(frame: Frame, node: cst.BaseExpression) -> Literal | None:
    """The value of a constant that was met before."""
    return frame.analysis.constants.get(id(node))


def _keep(frame: Frame, node: cst.BaseExpression, value: float | str) -> Literal:
    kept = frame.analysis.constants[id(node)] = Literal(value, node)
    return kept


@expression(cst.SimpleString)
def visit_SimpleString(frame: Frame, node: cst.SimpleString) -> Value:
    known = _constant(frame, node)
    if known is None:
        if "b" in node.prefix.lower():
            return UNKNOWN
        # without a backslash it is what is written: to ask Python's parser takes a hundred times as long
        plain = "\\" not in node.value
        known = _keep(frame, node, str(node.raw_value if plain else node.evaluated_value))
    literals.see_string(frame, node, str(known.value))
    return known


@expression(cst.ConcatenatedString)
def visit_ConcatenatedString(frame: Frame, node: cst.ConcatenatedString) -> Value:
    with frame.quietly():
        left, right = frame.evaluate(node.left), frame.evaluate(node.right)
    if isinstance(left, Literal) and isinstance(right, Literal):
        text = f"{left.value}{right.value}"
        literals.see_string(frame, node, text)
        return Literal(text, node)
    return UNKNOWN


@expression(cst.FormattedString)
def visit_FormattedString(frame: Frame, node: cst.FormattedString) -> Value:
    text, literal, known = "", True, True
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            text += part.value
        elif isinstance(part, cst.FormattedStringExpression):
            with frame.quietly():
                value = frame.evaluate(part.expression)
            literal = literal and isinstance(part.expression, (cst.Integer, cst.SimpleString))
            if isinstance(value, Literal):
                text += str(value.value)
            else:
                known = False
    if not known:
        parts = [part.expression for part in node.parts if isinstance(part, cst.FormattedStringExpression)]
        return literals.formatted_device(frame, node, text, parts)
    if literal:
        literals.see_string(frame, node, text)
    return Literal(text, node)


@expression(cst.Attribute)
def visit_Attribute(frame: Frame, node: cst.Attribute) -> Value:
    receiver = frame.evaluate(node.value)
    value = get_attribute(frame, receiver, node.attr.value, node)
    if node.attr.value == "state" and isinstance(receiver, Object):
        optimizers.note_read(frame, receiver)
    if node.attr.value == "param_groups" and isinstance(value, Object):
        value = parameter_groups.read(frame, receiver) or value
    if node.attr.value in ("is_cuda", "type"):
        lost_index.note_question(frame, node, receiver, value)
    return _settled(frame, receiver, value) if type(value) is Either else value


def _settled(frame: Frame, receiver: Value, value: Either) -> Value:
    """What an attribute is where the conditions on the way hold; unknown where one of some name may have been set."""
    settled = narrowed(value, frame.env.path)
    may_be_set = isinstance(receiver, Object) and (SET_BY_ANY_NAME, receiver.key) in frame.analysis.notes
    return UNKNOWN if may_be_set and UNKNOWN in alternatives(settled) else settled


@expression(cst.Tuple, cst.List, cst.Set)
def visit_Tuple(frame: Frame, node: cst.Tuple | cst.List | cst.Set) -> Value:
    if literals.is_text(node):
        with frame.quietly():
            return _display(frame, node)
    return _display(frame, node)


def visit_unpacked(frame: Frame, node: cst.Tuple, count: int) -> Value:
    """A tuple with one star that is unpacked to so many names: `b, n, _, device = *x.shape, x.device`."""
    with frame.quietly() if literals.is_text(node) else nullcontext():
        return _display(frame, node, count - len(node.elements) + 1)


def _display(frame: Frame, node: cst.Tuple | cst.List | cst.Set, starred: int | None = None) -> Value:
    """`starred`: how many things the only star stands for, where that is known."""
    values: list[Value] = []
    fixed = True
    for element in node.elements:
        value = frame.evaluate(element.value)
        if type(element) is cst.StarredElement:
            if isinstance(value, Object):
                value = module_containers.spread(frame, value)
            if isinstance(value, Items):
                values += value.items
            elif starred is not None:
                values += [element_of(value)] * starred
            else:
                values.append(element_of(value))
                fixed = False
        else:
            values.append(value)
    made = containers.sequence(values, fixed=fixed)
    if type(node) is cst.Tuple:
        return replace(made, kind="tuple")
    return containers.with_cell(frame, node, replace(made, kind="list") if type(node) is cst.List else made)


@expression(cst.Dict)
def visit_Dict(frame: Frame, node: cst.Dict) -> Value:
    with frame.quietly() if literals.is_text(node) else nullcontext():
        return _dict_display(frame, node)


def _dict_display(frame: Frame, node: cst.Dict) -> Value:
    result = Entries(())
    for element in node.elements:
        value = frame.evaluate(element.value)
        if isinstance(element, cst.DictElement):
            with frame.quietly():
                key = frame.evaluate(element.key)
            result = result.updated(key.value, value) if isinstance(key, Literal) else result.opened(value)
        else:
            result = containers.merged(result, dict_classes.as_dict(frame, value))
    return containers.with_cell(frame, node, result)


@expression(cst.IfExp)
def visit_IfExp(frame: Frame, node: cst.IfExp) -> Value:
    test = truths.condition(frame, node.test)
    moves = _may_move(node)
    settled = truth(test, known(frame.env.path).assignment)
    # of a mere value both cases are read: in a choice within a choice, as a fix may write it, one of them is settled
    if settled is not None and (moves or test in (TRUE, FALSE)):
        return frame.evaluate(node.body if settled else node.orelse)
    if _takes_one_of_many(frame, node):
        return frame.evaluate(node.body)
    if moves:
        then, otherwise = frame.either(
            test, lambda: frame.evaluate(node.body), lambda: frame.evaluate(node.orelse)
        )
    else:
        with frame.assuming(test):
            then = frame.evaluate(node.body)
        with frame.assuming(negate(test)):
            otherwise = frame.evaluate(node.orelse)
    lost_index.check_choice(frame, node, test, then, otherwise)
    return _choice(test, then, otherwise)


def _takes_one_of_many(frame: Frame, node: cst.IfExp) -> bool:
    """Whether one of any number of things is taken, `caches[i] if caches else None`: where there is none, nothing is meant to be."""
    match node:
        case cst.IfExp(test=test, body=cst.Subscript(value=held), orelse=cst.Name(value="None")) if dotted(
            test
        ) is not None and dotted(test) == dotted(held):
            with frame.quietly():
                value = frame.evaluate(test)
            return isinstance(value, Many) and all(
                isinstance(one, Tensor)
                or (isinstance(one, Object) and frame.state(one).kind in ("instance", "module"))
                for one in each_of(value.element)
            )
        case _:
            return False


def _may_move(node: cst.IfExp) -> bool:
    """Whether a conditional expression may move something in one case: `net.cuda() if gpu else net.cpu()`."""
    calls = [part.func for part in (node.body, node.orelse) if isinstance(part, cst.Call)]
    return len(calls) == 2 or any(
        isinstance(called, cst.Attribute) and called.attr.value in IN_PLACE_MOVES for called in calls
    )


def _choice(test: Formula, then: Value, otherwise: Value) -> Value:
    """A conditional value; two devices (objects or strings) join to a device, so that they keep one identity."""
    from torchdev_lint.flow.torch_calls.device_values import as_device

    def device_like(value: Value) -> bool:
        if isinstance(value, Literal):
            return isinstance(value.value, str) and as_device(value) != UNKNOWN_DEVICE
        return isinstance(value, (DeviceValue, DeviceType))

    if device_like(then) and device_like(otherwise) and then != otherwise:
        is_object = all(isinstance(value, DeviceValue) and value.is_object for value in (then, otherwise))
        return DeviceValue(choose(test, as_device(then), as_device(otherwise)), is_object=is_object)
    return join(test, then, otherwise)


@expression(cst.BooleanOperation)
def visit_BooleanOperation(frame: Frame, node: cst.BooleanOperation) -> Value:
    left = frame.evaluate(node.left)
    left_truth = truths.truth_of(frame, node.left, left)
    is_and = isinstance(node.operator, cst.And)
    device_indices.check_default(frame, node)
    reached = left_truth if is_and else negate(left_truth)
    # what is never evaluated fails never (`isinstance(device, str) and device == "cpu"`)
    frame.analysis.muted += reached == FALSE
    with frame.assuming(reached):
        right = frame.evaluate(node.right)
    frame.analysis.muted -= reached == FALSE
    right_truth = truths.truth_of(frame, node.right, right)
    if isinstance(left_truth, Constant) and not isinstance(left, Truth):
        return right if left_truth.value == is_and else left
    if isinstance(left, (Truth, Literal)) and isinstance(right, Truth):
        return Truth(conjunction(left_truth, right_truth) if is_and else disjunction(left_truth, right_truth))
    if not is_and and _is_number(right) and all(_is_given(frame, one) for one in alternatives(left)):
        return UNKNOWN  # `count or 0`: a tensor of several numbers cannot be asked whether it is true
    if isinstance(right, _THINGS) and not isinstance(left, Truth):
        return _choice(left_truth, right, left) if is_and else _choice(left_truth, left, right)
    if isinstance(left, Truth) and is_and and isinstance(right, (DeviceValue, Literal)):
        # the old idiom `available and "cuda" or "cpu"`
        return Either(left_truth, right, Literal(False))
    return Truth(conjunction(left_truth, right_truth) if is_and else disjunction(left_truth, right_truth))


def _is_given(frame: Frame, value: Value) -> bool:
    """Whether a value is an argument as it was given, of which nothing else is known."""
    match value:
        case Literal(value=None):
            return True
        case Object(key=("parameter", *_)):
            return frame.state(value).kind == "unknown"
        case Tensor(device=Symbol(key=("device", ("parameter", *_)))):
            return True
        case _:
            return False


def _is_number(value: Value) -> bool:
    return (
        isinstance(value, Literal)
        and isinstance(value.value, (int, float))
        and not isinstance(value.value, bool)
    )


_THINGS = (
    Tensor,
    DeviceValue,
    Object,
    Literal,
    Either,
    Function,
    Class,
    Partial,
    Method,
    Items,
    Entries,
)
"""What is no truth itself, where it is an operand of `or` and `and`."""


@expression(cst.UnaryOperation)
def visit_UnaryOperation(frame: Frame, node: cst.UnaryOperation) -> Value:
    if isinstance(node.operator, cst.Not):
        return Truth(negate(truths.condition(frame, node.expression)))
    value = frame.evaluate(node.expression)
    match value:
        case Literal(value=int() | float() as number) if isinstance(node.operator, cst.Minus):
            return Literal(-number)
        case Tensor():
            return replace(value, parameter=False)
        case _:
            return moved_tensor(frame, value) or arrays.negated(frame, node, value)


@expression(cst.BinaryOperation)
def visit_BinaryOperation(frame: Frame, node: cst.BinaryOperation) -> Value:
    kind = type(node.left)
    if kind is cst.SimpleString or kind is cst.FormattedString:
        with frame.quietly():
            left, right = frame.evaluate(node.left), frame.evaluate(node.right)
    elif (kind is cst.List or kind is cst.Tuple) and type(node.operator) is cst.Multiply:
        # `["cuda:0"] * torch.cuda.is_available()`
        right = frame.evaluate(node.right)
        with frame.assuming(right.formula if isinstance(right, Truth) else TRUE):
            left = frame.evaluate(node.left)
    else:
        left, right = frame.evaluate(node.left), frame.evaluate(node.right)
    folded = literals.fold(node, left, right)
    if folded is not None:
        if literals.is_literal(node.left) and literals.is_literal(node.right):
            literals.see_string(frame, node, str(folded.value))
        return folded
    composed = literals.composed_device(frame, node, left)
    if composed is not None:
        return composed
    own = special_methods.binary_operation(frame, node, left, right)
    if own is not None:
        return own
    contained = containers.binary_operation(frame, node, left, right)
    if contained is not None:
        return contained
    path = paths.divided(frame, node, left, right)
    if path is not None:
        return path
    last = torch_devices.last_index(frame, node, left, right)
    if last is not None:
        return last
    left_over = torch_devices.remainder(node, left, right)
    if left_over is not None:
        return left_over
    left, right = loaded_parts.under_one_key(frame, node, left, right)
    result = operations.binary_operation(frame, node, left, right)
    host_reads.check_operation(frame, node, left, right)
    return (
        arrays.operated(frame, node, left, right) if result == UNKNOWN and not is_number(result) else result
    )


@expression(cst.Comparison)
def visit_Comparison(frame: Frame, node: cst.Comparison) -> Value:
    if frame.loops and (told := turns.settled(frame, node)) is not None:
        return Truth(told)
    if (typed := truths.tensor_type_is(frame, node)) is not None:
        return Truth(typed)
    with Printed(frame.analysis):
        left = frame.evaluate(node.left)
        comparisons = [(target.operator, frame.evaluate(target.comparator)) for target in node.comparisons]
    device_objects.check_chain(frame, node, [left, *(value for _, value in comparisons)])
    if len(comparisons) != 1:
        return Truth(truths.opaque(frame, node))
    operator, right = comparisons[0]
    kind = type(operator)
    if kind is cst.Is or kind is cst.IsNot:
        formula = truths.identity(frame, node, left, right)
        return Truth(formula if kind is cst.Is else negate(formula))
    if kind is cst.In or kind is cst.NotIn:
        return Truth(literals.membership(frame, node, left, right, negated=kind is cst.NotIn))
    if isinstance(left, Tensor) or isinstance(right, Tensor) or _is_of_moved(frame, left, right):
        return operations.binary_operation(frame, node, left, right)
    mask = arrays.compared(frame, node, left, right)
    if mask is not None:
        return mask
    if kind is cst.Equal or kind is cst.NotEqual:
        formula = truths.equality(frame, node, left, right)
        return Truth(formula if kind is cst.Equal else negate(formula))
    return Truth(truths.compare_numbers(frame, node, operator, left, right))


def _is_of_moved(frame: Frame, left: Value, right: Value) -> bool:
    """Whether something that was moved is compared with a number, `x > 0`: a tensor, element by element."""
    return (
        moved_tensor(frame, left) is not None
        and isinstance(right, Literal)
        and isinstance(right.value, (int, float))
    )


@expression(cst.Subscript)
def visit_Subscript(frame: Frame, node: cst.Subscript) -> Value:
    selected = _selection(frame, node)
    if selected is not None:
        return selected
    value = frame.evaluate(node.value)
    keys: list[Value] = []
    for element in node.slice:
        if type(element.slice) is cst.Index:
            with frame.quietly():
                keys.append(frame.evaluate(element.slice.value))
        elif type(element.slice) is cst.Slice:
            parts = (element.slice.lower, element.slice.upper, element.slice.step)
            bounds = [None if part is None else frame.evaluate(part) for part in parts]
            if isinstance(value, (Items, Many)) and len(node.slice) == 1:
                return containers.sliced(value, bounds)
            fields = as_tuple(frame, value) if isinstance(value, Object) else None
            if fields is not None and len(node.slice) == 1:
                return containers.sliced(fields, bounds)
            held = list_classes.iterated(frame, value)
            if isinstance(held, (Items, Many)) and len(node.slice) == 1:
                return containers.sliced(held, bounds)
            if isinstance(value, Object) and len(node.slice) == 1:
                if library_parts.is_one(frame, value):
                    return value
                part = module_containers.sliced(frame, value, bounds, node)
                return part if part != UNKNOWN else _some_of(frame, value, node)
            keys.append(UNKNOWN)
    if isinstance(value, Object):
        host_reads.check_index(frame, node, value, keys)
    found = subscript(frame, node, value, keys)
    if isinstance(found, Object) and found.key[0] == "item":
        return left_behind.read_in_place(frame, node, found) or found
    return found


_DISPLAYS = (cst.Tuple, cst.List, cst.Dict)


def _selection(frame: Frame, node: cst.Subscript) -> Value | None:
    """`("cpu", "cuda")[available]` and `{True: a, False: b}[flag]`: a choice by a condition."""
    if type(node.value) not in _DISPLAYS:
        return None
    match node:
        case cst.Subscript(
            value=cst.Tuple(elements=[cst.Element(value=no), cst.Element(value=yes)])
            | cst.List(elements=[cst.Element(value=no), cst.Element(value=yes)]),
            slice=[cst.SubscriptElement(slice=cst.Index(value=index))],
        ):
            pass
        case cst.Subscript(
            value=cst.Dict(
                elements=[
                    cst.DictElement(key=cst.Name(value="True" | "False" as first), value=one),
                    cst.DictElement(key=cst.Name(value="True" | "False"), value=other),
                ]
            ),
            slice=[cst.SubscriptElement(slice=cst.Index(value=index))],
        ):
            yes, no = (one, other) if first == "True" else (other, one)
        case _:
            return None
    key = frame.evaluate(index)
    if not isinstance(key, Truth):
        return None
    with frame.assuming(key.formula):
        then = frame.evaluate(yes)
    with frame.assuming(negate(key.formula)):
        otherwise = frame.evaluate(no)
    return _choice(key.formula, then, otherwise)


def subscript(frame: Frame, node: cst.CSTNode, value: Value, keys: list[Value]) -> Value:
    """The value of `value[keys]`."""
    key = keys[0] if len(keys) == 1 else UNKNOWN
    value = if_not_none(value)
    if len(keys) > 1 and isinstance(value, Object) and frame.state(value).kind == "instance":
        key = Items(tuple(keys))  # `book[height, width]`, as its class is given it
    match value, key:
        case Items(items), Literal(value=int(index)) if -len(items) <= index < len(items):
            return items[index]
        case Items(items=(no, yes)), Truth(formula):
            return _choice(formula, yes, no)
        case Items(items), _:
            chosen = choices.one_of(frame, node, dict(enumerate(items)), key)
            return without_cell(element_of(value)) if chosen is None else chosen
        case Many(), _:
            return without_cell(element_of(value))
        case Entries(open=False), Either() if containers.are_literals(key):
            return containers.looked_up(value, key, UNKNOWN)
        case Entries(), Truth(formula) if {True, False} <= {name for name, _ in value.entries}:
            return _choice(formula, value.get(True), value.get(False))
        case Entries(open=is_open), _:
            value = registries.filled(frame, value, key)
            chosen = None if is_open else choices.one_of(frame, node, dict(value.entries), key)
            found = containers.item(value, key) if chosen is None else chosen
            return found if isinstance(key, Literal) else without_cell(found)
        case Tensor(mapping=True) | Tensor(batch=True), _:
            return Tensor(value.device, guess=value.guess)
        case Tensor(guess=guess), _:
            part = indexing.index(frame, node, value, keys)
            return replace(part, guess=True) if guess and isinstance(part, Tensor) else part
        case Object(), _:
            if isinstance(node, cst.Subscript) and not isinstance(key, Literal):
                kept = frame.state(value).attributes.get(item_name(frame, node) or "")
                if kept is not None:
                    return kept
            return _item_of_object(frame, value, key, node)
        case Either(guard, then, otherwise), _:
            with frame.assuming(guard):
                left = subscript(frame, node, then, keys)
            with frame.assuming(negate(guard)):
                right = subscript(frame, node, otherwise, keys)
            if isinstance(left, Tensor) and isinstance(right, Tensor) and left.guess != right.guess:
                return Either(guard, left, right)  # of one it is known that it is a tensor
            return join(guard, left, right)
        case ((Api() as api), _) if api.path.startswith("builtins.") or (
            dict_classes.is_base(api.path) or list_classes.is_base(api.path)
        ):
            return api
        case Api() as api, _:
            return arrays.joined(frame, api, node)
        case _:
            return UNKNOWN


def _some_of(frame: Frame, thing: Object, node: cst.CSTNode) -> Value:
    """A part of an unknown thing, by an index that is not known either: another one at each place in the text."""
    known = (
        attribution.root_of(thing.key)[:1] == ("parameter",)
        or arrays.is_array(frame, thing)
        or library_facts.is_of_library(frame, thing)
        or loaded_parts.place_of(frame, thing) is not None
    )
    if frame.state(thing).kind != "unknown" or not known:
        return UNKNOWN
    text = frame.analysis.text(node) if isinstance(node, cst.Subscript) else ""
    return arrays.indexed(frame, thing, Object(("item", thing.key, f"at {id(node)}"), text), node)


def _has_several_keys(node: cst.CSTNode) -> bool:
    """Whether several things stand between the brackets, all of them written out."""
    if not isinstance(node, cst.Subscript):
        return False
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Tuple(elements=elements)))]:
            return len(elements) > 1
        case parts:
            return len(parts) > 1


def _item_of_object(frame: Frame, thing: Object, key: Value, node: cst.CSTNode) -> Value:
    state = frame.state(thing)
    if isinstance(key, Literal):
        held = state.attributes.get(f"[{key.value!r}]")
        if held is not None:
            return held
    fields = as_tuple(frame, thing)
    if fields is not None:
        return subscript(frame, cst.Name("_"), fields, [key])
    part = module_containers.part(frame, thing, key)
    if part is not None:
        return part
    own = special_methods.item(frame, node, thing, key)
    if own is not None:
        return own
    entries = dict_classes.held_by(frame, thing)
    if entries is not None:
        return _entry(frame, thing, entries, key, node)
    items = list_classes.held_by(frame, thing)
    if items is not None:
        return subscript(frame, node, items, [key])
    moved = moved_tensor(frame, thing)
    if moved is not None:
        # of a tensor, or of a batch: they move as a whole, and only tensors have an `x[0, 1]`
        return replace(moved, guess=not _has_several_keys(node))
    if thing.key[0] == "attr" and thing.key[2] == "__dict__" and isinstance(key, Literal):
        return get_attribute(frame, Object(thing.key[1]), str(key.value), node)
    if isinstance(key, Literal) and not (isinstance(key.value, int) and state.element != UNKNOWN):
        text = f"{thing.text}[{key.value!r}]" if thing.text else ""
        return Object(("item", thing.key, repr(key.value)), text)
    if state.element != UNKNOWN:
        return state.element
    if isinstance(key, Object):
        return Object(("item", thing.key, key.key), "")
    return _some_of(frame, thing, node)


def _entry(frame: Frame, thing: Object, entries: Entries, key: Value, node: cst.CSTNode) -> Value:
    """`thing[key]` of an instance of a class that derives from `dict`; what is not there is what its `__missing__` gives."""
    held = subscript(frame, node, entries, [key])
    if isinstance(key, Literal) and any(name == key.value for name, _ in entries.entries):
        return held
    function = frame.function
    if (
        held != UNKNOWN
        and function is not None
        and function.name == "__missing__"
        and function.receiver == thing
    ):
        return held  # which it has put there itself
    given = special_methods.missing(frame, node, thing, key)
    if given is None:
        return held
    return given if held == UNKNOWN else join_all([held, given])


@expression(cst.NamedExpr)
def visit_NamedExpr(frame: Frame, node: cst.NamedExpr) -> Value:
    value = frame.evaluate(node.value)
    assign(frame, node.target, value)
    return value


@expression(cst.Lambda)
def visit_Lambda(frame: Frame, node: cst.Lambda) -> Value:
    defaults = evaluate_defaults(frame, node)
    return Function(node, "<lambda>", frame, defaults=defaults)


@expression(cst.ListComp, cst.SetComp, cst.GeneratorExp)
def visit_Comprehension(frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> Value:
    found, exact = _comprehension(frame, node.for_in, [node.elt])
    results = [values[0] for values in found]
    made = containers.sequence(results, fixed=exact and not isinstance(node, cst.SetComp))
    if isinstance(node, cst.GeneratorExp):
        return made
    return containers.with_cell(
        frame, node, replace(made, kind="list") if isinstance(node, cst.ListComp) else made
    )


@expression(cst.DictComp)
def visit_DictComp(frame: Frame, node: cst.DictComp) -> Value:
    result = Entries(())
    elements = [node.key, node.value]
    match node.value:
        case cst.IfExp(test=cst.Comparison(left=asked), body=body, orelse=orelse) if asked.deep_equals(
            node.key
        ):
            elements += [body, orelse]
        case _:
            pass
    for key, value, *either in _comprehension(frame, node.for_in, elements)[0]:
        # whichever key is looked up later, it settles what was asked of one that is not known
        some = join(None, *either) if either else value
        result = result.updated(key.value, value) if isinstance(key, Literal) else result.opened(some)
    return containers.with_cell(frame, node, result)


def _comprehension(
    frame: Frame, for_in: cst.CompFor, elements: list[cst.BaseExpression]
) -> tuple[list[list[Value]], bool]:
    """The values of the elements, once for each known item; whether there is one for each item, no more, no less."""
    results: list[list[Value]] = []
    names, path = dict(frame.env.names), frame.env.path
    source = frame.evaluate(for_in.iter)
    items = [iterate(frame, source)]
    exact = False
    if not for_in.ifs and not (counts_only(for_in.iter) and not indexes_with(frame, for_in.target, elements)):
        items = rounds(frame, source)
        exact = for_in.inner_for_in is None and is_exact(frame, source)
    elif for_in.ifs and for_in.inner_for_in is None and is_exact(frame, source):
        chosen = _chosen(frame, for_in, rounds(frame, source))
        exact = chosen is not None
        items = items if chosen is None else chosen
        frame.env.names, frame.env.path = dict(names), path
    outer_round = frame.round
    for index, item in enumerate(items):
        if len(items) > 1:
            frame.round = (*outer_round, index)
        assign(frame, for_in.target, item)
        for test in for_in.ifs:
            frame.env.assume(truths.condition(frame, test.test))
        clause = for_in.inner_for_in
        while clause is not None:
            assign(frame, clause.target, iterate(frame, frame.evaluate(clause.iter)))
            for test in clause.ifs:
                frame.env.assume(truths.condition(frame, test.test))
            clause = clause.inner_for_in
        results.append([frame.evaluate(element) for element in elements])
        frame.env.names, frame.env.path, frame.round = dict(names), path, outer_round
    return results, exact


def _chosen(frame: Frame, for_in: cst.CompFor, items: Sequence[Value]) -> list[Value] | None:
    """Those of known items that the conditions let through: `for k, v in t.items() if k != "id"`; None if that is not known of all."""
    chosen: list[Value] = []
    for item in items:
        assign(frame, for_in.target, item)
        for clause in for_in.ifs:
            test = truths.condition(frame, clause.test)
            if test == FALSE:
                break
            if test != TRUE:
                return None
        else:
            chosen.append(item)
    return chosen


@expression(cst.Await)
def visit_Await(frame: Frame, node: cst.Await) -> Value:
    return frame.evaluate(node.expression)


@expression(cst.Yield)
def visit_Yield(frame: Frame, node: cst.Yield) -> Value:
    sent: Value = UNKNOWN
    if isinstance(node.value, cst.From):
        inner = frame.evaluate(node.value.item)
        for one in (inner.each if isinstance(inner, Many) else ()) or (iterate(frame, inner),):
            yields.note(frame, one)
    elif node.value is not None:
        discarded = frame.discarded
        yields.note(frame, frame.evaluate(node.value))
        frame.receives = frame.receives or discarded is not node
        sent = frame.sent
    if frame.first_yield is None:
        # it waits here once what it gives is made
        frame.first_yield = frame.env.copy()
    elif frame.function is not None and is_context_manager(frame.function):
        # on another way: `if gpu is None: yield; return`
        frame.first_yield = merge(frame.first_yield, frame.env)
    return sent
