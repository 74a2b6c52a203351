"""A call with its evaluated arguments."""

from __future__ import annotations

import dataclasses
from dataclasses import field

import libcst as cst

from torchdev_lint.flow.domain.immutable import dataclass
from torchdev_lint.flow.domain.values import Entries, Items, Literal, Value


class Implied(cst.Arg):
    """An argument that the program does not write as one: its value is an expression that gives it (an element of a list)."""


class Unwritten(cst.Arg):
    """An argument that was bound to what is called before, elsewhere (`functools.partial`): no call here shows it."""


class ImpliedItem(Implied):
    """The same, where the expression holds several, of which this is one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batches(Implied):
    """What a loader gives that is handed to a call, which takes it to a device if it is given one: `update_bn(loader, model, device)`."""

    call: cst.Call | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its value and its node; `star` is "", "*" or "**"."""

    value: Value
    node: cst.Arg

    @property
    def keyword(self) -> str | None:
        """The keyword it is given by."""
        return None if self.node.keyword is None else self.node.keyword.value

    @property
    def star(self) -> str:
        """The star before it."""
        star: str = self.node.star
        return star


def implied_items(argument: Argument, count: int) -> list[cst.Arg]:
    """Where each of `count` items that an argument holds is written."""
    node = argument.node.value
    written = node.elements if isinstance(node, (cst.Tuple, cst.List)) else ()
    if len(written) == count and not any(isinstance(element, cst.StarredElement) for element in written):
        return [Implied(element.value) for element in written]
    return [ImpliedItem(node)] * count


def name_given(site: CallSite, index: int, name: str = "name") -> str | None:
    """A name that is given as a string; `{}` stands for the parts of it that are not known (`f"layer{i}"`)."""
    argument = site.get(index, name)
    if argument is None:
        return None
    if isinstance(argument.value, Literal):
        return str(argument.value.value)
    node = argument.node.value
    match node:
        case cst.FormattedString(parts=parts):
            texts = [part.value if isinstance(part, cst.FormattedStringText) else "{}" for part in parts]
        case cst.BinaryOperation(operator=cst.Add() | cst.Modulo(), left=cst.SimpleString() as left):
            texts = [str(left.evaluated_value).replace("%d", "{}").replace("%s", "{}")]
            texts += ["{}"] if isinstance(node.operator, cst.Add) else []
        case cst.Call(func=cst.Attribute(value=cst.SimpleString() as text, attr=cst.Name(value="format"))):
            texts = [str(text.evaluated_value)]
        case _:
            return None
    pattern = "".join(texts)
    return pattern if pattern.replace("{}", "") and "{}" in pattern else None


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call: its node (any expression that calls, for synthetic ones) and its arguments in order."""

    node: cst.BaseExpression
    arguments: tuple[Argument, ...] = ()
    callee: str = ""
    receiver: cst.BaseExpression | None = field(default=None)

    def positional(self) -> list[Argument]:
        """The positional arguments, with the known items of a starred one, up to the first star of unknown length."""
        found: list[Argument] = []
        for argument in self.arguments:
            node = argument.node
            if not node.star:
                if node.keyword is None:
                    found.append(argument)
            elif node.star == "*":
                if not isinstance(argument.value, Items):
                    break
                found += [Argument(item, node) for item in argument.value.items]
        return found

    def keyword(self, name: str) -> Argument | None:
        """The argument given by this keyword, also where it is in a dict behind two stars."""
        for argument in self.arguments:
            node = argument.node
            if node.keyword is not None:
                if node.keyword.value == name:
                    return argument
            elif node.star == "**" and isinstance(argument.value, Entries):
                held = dict(argument.value.entries)
                if name in held:
                    return Argument(held[name], argument.node)
        return None

    def get(self, index: int, name: str) -> Argument | None:
        """The argument at a position, or given by keyword."""
        positional = self.positional()
        return positional[index] if index < len(positional) else self.keyword(name)

    def has_star(self) -> bool:
        """Whether some arguments are not written out."""
        return any(argument.star for argument in self.arguments)

    def has_unknown_star(self) -> bool:
        """Whether there may be arguments that are not known: a star before something that is not a known list or dict."""
        return self.has_unknown_keywords() or any(
            argument.star == "*" and not isinstance(argument.value, Items) for argument in self.arguments
        )

    def has_unknown_keywords(self) -> bool:
        """Whether there may be keyword arguments that are not known."""
        return any(
            argument.star == "**" and not (isinstance(argument.value, Entries) and not argument.value.open)
            for argument in self.arguments
        )
