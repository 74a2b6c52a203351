"""What cannot move a module: the methods of a class that keeps it to itself, a function that only computes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

import libcst as cst

from torchdev_lint.flow.syntax.trees import (
    all_parameters,
    dotted,
    names_bound,
    part_of,
    remembered,
    says_device,
    walk,
)
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES, MODEL_METHODS
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

_HARMLESS = frozenset(
    "parameters named_parameters state_dict load_state_dict train eval zero_grad forward training".split()
)
"""What may be asked of a module without moving it or handing it on."""
_REFLECTIVE = frozenset("getattr setattr vars globals locals eval exec".split())


def is_confined(
    owner: cst.ClassDef, module: cst.Module, name: str, runs: frozenset[str] = frozenset()
) -> bool:
    """Whether all that the file does with an attribute of this name is to run it, train it, or ask for its parameters.

    `runs`: other methods of what is kept there that only run it. An instance that is handed on as a whole (`prepare(self)`) hands on
    what it holds, and reflection may reach anything.
    """
    harmless: set[int] = set()
    for node in walk(module):
        match node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=attribute)) as called) if attribute == name:
                harmless.add(id(called))
            case cst.Attribute(
                value=cst.Attribute(attr=cst.Name(value=attribute)) as inner, attr=cst.Name(value=asked)
            ):
                if attribute == name and (asked in _HARMLESS or asked in MODEL_METHODS or asked in runs):
                    harmless.add(id(inner))
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Attribute() as target)],
                value=cst.Call() | cst.Name(value="None"),
            ):
                harmless.add(id(target))  # what a call makes has no other name
            case cst.Comparison(
                left=cst.Attribute() as left,
                comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())],
            ):
                harmless.add(id(left))
            case cst.For(iter=iterable) | cst.CompFor(iter=iterable):
                if any(
                    isinstance(part, cst.Attribute) and part.attr.value == name for part in walk(iterable)
                ) and not (isinstance(node, cst.For) and computes(node.body)):
                    return False  # its parameters may be moved one by one
            case cst.Attribute(attr=cst.Name(value=attribute)) if (
                attribute == name and id(node) not in harmless
            ):
                return False
            case _:
                pass
    return not _hands_itself_on(owner, name)


def runs_only(lineage: Iterable[cst.ClassDef]) -> frozenset[str]:
    """The methods of a class, with all that it derives from, that neither move the instance or a part of it nor hand it out."""
    owners = tuple(lineage)
    if any(_hands_itself_on(owner) or _moves_a_part(owner) for owner in owners):
        return frozenset()
    return frozenset(
        method.name.value
        for owner in owners
        for method in owner.body.body
        if isinstance(method, cst.FunctionDef) and not any(map(_gives_a_part, walk(method.body)))
    )


def _moves_a_part(owner: cst.ClassDef) -> bool:
    return any(
        isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and part.func.attr.value in IN_PLACE_MOVES
        and (dotted(part.func.value) or "").partition(".")[0] == "self"
        for part in walk(owner.body)
    )


def _gives_a_part(node: cst.CSTNode) -> bool:
    """Whether something is given out of an instance under its name: `return self.backbone`."""
    given = node.value if isinstance(node, (cst.Return, cst.Yield)) else None
    parts = [one.value for one in given.elements] if isinstance(given, cst.Tuple) else [given]
    return any(isinstance(part, cst.Attribute) for part in parts)


def moves_what_it_is_given(node: cst.BaseExpression) -> bool:
    """Whether an argument is a function that moves its own: `data.apply(lambda x: x.to(device))` may change all that `data` holds."""
    if not isinstance(node, cst.Lambda):
        return False
    given = {one.name.value for one in all_parameters(node.params)}
    return any(
        isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and part.func.attr.value in IN_PLACE_MOVES
        and isinstance(part.func.value, cst.Name)
        and part.func.value.value in given
        for part in walk(node.body)
    )


_TRANSFER = re.compile(r"(?i)device|cuda|gpu|move")
"""Names of functions that bring something to a device."""


def brings_what_it_is_given(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function brings what it is given to a device itself: `x = x.to(device)`, `torch.as_tensor(x, device=device)`,
    or by a function that is called so: `y = to_device(y, x)`; or what it is given one by one: `for x in xs: y = totensor(x)`."""
    return _brings(function) if isinstance(function, cst.FunctionDef) else _brings_in(function)


@remembered(cst.FunctionDef)
def _brings(function: cst.FunctionDef) -> bool:
    return _brings_in(function)


def _brings_in(function: cst.FunctionDef | cst.Lambda) -> bool:
    return brings(function, {one.name.value for one in all_parameters(function.params)[1:]})


def brings(function: cst.FunctionDef | cst.Lambda, given: Set[str]) -> bool:
    """The same, of some of the parameters: whether one of those, or a part of it, is brought."""
    given = set(given)
    for part in walk(function.body):
        match part:
            case cst.For(target=target, iter=source) | cst.CompFor(target=target, iter=source):
                if _names(source) & given:
                    given.update(names_bound(target))
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                if part_of(value) in given:  # `surface = batch["surface"]`
                    given.add(name)
            case _:
                pass
    return any(_is_brought(part, given) for part in walk(function.body))


@remembered(cst.FunctionDef)
def may_bring(function: cst.FunctionDef) -> bool:
    """Whether a function that is not read brings one of its arguments, the first of them included."""
    return brings(function, {one.name.value for one in all_parameters(function.params)})


def _names(node: cst.CSTNode) -> set[str]:
    return {part.value for part in walk(node) if isinstance(part, cst.Name)}


def _is_brought(node: cst.CSTNode, given: set[str]) -> bool:
    match node:
        case cst.Call(func=cst.Attribute(value=moved, attr=cst.Name(value="to" | "cuda" | "cpu" | "numpy"))):
            return part_of(moved) in given
        case cst.Call(
            func=cst.Attribute(value=moved, attr=cst.Name(value="type")), args=[cst.Arg(value=kind)]
        ):
            return part_of(moved) in given and (dotted(kind) or "").startswith("torch.cuda.")
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=name))],
            value=cst.Call(func=called, args=[cst.Arg(value=cst.Name(value=first)), *_]),
        ) if name in given and first == name:
            return _TRANSFER.search((dotted(called) or "").rpartition(".")[2]) is not None
        case cst.Call(
            func=cst.Attribute(attr=cst.Name(value="as_tensor" | "tensor")),
            args=[cst.Arg(value=cst.Name(value=name), keyword=None), *others],
        ):
            return name in given and says_device(others)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as target)], value=cst.Call(args=args)):
            # several go into what may bring them together, and come back: `x, times = solver.sync(x, times)`
            names = set(names_bound(target))
            taken = {one.value.value for one in args if isinstance(one.value, cst.Name)}
            return len(names) > 1 and names <= taken and not names.isdisjoint(given)
        case cst.Call(func=called, args=[cst.Arg(value=first), *_]):
            return _MAKES_TENSOR.search((dotted(called) or "").rpartition(".")[2]) is not None and not _names(
                first
            ).isdisjoint(given)
        case _:
            return False


_MAKES_TENSOR = re.compile(r"(?i)^to_?tensors?$")
"""Helpers that make a tensor of whatever they are given, where it is wanted."""


def takes_apart(function: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """The parameters of which a function uses nothing but parts, `places[i][0]`, or goes through them: which may steer it as numbers do."""
    apart: set[int] = set()
    words: set[int] = set()
    for node in walk(function.body):
        match node:
            case cst.Attribute(attr=word):
                words.add(id(word))
            case cst.Arg(keyword=cst.Name() as word):
                words.add(id(word))
            case cst.Subscript(value=whole) | cst.For(iter=whole) | cst.CompFor(iter=whole):
                apart.add(id(whole))
            case cst.Call(func=cst.Name(value="len" | "zip" | "enumerate" | "reversed"), args=arguments):
                apart.update(id(argument.value) for argument in arguments)
            case _:
                pass
    names = {one.name.value for one in all_parameters(function.params)}
    uses = [
        node
        for node in walk(function.body)
        if isinstance(node, cst.Name) and node.value in names and id(node) not in words
    ]
    as_wholes = {node.value for node in uses if id(node) not in apart}
    return frozenset({node.value for node in uses} - as_wholes)


def only_computes(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function calls nothing but arithmetic and PyTorch's operations, so that handing it on moves no module.

    `lambda step: min(1.0, step / 500)` for a scheduler, `nn.init.normal_(m.weight)` for `Module.apply`.
    """
    return computes(function.body)


def computes(body: cst.CSTNode) -> bool:
    """Whether what is written there calls nothing but arithmetic and PyTorch's operations, and gives no parameter other data.

    `target.data.copy_(tau * source.data)` for the parameters of two models, one by one.
    """
    for node in walk(body):
        match node:
            case cst.Call(func=cst.Name(value=name)):
                if name not in _ARITHMETIC and not name.endswith("_"):
                    return False
            case cst.Call(func=cst.Attribute(value=whole, attr=cst.Name(value=name))):
                while isinstance(whole, cst.Attribute):
                    whole = whole.value
                library = isinstance(whole, cst.Name) and whole.value in _LIBRARIES
                known = library or name in TENSOR_NAMES or name in _OF_TEXT
                if not known or name in IN_PLACE_MOVES or name.startswith("set_"):
                    return False
            case cst.Call() | cst.AssignTarget(target=cst.Attribute(attr=cst.Name(value="data"))):
                return False
            case _:
                pass
    return True


_ARITHMETIC = frozenset(
    "abs bool divmod float getattr hasattr int isinstance len list max min pow print range round sorted str sum tuple type zip".split()
)
_LIBRARIES = frozenset("F init math nn np numpy torch".split())
_OF_TEXT = frozenset("endswith find format lower startswith".split())


@remembered(cst.FunctionDef)
def does_nothing_to_self(method: cst.FunctionDef) -> bool:
    """Whether a method uses its object only to call itself anew, and to say where something goes.

    `return {key: self.to_device(value) for key, value in batch.items()}`, and `return batch.to(self.device)`.
    """
    parameters = all_parameters(method.params)
    own = parameters[0].name.value if parameters else ""
    harmless = {id(one.name) for one in parameters}
    for node in walk(method.body):
        match node:
            case cst.Call(func=cst.Attribute(value=cst.Name() as whole, attr=cst.Name(value=name))):
                if name == method.name.value:
                    harmless.add(id(whole))
                elif name in IN_PLACE_MOVES:
                    harmless |= {id(part) for argument in node.args for part in _read(argument.value)}
            case cst.Arg(keyword=cst.Name(value="device"), value=device):
                harmless |= {id(part) for part in _read(device)}
            case _:
                pass
    return not any(
        isinstance(node, cst.Name)
        and (node.value in (own, "super") or node.value in _REFLECTIVE)
        and id(node) not in harmless
        for node in walk(method.body)
    )


def _read(node: cst.BaseExpression) -> tuple[cst.Name, ...]:
    """The name of the object of which an attribute is read; nothing where anything else is written."""
    match node:
        case cst.Attribute(value=cst.Name() as whole):
            return (whole,)
        case _:
            return ()


def built_once(methods: Iterable[cst.FunctionDef], name: str) -> tuple[cst.FunctionDef, cst.Call] | None:
    """The one call in the methods whose result `self` keeps under this name, and its method; None if there are others."""
    found = [(method, made) for method in methods for attribute, made in _built(method) if attribute == name]
    return found[0] if len(found) == 1 else None


@remembered(cst.FunctionDef)
def _built(method: cst.FunctionDef) -> tuple[tuple[str, cst.Call], ...]:
    """The attributes that a method sets to the result of a call, with that call."""
    found: list[tuple[str, cst.Call]] = []
    for node in walk(method.body):
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(value=attribute)))],
                value=cst.Call() as made,
            ):
                found.append((attribute, made))
            case _:
                pass
    return tuple(found)


def _beginning(node: cst.BaseExpression) -> str:
    """What a string begins with, as far as it is written."""
    match node:
        case cst.SimpleString():
            return str(node.evaluated_value)
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Modulo()):
            return _beginning(left).partition("%")[0]
        case cst.FormattedString(parts=[cst.FormattedStringText(value=text), *_]):
            return text
        case cst.Call(func=cst.Attribute(value=text, attr=cst.Name(value="format"))):
            return _beginning(text).partition("{")[0]
        case _:
            return ""


def _hands_itself_on(owner: cst.ClassDef, wanted: str = "") -> bool:
    """Whether a method uses `self` for more than its attributes, and may so get at the one with a name if that is given."""
    through: set[int] = set()
    for node in walk(owner.body):
        match node:
            case cst.Call(
                func=cst.Name(value="getattr" | "setattr") as reflects,
                args=[cst.Arg(value=cst.Name(value="self") as instance), cst.Arg(value=asked), *_],
            ) if wanted and not wanted.startswith(_beginning(asked)):
                through |= {id(reflects), id(instance)}  # `getattr(self, "loss_" + which)`
            case cst.Call(
                func=cst.Attribute(attr=cst.Name(value="__init__")),
                args=[cst.Arg(value=cst.Name(value="self") as instance), *_],
            ):
                through.add(id(instance))  # `Base.__init__(self, options)`
            case cst.Attribute(value=whole, attr=cst.Name(value=word) as attribute):
                if word == "__dict__":
                    return True
                through.add(id(attribute))
                if isinstance(whole, cst.Name) and whole.value == "self":
                    through.add(id(whole))
            case cst.Param(name=name):
                through.add(id(name))
            case cst.Arg(keyword=cst.Name() as keyword):
                through.add(id(keyword))
            case cst.Call(func=cst.Name(value="super"), args=[_, cst.Arg(value=cst.Name() as instance)]):
                through.add(id(instance))  # `super(Worker, self)`
            case cst.Name(value=word) if id(node) not in through and (word == "self" or word in _REFLECTIVE):
                return True
            case _:
                pass
    return False
