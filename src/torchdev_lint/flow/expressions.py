"""Evaluating expressions other than calls."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from torchdev_lint.flow import literals, tensors, truths
from torchdev_lint.flow.conditions import TRUE, Constant, Formula, conjunction, disjunction, negate
from torchdev_lint.flow.frame import Frame, expression
from torchdev_lint.flow.functions import evaluate_defaults
from torchdev_lint.flow.lattice import UNKNOWN_DEVICE, choose
from torchdev_lint.flow.objects import get_attribute
from torchdev_lint.flow.patterns import assign
from torchdev_lint.flow.values import (
    UNKNOWN,
    Api,
    DeviceType,
    DeviceValue,
    Either,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Truth,
    Value,
    element_of,
    join,
    join_all,
)
from torchdev_lint.torch_api.modules import CONTAINERS


@expression(cst.Name)
def visit_Name(frame: Frame, node: cst.Name) -> Value:
    match node.value:
        case "True":
            return Literal(True)
        case "False":
            return Literal(False)
        case "None":
            return Literal(None)
        case name:
            return frame.lookup(name)


@expression(cst.Integer)
def visit_Integer(frame: Frame, node: cst.Integer) -> Value:
    return Literal(int(node.value.replace("_", ""), 0), node)


@expression(cst.Float)
def visit_Float(frame: Frame, node: cst.Float) -> Value:
    return Literal(float(node.value.replace("_", "")), node)


@expression(cst.SimpleString)
def visit_SimpleString(frame: Frame, node: cst.SimpleString) -> Value:
    if "b" in node.prefix.lower():
        return UNKNOWN
    text = str(node.evaluated_value)
    literals.see_string(frame, node, text)
    return Literal(text, node)


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
        return literals.formatted_device(frame, node, text)
    if literal:
        literals.see_string(frame, node, text)
    return Literal(text, node)


@expression(cst.Attribute)
def visit_Attribute(frame: Frame, node: cst.Attribute) -> Value:
    return get_attribute(frame, frame.evaluate(node.value), node.attr.value, node)


@expression(cst.Tuple, cst.List, cst.Set)
def visit_Tuple(frame: Frame, node: cst.Tuple | cst.List | cst.Set) -> Value:
    if literals.is_menu(node):
        # several device names with the CPU among them: names to choose from, not a use of each
        with frame.quietly():
            return _display(frame, node)
    return _display(frame, node)


def _display(frame: Frame, node: cst.Tuple | cst.List | cst.Set) -> Value:
    values: list[Value] = []
    fixed = True
    for element in node.elements:
        value = frame.evaluate(element.value)
        if isinstance(element, cst.StarredElement):
            if isinstance(value, Items):
                values += value.items
            else:
                values.append(element_of(value))
                fixed = False
        else:
            values.append(value)
    return Items(tuple(values)) if fixed and len(values) <= 32 else Many(join_all(values))


@expression(cst.Dict)
def visit_Dict(frame: Frame, node: cst.Dict) -> Value:
    result = Entries(())
    for element in node.elements:
        value = frame.evaluate(element.value)
        if isinstance(element, cst.DictElement):
            with frame.quietly():
                key = frame.evaluate(element.key)
            if isinstance(key, Literal) and isinstance(key.value, str):
                result = result.updated(key.value, value)
            else:
                result = replace(result, default=value)
        elif isinstance(value, Entries):
            for name, entry in value.entries:
                result = result.updated(name, entry)
    return result


@expression(cst.IfExp)
def visit_IfExp(frame: Frame, node: cst.IfExp) -> Value:
    test = truths.condition(frame, node.test)
    with frame.assuming(test):
        then = frame.evaluate(node.body)
    with frame.assuming(negate(test)):
        otherwise = frame.evaluate(node.orelse)
    if test == TRUE:
        return then
    if negate(test) == TRUE:
        return otherwise
    return _choice(test, then, otherwise)


def _choice(test: Formula, then: Value, otherwise: Value) -> Value:
    """A conditional value; two devices (objects or strings) join to a device, so that they keep one identity."""
    from torchdev_lint.flow.device_values import as_device

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
    with frame.assuming(left_truth if is_and else negate(left_truth)):
        right = frame.evaluate(node.right)
    right_truth = truths.truth_of(frame, node.right, right)
    if isinstance(left, Literal) and isinstance(left_truth, Constant):
        return right if left_truth.value == is_and else left
    if isinstance(left, (Truth, Literal)) and isinstance(right, Truth):
        return Truth(conjunction(left_truth, right_truth) if is_and else disjunction(left_truth, right_truth))
    if isinstance(right, (Tensor, DeviceValue, Object, Literal, Either)) and not isinstance(left, Truth):
        return _choice(left_truth, right, left) if is_and else _choice(left_truth, left, right)
    if isinstance(left, Truth) and is_and and isinstance(right, (DeviceValue, Literal)):
        # the old idiom `available and "cuda" or "cpu"`
        return Either(left_truth, right, Literal(False))
    return Truth(conjunction(left_truth, right_truth) if is_and else disjunction(left_truth, right_truth))


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
            return UNKNOWN


@expression(cst.BinaryOperation)
def visit_BinaryOperation(frame: Frame, node: cst.BinaryOperation) -> Value:
    if isinstance(node.left, (cst.SimpleString, cst.FormattedString)):
        with frame.quietly():
            left, right = frame.evaluate(node.left), frame.evaluate(node.right)
    elif isinstance(node.operator, cst.Multiply) and isinstance(node.left, (cst.List, cst.Tuple)):
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
    return tensors.binary_operation(frame, node, left, right)


@expression(cst.Comparison)
def visit_Comparison(frame: Frame, node: cst.Comparison) -> Value:
    with frame.quietly():
        left = frame.evaluate(node.left)
        comparisons = [(target.operator, frame.evaluate(target.comparator)) for target in node.comparisons]
    if len(comparisons) != 1:
        return Truth(truths.opaque(frame, node))
    operator, right = comparisons[0]
    if isinstance(operator, (cst.Is, cst.IsNot)):
        formula = truths.identity(frame, node, left, right)
        return Truth(formula if isinstance(operator, cst.Is) else negate(formula))
    if isinstance(operator, (cst.In, cst.NotIn)):
        return Truth(literals.membership(frame, node, left, right, negated=isinstance(operator, cst.NotIn)))
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return tensors.binary_operation(frame, node, left, right)
    if isinstance(operator, (cst.Equal, cst.NotEqual)):
        formula = truths.equality(frame, node, left, right)
        return Truth(formula if isinstance(operator, cst.Equal) else negate(formula))
    counted = literals.device_count(operator, left, right)
    return Truth(
        counted if counted is not None else truths.compare_numbers(frame, node, operator, left, right)
    )


@expression(cst.Subscript)
def visit_Subscript(frame: Frame, node: cst.Subscript) -> Value:
    selected = _selection(frame, node)
    if selected is not None:
        return selected
    value = frame.evaluate(node.value)
    keys: list[Value] = []
    for element in node.slice:
        if isinstance(element.slice, cst.Index):
            with frame.quietly():
                keys.append(frame.evaluate(element.slice.value))
        elif isinstance(element.slice, cst.Slice):
            for part in (element.slice.lower, element.slice.upper, element.slice.step):
                if part is not None:
                    frame.evaluate(part)
            keys.append(UNKNOWN)
    return subscript(frame, node, value, keys)


def _selection(frame: Frame, node: cst.Subscript) -> Value | None:
    """`("cpu", "cuda")[available]` and `{True: a, False: b}[flag]`: a choice by a condition."""
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
    match value, key:
        case Items(items), Literal(value=int(index)) if -len(items) <= index < len(items):
            return items[index]
        case Items(items), _ if isinstance(node, cst.Subscript) and _is_slice(node):
            return Many(element_of(value))
        case ((Items() | Many()), _):
            return value if isinstance(node, cst.Subscript) and _is_slice(node) else element_of(value)
        case Entries(), Literal(value=str(name)):
            return value.get(name)
        case Tensor(mapping=True) | Tensor(batch=True), _:
            return Tensor(value.device)
        case Tensor(), _:
            return tensors.index(frame, node, value, keys)
        case Object(), Literal(value=constant):
            held = frame.state(value).attributes.get(f"[{constant!r}]")
            if held is not None:
                return held
            return Object(
                ("item", value.key, repr(constant)), f"{value.text}[{constant!r}]" if value.text else ""
            )
        case Either(guard, then, otherwise), _:
            return join(guard, subscript(frame, node, then, keys), subscript(frame, node, otherwise, keys))
        case Object(), _ if frame.state(value).element != UNKNOWN:
            return frame.state(value).element
        case Object(), Object():
            return Object(("item", value.key, key.key), "")
        case ((Api() as api), _) if api.path.startswith("builtins."):
            return api
        case _:
            return UNKNOWN


def _is_slice(node: cst.Subscript) -> bool:
    return any(isinstance(element.slice, cst.Slice) for element in node.slice)


@expression(cst.NamedExpr)
def visit_NamedExpr(frame: Frame, node: cst.NamedExpr) -> Value:
    value = frame.evaluate(node.value)
    assign(frame, node.target, value)
    return value


@expression(cst.Lambda)
def visit_Lambda(frame: Frame, node: cst.Lambda) -> Value:
    evaluate_defaults(frame, node.params)
    return Function(node, "<lambda>", frame)


@expression(cst.ListComp, cst.SetComp, cst.GeneratorExp)
def visit_Comprehension(frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> Value:
    results = [values[0] for values in _comprehension(frame, node.for_in, [node.elt])]
    source_known = len(results) > 1 and node.for_in.inner_for_in is None
    return (
        Items(tuple(results))
        if source_known and not isinstance(node, cst.SetComp)
        else Many(join_all(results))
    )


@expression(cst.DictComp)
def visit_DictComp(frame: Frame, node: cst.DictComp) -> Value:
    result = Entries(())
    for key, value in _comprehension(frame, node.for_in, [node.key, node.value]):
        if isinstance(key, Literal) and isinstance(key.value, str):
            result = result.updated(key.value, value)
        else:
            result = replace(
                result, default=value if result.default == UNKNOWN else join(None, result.default, value)
            )
    return result


MAX_UNROLLED = 6
"""Loops over containers of at most this many known items are run item by item."""


def rounds(frame: Frame, source: Value) -> list[Value]:
    """What the target of a loop is bound to, iteration by iteration: each known item, or one that stands for all."""
    if isinstance(source, Items) and 0 < len(source.items) <= MAX_UNROLLED:
        return list(source.items)
    if isinstance(source, Object) and frame.state(source).api in CONTAINERS:
        state = frame.state(source)
        held = [
            value
            for name, value in state.attributes.items()
            if name in state.registered and name.startswith("[")
        ]
        if 0 < len(held) <= MAX_UNROLLED:
            return held
    if isinstance(source, Entries) and source.default == UNKNOWN and 0 < len(source.entries) <= MAX_UNROLLED:
        return [Literal(key) for key, _ in source.entries]
    return [iterate(frame, source)]


def _comprehension(
    frame: Frame, for_in: cst.CompFor, elements: list[cst.BaseExpression]
) -> list[list[Value]]:
    results: list[list[Value]] = []
    names, path = dict(frame.env.names), frame.env.path
    source = frame.evaluate(for_in.iter)
    items = rounds(frame, source) if not for_in.ifs else [iterate(frame, source)]
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
    return results


def iterate(frame: Frame, value: Value) -> Value:
    """What a `for` over the value binds its target to."""
    match value:
        case Object():
            state = frame.state(value)
            if state.element != UNKNOWN:
                return state.element
            return Object(("item", value.key), f"an item of {value.text}" if value.text else "")
        case Either(guard, then, otherwise):
            return join(guard, iterate(frame, then), iterate(frame, otherwise))
        case Tensor(mapping=True):
            return UNKNOWN
        case _:
            return element_of(value)


@expression(cst.Await)
def visit_Await(frame: Frame, node: cst.Await) -> Value:
    return frame.evaluate(node.expression)


@expression(cst.Yield)
def visit_Yield(frame: Frame, node: cst.Yield) -> Value:
    if isinstance(node.value, cst.From):
        frame.yields.append(iterate(frame, frame.evaluate(node.value.item)))
    elif node.value is not None:
        frame.yields.append(frame.evaluate(node.value))
    return UNKNOWN
