"""What a function does with a random generator, as far as its text shows: draws on the host, draws where a tensor is, hands it on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Class, Function
from torchdev_lint.flow.project.project_calls import argument_given
from torchdev_lint.flow.read_alone.device_spellings import is_called_device
from torchdev_lint.flow.read_alone.evidence import TENSOR_ANNOTATION
from torchdev_lint.flow.read_alone.written_evidence import GENERATOR, MAKES, path_of
from torchdev_lint.flow.syntax.naming import is_model_name
from torchdev_lint.flow.syntax.trees import (
    all_parameters,
    bound_to,
    dotted,
    names_bound,
    parents,
    says_device,
    walk,
)
from torchdev_lint.torch_api.generators import DRAWS_INDICES, HOST_GENERATORS, KEEPS_GENERATOR
from torchdev_lint.torch_api.operators import Operator, method, operator

_HOPS = 3
"""How many assignments are looked through for where an operand is made."""

_DATA = re.compile(
    r"(?i)(?:^|_)data$|loader|sampler|data_?set|datamodule|split|shuffle|perm(?:ut|$)|collat|augment|transform(?!er)"
)
"""What draws indices and samples of data, by its name."""

_PIPELINE = re.compile(r"(?i)(?:^|_)pipe(?:line)?s?\d*$|Pipeline$|^randn_tensor$")
"""Pipelines of diffusers, and what they draw with: with a generator of the CPU they draw on the CPU (diffusers/utils/torch_utils.py)."""

_HOST = re.compile(r"(?i)(?:^|_)(?:cpu|host)(?:_|$)")
"""What is on the CPU, by its name: `weights_cpu`, `cpu_device`."""
_MINDS = re.compile(r"\bdevice\b|\.cuda\(")
_MODULE_ANNOTATION = re.compile(r"\b(?:nn\.)?Module\b|\bPreTrainedModel\b")


@dataclass(frozen=True)
class Use:
    """What is done with a generator at a node.

    `kind`: "host" (draws on the CPU), "moved" (the same, and `goes` takes the result to a device), "there" (draws where `device=` says),
    "follows" (draws where a tensor is), "handed" (goes to a function that is given a thing with a device, too), "kept" (`near` is the
    attribute), "asked" (for its device), "other".
    `near`: an expression for the device at hand, or what may have one.
    """

    kind: str
    node: cst.CSTNode
    near: str = ""
    goes: cst.CSTNode | None = None


def makers_in(frame: Frame, node: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
    """What makes, or gives, a generator of the CPU and does not say so: `torch.Generator()`, `torch.manual_seed(0)`."""
    for part in walk(node.body, below=(cst.FunctionDef, cst.ClassDef)):
        match part:
            case cst.Call(func=func, args=args):
                path = path_of(frame, func)
                if (path == GENERATOR and not args) or path in HOST_GENERATORS:
                    yield part
            case cst.Attribute() if path_of(frame, part) == "torch.default_generator":
                yield part
            case _:
                pass


def kept_uses(function: Function, name: str, depth: int = 0) -> Iterator[Use]:
    """What the methods of a function's class do with an attribute."""
    owner = function.owner
    for node in () if owner is None else owner.methods.values():
        assert owner is not None
        yield from Reading(owner.function(node, node.name.value, None), node, depth).uses_of_attribute(name)


def draws_with(frame: Frame, call: cst.Call) -> tuple[Operator, cst.BaseExpression | None] | None:
    """What a call draws with a generator, and the tensor that it fills or draws by; None for what is no draw."""
    path = path_of(frame, call.func)
    known = None if path is None else operator(path)
    first = next((one.value for one in call.args if one.keyword is None and not one.star), None)
    if path is not None and path.startswith("torch.nn.init."):
        known = method("normal_")
    elif path is None and isinstance(call.func, cst.Attribute):
        known, first = method(call.func.attr.value), call.func.value
    if known is None or known.named("generator") is None:
        return None
    if known.name == "normal":
        means = [
            one.value for one in call.args if one.keyword is None or one.keyword.value in ("mean", "std")
        ]
        sized = len(means) > 2 or any(
            one.keyword is not None and one.keyword.value == "size" for one in call.args
        )
        first = (
            None
            if sized
            else next((one for one in means if not isinstance(one, (cst.Float, cst.Integer))), None)
        )
    elif known.result == "m":
        first = None
    return known, first


class Reading:
    """A function, or a method of a class, with what stands above each part of it."""

    def __init__(self, function: Function, node: cst.FunctionDef, depth: int = 0) -> None:
        self.function, self.node, self.frame, self.depth = function, node, function.frame, depth
        self.nodes = {id(part): part for part in walk(node)}
        self.order = {key: index for index, key in enumerate(self.nodes)}
        self.above = parents(node)

    def uses_of_maker(self, maker: cst.BaseExpression) -> Iterator[Use]:
        """What becomes of a generator that is made here."""
        for use in self._becomes(maker):
            if use.kind == "bound":
                yield from self.uses_of_name(use.near)
            else:
                yield use

    def uses_of_attribute(self, name: str) -> Iterator[Use]:
        """What is done with an attribute of `self`; that it is set anew counts as "kept" unless a generator of the CPU, or None, is."""
        for part in self.nodes.values():
            if not isinstance(part, cst.Attribute) or dotted(part) != f"self.{name}":
                continue
            over = self._over(part)
            if isinstance(over, cst.AssignTarget):
                assigned = self._over(over)
                if isinstance(assigned, cst.Assign) and self._is_of_host(assigned.value):
                    continue
                yield Use("kept", part, name)
            else:
                yield from self._becomes(part)

    def _over(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self.nodes.get(self.above.get(id(node), 0))

    def _is_of_host(self, value: cst.BaseExpression) -> bool:
        if isinstance(value, cst.Name):
            held = list(bound_to(self.node.body, value.value))
            return value.value == "None" or (
                bool(held) and all(not isinstance(one, cst.Name) and self._is_of_host(one) for one in held)
            )
        makers = list(makers_in(self.frame, self.node))
        return any(part is maker for part in walk(value) for maker in makers)

    def uses_of_name(self, name: str) -> Iterator[Use]:
        """What is done with what has this name; that it may be something else counts as "other"."""
        for value in bound_to(self.node.body, name):
            if not (
                self._is_of_host(value)
                or any(isinstance(part, cst.Name) and part.value == name for part in walk(value))
            ):
                yield Use("other", value)  # it may be another one
        for part in self.nodes.values():
            if not isinstance(part, cst.Name) or part.value != name:
                continue
            over = self._over(part)
            if isinstance(over, (cst.AssignTarget, cst.Param)) or (
                isinstance(over, cst.Arg) and over.keyword is part
            ):
                continue
            if isinstance(over, cst.Attribute) and over.attr is part:
                continue
            yield from (use for use in self._becomes(part) if use.kind != "bound" or use.near != name)

    def _becomes(self, node: cst.CSTNode) -> Iterator[Use]:
        """Where an expression that is a generator goes."""
        while True:
            over = self._over(node)
            match over:
                case cst.Attribute(attr=cst.Name(value=attribute)) if over.value is node:
                    call = self._over(over)
                    if attribute == "device":
                        yield Use("asked", over)
                        return
                    if not isinstance(call, cst.Call) or attribute not in KEEPS_GENERATOR:
                        return
                    node = call
                case cst.IfExp() if over.test is not node:
                    node = over
                case cst.BooleanOperation():
                    node = over
                case cst.Arg() if over.star == "":
                    call = self._over(over)
                    yield self._given(call, over) if isinstance(call, cst.Call) else Use("other", over)
                    return
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                    yield Use("bound", over, name)
                    return
                case cst.Assign(
                    targets=[
                        cst.AssignTarget(target=cst.Attribute(value=cst.Name(value="self"), attr=attribute))
                    ]
                ):
                    yield Use("kept", over, attribute.value)
                    return
                case (
                    cst.Expr()
                    | cst.Comparison()
                    | cst.ComparisonTarget()
                    | cst.If()
                    | cst.IfExp()
                    | cst.UnaryOperation()
                ):
                    return
                case _:
                    yield Use("other", node)
                    return

    def _given(self, call: cst.Call, argument: cst.Arg) -> Use:
        path = path_of(self.frame, call.func)
        last = path or (
            call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted(call.func) or ""
        )
        last = last.rpartition(".")[2]
        if path in DRAWS_INDICES or last == "randperm" or _DATA.search(last) is not None:
            return Use("host", call)
        drawn = draws_with(self.frame, call)
        if drawn is not None:
            return self._drawn(call, *drawn)
        if path is not None and (
            path.startswith("torch.") or path in ("builtins.print", "builtins.isinstance")
        ):
            return Use("other", call)
        if _PIPELINE.search(last) is not None or self._is_refused(call, argument):
            return Use("other", call)
        near = next(self._devices_given(call, argument), "")
        return Use("handed" if near else "other", call, near)

    def _drawn(self, call: cst.Call, known: Operator, tensor: cst.BaseExpression | None) -> Use:
        told = next((one.value for one in call.args if is_keyword(one, "device")), None)
        if told is not None:
            text = dotted(told)
            if isinstance(told, cst.SimpleString) or (
                text is not None and _HOST.search(text.rpartition(".")[2]) is not None
            ):
                return Use("host", call)
            return Use("other", call) if text is None or text == "None" else Use("there", call, text)
        if any(one.star for one in call.args):
            return Use("other", call)
        if tensor is None or self.is_on_host(tensor):
            place, goes = next(self._moves(call, along=False), ("", call))
            return Use("moved", call, place, goes) if place and tensor is None else Use("host", call)
        if any(True for _ in self._moves(call, along=True)):
            return Use("host", call)  # what is taken to a device afterwards is not there before
        return Use("follows", call, self._device_of(tensor))

    def _device_of(self, tensor: cst.BaseExpression) -> str:
        """An expression for the device of a tensor, where devices matter: it was given, or they are spoken of where it comes from."""
        text = self._named_in(tensor)
        if not text or self._is_annotated(text, TENSOR_ANNOTATION):
            return f"{text}.device" if text else ""
        owner = self.function.owner
        scope = self.node if owner is None or not text.startswith("self.") else owner.node
        return f"{text}.device" if _MINDS.search(self.frame.analysis.text(scope)) is not None else ""

    def _named_in(self, node: cst.BaseExpression) -> str:
        """What a tensor is computed from, by its name."""
        match node:
            case cst.Call(func=func, args=[cst.Arg(value=first), *_]) if (
                path_of(self.frame, func) is not None
            ):
                return self._named_in(first)
            case cst.Call(func=cst.Attribute(value=inner)) | cst.Subscript(value=inner):
                return self._named_in(inner)
            case cst.BinaryOperation(left=inner) | cst.UnaryOperation(expression=inner):
                return self._named_in(inner)
            case _:
                text = dotted(node)
                return "" if text is None or text == "self" or path_of(self.frame, node) is not None else text

    def _is_annotated(self, name: str, kind: re.Pattern[str]) -> bool:
        return any(
            one.name.value == name
            and one.annotation is not None
            and kind.search(self.frame.analysis.text(one.annotation.annotation)) is not None
            for one in all_parameters(self.node.params)
        )

    def is_on_host(self, node: cst.BaseExpression, hops: int = _HOPS) -> bool:
        """Whether the text shows that something is made on, or brought to, the CPU."""
        for part in walk(node):
            if isinstance(part, cst.Name) and _HOST.search(part.value) is not None:
                return True
            if isinstance(part, cst.Call):
                last = part.func.attr.value if isinstance(part.func, cst.Attribute) else ""
                if last in ("to", "cuda", "type_as"):
                    return False
                if last in ("cpu", "numpy") or (
                    path_of(self.frame, part.func) in MAKES and not says_device(part.args)
                ):
                    return True
        return hops > 0 and any(
            self.is_on_host(one, hops - 1)
            for part in walk(node)
            for one in self._bound_to(part)
            if one is not node
        )

    def _bound_to(self, part: cst.CSTNode) -> Iterator[cst.BaseExpression]:
        """What a name, or an attribute of `self`, is bound to."""
        owner = self.function.owner
        if isinstance(part, cst.Name):
            yield from bound_to(self.node.body, part.value)
            for loop in walk(self.node.body):
                if isinstance(loop, cst.For) and part.value in names_bound(loop.target):
                    yield loop.iter
        elif isinstance(part, cst.Attribute) and owner is not None and dotted(part.value) == "self":
            for node in walk(owner.node):
                if (
                    isinstance(node, cst.Assign)
                    and dotted(node.targets[0].target) == f"self.{part.attr.value}"
                ):
                    yield node.value

    def _devices_given(self, call: cst.Call, argument: cst.Arg) -> Iterator[str]:
        """The devices of what else a call is given, or of what it is a method of."""
        told = next((one.value for one in call.args if is_keyword(one, "device")), None)
        if told is not None:
            text = dotted(told)
            if text is not None and text != "None":
                yield text
            return
        others = [
            text for one in call.args if one is not argument and (text := dotted(one.value)) is not None
        ]
        if any(_DATA.search(other) is not None for other in others):
            return  # it shuffles them
        if isinstance(call.func, cst.Attribute):
            others.append(dotted(call.func.value) or "")
        written = self.frame.analysis.text(self.node)
        for other in others:
            asked = rf"(?<![\w.]){re.escape(other)}\.device\b"
            moved = rf"(?<![\w.]){re.escape(other)}\.(?:cuda\(|to\((?:self\.)?\w*device)"
            if not other:
                continue
            if self._is_annotated(other, TENSOR_ANNOTATION) or re.search(asked, written) is not None:
                yield f"{other}.device"
            elif self._is_annotated(other, _MODULE_ANNOTATION):
                yield f"next({other}.parameters()).device"
            elif is_model_name(other) or re.search(moved, written) is not None:
                yield other

    def _is_refused(self, call: cst.Call, argument: cst.Arg) -> bool:
        """Whether what is called can be read, and draws on the host with what it is given, or asks where that is."""
        called = self.frame.lookup(call.func.value) if isinstance(call.func, cst.Name) else None
        owner = self.function.owner
        function: Function | None = None
        if isinstance(called, Function):
            function = called
        elif isinstance(called, Class) and (initializer := called.model.find("__init__")) is not None:
            function = called.model.function(initializer, "__init__", None)
        elif owner is not None and isinstance(call.func, cst.Attribute) and dotted(call.func.value) == "self":
            method_node = owner.find(call.func.attr.value)
            function = (
                None if method_node is None else owner.function(method_node, method_node.name.value, None)
            )
        if function is None or not isinstance(function.node, cst.FunctionDef):
            return False
        node = function.node
        name = next(
            (
                one.name.value
                for one in all_parameters(node.params)
                if argument_given(node, call, one.name.value) is argument.value
            ),
            None,
        )
        if name is None or self.depth > 1:
            return False
        inside = Reading(function, node, self.depth + 1)
        uses = list(inside.uses_of_name(name))
        for use in [one for one in uses if one.kind == "kept"]:
            uses += kept_uses(function, use.near, self.depth + 1)
        return any(use.kind in ("host", "asked") for use in uses)

    def is_bound_before(self, text: str, node: cst.CSTNode) -> bool:
        """Whether an expression holds where a node stands what it holds later: its name is a parameter's, or was bound before only."""
        root = text.removeprefix("next(").partition(".")[0]
        at = self.order[id(node)]
        bound = [self.order[id(value)] for value in bound_to(self.node.body, root)]
        known = any(one.name.value == root for one in all_parameters(self.node.params))
        return (known or bool(bound)) and all(index < at for index in bound)

    def _moves(self, node: cst.CSTNode, *, along: bool) -> Iterator[tuple[str, cst.CSTNode]]:
        """The devices that what an expression gives is taken to, and where, at once or under its name; `along`: with another tensor."""
        while True:
            over = self._over(node)
            match over:
                case cst.Attribute(attr=cst.Name(value=name)) if over.value is node:
                    outer = self._over(over)
                    if not isinstance(outer, cst.Call):
                        return
                    place = self._place(outer, name)
                    if place is not None:
                        yield place, outer
                        return
                    node = outer
                case cst.BinaryOperation(left=left, right=right):
                    other = right if left is node else left
                    if not along and not isinstance(other, (cst.Float, cst.Integer)):
                        return
                    node = over
                case cst.UnaryOperation():
                    node = over
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                    within = max(
                        self.order.get(id(part), 0) for part in walk(value)
                    )  # `g = g / 2` takes the old one
                    for part in self.nodes.values():
                        if (
                            isinstance(part, cst.Name)
                            and part.value == name
                            and self.order[id(part)] > within
                        ):
                            yield from self._moves_at_once(part, along=along)
                    return
                case _:
                    return

    def _moves_at_once(self, node: cst.CSTNode, *, along: bool) -> Iterator[tuple[str, cst.CSTNode]]:
        if not isinstance(self._over(node), cst.AssignTarget):
            yield from self._moves(node, along=along)

    def _place(self, call: cst.Call, name: str) -> str | None:
        """Where a method brings a tensor: `.to(device)`, `.to(device=x.device)`, `.to(x)`, `.cuda()`."""
        if name == "cuda" and not call.args:
            return "cuda"
        for one in call.args[:2] if name in ("to", "type_as") else ():
            text = dotted(one.value)
            if text is None or not (one.keyword is None or is_keyword(one, "device")):
                continue
            if self._is_annotated(text, TENSOR_ANNOTATION):
                return f"{text}.device"
            if name == "to" and is_called_device(one.value):
                return text
        return None


def is_keyword(argument: cst.Arg, name: str) -> bool:
    """Whether an argument is given by this keyword."""
    return argument.keyword is not None and argument.keyword.value == name
