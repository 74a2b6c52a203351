"""A call with its evaluated arguments."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.values import Value


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
        return str(self.node.star)


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call: its node (any expression that calls, for synthetic ones) and its arguments in order."""

    node: cst.BaseExpression
    arguments: tuple[Argument, ...] = ()
    callee: str = ""
    receiver: cst.BaseExpression | None = field(default=None)

    def positional(self) -> list[Argument]:
        """The plain positional arguments up to the first star."""
        found = []
        for argument in self.arguments:
            if argument.star:
                break
            if argument.keyword is None:
                found.append(argument)
        return found

    def keyword(self, name: str) -> Argument | None:
        """The argument given by this keyword."""
        return next((argument for argument in self.arguments if argument.keyword == name), None)

    def get(self, index: int, name: str) -> Argument | None:
        """The argument at a position, or given by keyword."""
        positional = self.positional()
        return positional[index] if index < len(positional) else self.keyword(name)

    def has_star(self) -> bool:
        """Whether some arguments are not written out."""
        return any(argument.star for argument in self.arguments)
