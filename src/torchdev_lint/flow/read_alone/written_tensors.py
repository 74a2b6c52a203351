"""What a function's text alone shows of the tensors that it names: made here without a device, or come from elsewhere.

The interpreter knows where a tensor is if it knows what made it. Most values of a library's function are what other functions, in other
files, have returned; of them the text shows only that they are tensors, by what is done with them. This is read here, statement
by statement, with both branches and every loop taken once more: which names hold what a factory of this very function made on the CPU
(and has not been moved), which hold a tensor that comes from elsewhere, and where the two meet or the first ones go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.functions import parameter_key
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.read_alone.evidence import TENSOR_ANNOTATION, tensor_parameters
from torchdev_lint.flow.read_alone.written_evidence import MAKES, keyed, path_of, read_on_host, shaped, shown
from torchdev_lint.flow.read_alone.written_expressions import Expressions
from torchdev_lint.flow.read_alone.written_looks import NOTHING, ON_HOST, OPEN, Factory, Look, merged
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME

_OF_FILES = re.compile(r"(?i)(?:^|_)(?:state_?dict|checkpoint|ckpt|weights_?dict)(?:_|$)")
"""Parameters, by name, that hold what was read from a file."""

_PLAIN = frozenset(
    "int float str bool None Optional Union List Dict Tuple Sequence list dict tuple bytes Path typing Callable type dtype torch "
    "device Any".split()
) - {"Any"}


class Reading(Expressions):
    """One function's text, read once."""

    def __init__(self, frame: Frame, function: Function, node: cst.FunctionDef) -> None:
        self.frame = frame
        self.node = node
        self.factories: dict[int, Factory] = {}
        self.elsewhere: dict[str, set[str]] = {}
        """By name: the devices that other factories, or moves, that it is bound to are told."""
        self.shown = set(shown(frame, node))
        self.keyed = set(keyed(node))
        self.on_host = set(read_on_host(node))
        self.sizes: dict[str, str] = {}
        """The names that hold sizes of a tensor, and its name."""
        self.tables = _tables(frame, function)
        self.in_module = function.owner is not None and function.owner.is_module
        if self.in_module:
            self.shown |= set(shaped(node))
        names: dict[str, Look] = {}
        tensors = set(tensor_parameters(frame, function))
        self.annotated = tensors
        for index, parameter in enumerate(all_parameters(node.params)):
            name = parameter.name.value
            if index == 0 and function.owner is not None and "staticmethod" not in function.decorators:
                continue
            names[name] = self._of_parameter(parameter, name, name in tensors)
        self.at_first = dict(names)
        self.names = names
        self.run(node.body.body)

    def _of_parameter(self, parameter: cst.Param, name: str, tensor: bool) -> Look:
        analysis = self.frame.analysis
        if analysis.only_on_host(parameter_key(self.node, name)):
            return NOTHING
        if name in self.on_host or _OF_FILES.search(name):
            return ON_HOST
        if tensor:
            return Look(there=name, root=name)
        text = "" if parameter.annotation is None else analysis.text(parameter.annotation.annotation)
        if TENSOR_ANNOTATION.search(text) and not re.search(r"ndarray|np\.|Array|Callable", text):
            return Look(there=name, root=name, held=True)
        if text or isinstance(parameter.default, (cst.Integer, cst.Float, cst.SimpleString)):
            plain = (
                set(re.findall(r"\w+", text)) <= _PLAIN or re.search(r"ndarray|np\.|Array", text) is not None
            )
            return NOTHING if plain else Look(open=True, root=name)
        return self.told(name, Look(open=True, root=name))

    # -- statements

    def run(self, body: Sequence[cst.CSTNode]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: cst.CSTNode) -> None:
        match node:
            case cst.SimpleStatementLine(body=lines) | cst.SimpleStatementSuite(body=lines):
                self.run(lines)
            case cst.IndentedBlock(body=lines):
                self.run(lines)
            case cst.Assign(targets=targets, value=value):
                look = self.look(value)
                self._note_sizes(targets[0].target, value)
                for target in targets:
                    self.bind(target.target, look, value)
            case cst.AnnAssign(target=target, value=value) if value is not None:
                self.bind(target, self.look(value), value)
            case cst.AugAssign(target=target, value=value):
                left, right = self.look(target), self.look(value)
                self._meet(node, left, right)
                name = dotted(target)
                if name is not None:
                    self.names[name] = left.joined(right)
            case cst.Return(value=value) if value is not None:
                self._leave(node, value)
            case cst.Expr(value=cst.Yield(value=cst.BaseExpression() as value)):
                self._leave(node, value)
            case cst.Expr(value=value):
                self.look(value)
            case cst.If(test=test, body=then, orelse=orelse):
                self.look(test)
                self._either(then, orelse)
            case cst.For(target=target, iter=iterable, body=inner, orelse=orelse):
                self._loop(target, iterable, inner)
                if orelse is not None:
                    self._statement(orelse.body)
            case cst.While(test=test, body=inner):
                self.look(test)
                self._repeat(inner)
            case cst.With(items=items, body=inner):
                if any(_chooses(self.frame.analysis.text(item.item)) for item in items):
                    self._forget(inner)
                    return
                for item in items:
                    look = self.look(item.item)
                    if item.asname is not None:
                        self.bind(item.asname.name, OPEN if look == NOTHING else look, item.item)
                self._statement(inner)
            case cst.Try(body=inner, handlers=handlers, orelse=orelse, finalbody=final):
                self._statement(inner)
                for handler in handlers:
                    self._either(handler.body, None)
                for last in (orelse, final):
                    if last is not None:
                        self._statement(last.body)
            case cst.Else(body=inner):
                self._statement(inner)
            case cst.Assert() | cst.Del() | cst.Raise() | cst.FunctionDef() | cst.ClassDef():
                pass
            case _:
                pass

    def _forget(self, body: cst.CSTNode) -> None:
        """A block whose factories make on another device than the CPU, or nobody knows where."""
        for part in walk(body):
            if isinstance(part, cst.Assign):
                for target in part.targets:
                    for name in walk(target.target):
                        if isinstance(name, cst.Name):
                            self.names[name.value] = NOTHING

    def _either(self, then: cst.CSTNode, orelse: cst.CSTNode | None) -> None:
        before = dict(self.names)
        self._statement(then)
        after = self.names if not _leaves(then) else None
        self.names = before
        if orelse is not None:
            self._statement(orelse)
            if _leaves(orelse):
                if after is not None:
                    self.names = after
                return
        if after is not None:
            self.names = merged(self.names, after)

    def _loop(self, target: cst.BaseExpression, iterable: cst.BaseExpression, body: cst.CSTNode) -> None:
        self.bind_each(target, iterable)
        self._repeat(body)

    def _repeat(self, body: cst.CSTNode) -> None:
        for _ in range(2):
            before = dict(self.names)
            self._statement(body)
            self.names = merged(before, self.names)

    def bind_each(self, target: cst.BaseExpression, iterable: cst.BaseExpression) -> None:
        """What a loop over something binds."""
        if (
            isinstance(iterable, cst.Call)
            and isinstance(iterable.func, cst.Name)
            and isinstance(target, cst.Tuple)
        ):
            targets = [one.value for one in target.elements]
            given = [one.value for one in iterable.args]
            if iterable.func.value == "enumerate" and len(targets) == 2 and given:
                self.bind(targets[0], NOTHING, None)
                self.bind_each(targets[1], given[0])
                return
            if iterable.func.value == "zip" and len(targets) == len(given):
                for one, part in zip(targets, given, strict=True):
                    self.bind_each(one, part)
                return
        self.bind(target, self.look(iterable), None)

    def bind(self, target: cst.BaseExpression, look: Look, value: cst.BaseExpression | None) -> None:
        match target:
            case cst.Name(value=name):
                for made in look.made:
                    self.factories[made].names.add(name)
                    if _is_begun_by(value, self.factories[made].node):
                        self.factories[made].stands_for.add(name)
                if value is not None:
                    self._note_device(name, value)
                self.names[name] = self._named(self.told(name, look), name)
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                parts: list[cst.BaseExpression | None] = [None] * len(elements)
                if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(elements):
                    parts = [one.value for one in value.elements]
                for element, part in zip(elements, parts, strict=True):
                    self.bind(element.value, look if part is None else self.look(part), part)
            case cst.Attribute():
                text = dotted(target)
                if text is not None:
                    self.names[text] = look
                self._keep(target, look)
            case cst.Subscript(value=base):
                held = self.look(base)
                if held.made and (look.there is not None) and not held.held:
                    for made in held.made:
                        self.factories[made].filled = look
                text = dotted(base)
                # into a tensor, wherever that is
                copied = (held.there is not None or bool(held.made)) and not held.held
                copied = copied or text in self.tables
                if isinstance(base, cst.Subscript):
                    copied = copied or f"{dotted(base.value)}[]" in self.tables
                if look.made and not copied:
                    if text is not None and text in self.names and not held.made and held.there is None:
                        self.names[text] = self.names[text].joined(look.inside())
                        if text in self.at_first or "." in text:
                            self._keep(target, look)
                    else:
                        self._keep(target, look)
            case _:
                pass

    @staticmethod
    def _named(look: Look, name: str) -> Look:
        return look if look.there is None or look.made else replace(look, there=name)

    def _note_device(self, name: str, value: cst.BaseExpression) -> None:
        for part in walk(value):
            if isinstance(part, cst.Call):
                for argument in part.args:
                    if argument.keyword is not None and argument.keyword.value == "device":
                        told = dotted(argument.value)
                        if told is not None:
                            self.elsewhere.setdefault(name, set()).add(told)

    def _note_sizes(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        of = self.size_of(value)
        listed = (
            [one.value for one in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else [target]
        )
        for one in listed:
            if isinstance(one, cst.Name):
                if of is None:
                    self.sizes.pop(one.value, None)
                else:
                    self.sizes[one.value] = of

    def _keep(self, target: cst.CSTNode, look: Look) -> None:
        for made in look.made:
            self.factories[made].kept.append(target)

    def _leave(self, node: cst.CSTNode, value: cst.BaseExpression) -> None:
        parts = [one.value for one in value.elements] if isinstance(value, cst.Tuple) else [value]
        looks = [self.look(part) for part in parts]
        beside = next((look for look in looks if look.there is not None and not look.made), None)
        for look in looks:
            for made in look.made:
                self.factories[made].returned.append((node, beside))


def _leaves(body: cst.CSTNode) -> bool:
    """Whether the end of a block is not reached."""
    if isinstance(body, cst.Else):
        body = body.body
    if not isinstance(body, cst.IndentedBlock) or not body.body:
        return False
    last = body.body[-1]
    return isinstance(last, cst.SimpleStatementLine) and isinstance(
        last.body[-1], (cst.Return, cst.Raise, cst.Continue, cst.Break)
    )


def _chooses(text: str) -> bool:
    return DEVICE_NAME.search(text) is not None or "device" in text.lower()


def _is_begun_by(node: cst.CSTNode | None, made: cst.Call) -> bool:
    """Whether an expression is this call, or methods of what it gives: `torch.zeros(3).float()`."""
    while node is not None and node is not made:
        match node:
            case cst.Call(func=cst.Attribute(value=inner)) | cst.Subscript(value=inner):
                node = inner
            case _:
                return False
    return node is made


def _tables(frame: Frame, function: Function) -> frozenset[str]:
    """The attributes of a method's class that are tensors: whatever is assigned to them anywhere in it is made by a factory.

    And those, with `[]` behind them, that are lists or dicts of such tensors.
    """
    if function.owner is None:
        return frozenset()
    found: dict[str, bool] = {}
    for node in walk(function.owner.node):
        if not isinstance(node, (cst.Assign, cst.AnnAssign)) or node.value is None:
            continue
        for target in [one.target for one in node.targets] if isinstance(node, cst.Assign) else [node.target]:
            for part in target.elements if isinstance(target, (cst.Tuple, cst.List)) else [target]:
                text = dotted(part.value if isinstance(part, cst.BaseElement) else part)
                if text is not None and text.startswith("self."):
                    made = part is target and _is_made(frame, node.value)
                    found[text] = found.get(text, True) and made
                    held = [] if part is not target else _held_in(node.value)
                    shelf = bool(held) and all(_is_made(frame, one) for one in held)
                    found[f"{text}[]"] = found.get(f"{text}[]", True) and shelf
    return frozenset(text for text, made in found.items() if made)


def _held_in(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    match value:
        case cst.DictComp(value=held) | cst.ListComp(elt=held):
            return [held]
        case cst.Dict(elements=elements) | cst.List(elements=elements):
            return [one.value for one in elements]
        case _:
            return []


def _is_made(frame: Frame, value: cst.BaseExpression) -> bool:
    """`torch.zeros(...)`, `torch.zeros(...).to(device)`."""
    while (
        isinstance(value, cst.Call)
        and isinstance(value.func, cst.Attribute)
        and value.func.attr.value in ("to", "cuda", "cpu", "pin_memory", "share_memory_")
    ):
        value = value.func.value
    return isinstance(value, cst.Call) and path_of(frame, value.func) in MAKES
