"""What the text of a function shows of an expression, and of each call in it that makes a tensor on the CPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst


@dataclass(frozen=True)
class Look:
    """What an expression may hold: what calls made here (`made`, by id), a tensor that comes from elsewhere (`there`: its text), a
    thing of which only its use can tell (`open`). `root`: the parameter that it was computed of; `held`: as part of a container;
    `scalar`: a tensor without dimensions."""

    made: frozenset[int] = frozenset()
    there: str | None = None
    open: bool = False
    root: str | None = None
    held: bool = False
    scalar: bool = False
    host: bool = False
    passed: frozenset[int] = frozenset()

    def joined(self, other: Look) -> Look:
        """Either of them."""
        if self == other:
            return self
        return Look(
            self.made | other.made,
            self.there if self.there is not None else other.there,
            self.open or other.open,
            self.root or other.root,
            self.held or other.held,
            (self.scalar or not self.made) and (other.scalar or not other.made),
            self.host and other.host,
            self.passed | other.passed,
        )

    def inside(self) -> Look:
        """As part of a container."""
        return Look(
            self.made,
            self.there,
            self.open,
            self.root,
            held=True,
            scalar=self.scalar,
            host=self.host,
            passed=self.passed,
        )


NOTHING = Look()
ON_HOST = Look(host=True)
OPEN = Look(open=True)


@dataclass
class Factory:
    """A call that makes a tensor on the CPU: what was at hand when it was reached, and where it goes."""

    node: cst.Call
    path: str
    scalar: bool
    near: dict[str, Look] = field(default_factory=dict)
    typed: str | None = None
    """The tensor whose type it is made with."""
    sized: str | None = None
    """The tensor that its size is computed from."""
    converted: bool = False
    """Of what may be a tensor already."""
    moved: bool = False
    taken: bool = False
    """Moved, and not only made the same kind of tensor as another (`type_as`)."""
    filled: Look | None = None
    """What parts of it are assigned from."""
    meets: list[tuple[cst.CSTNode, Look]] = field(default_factory=list)
    given: list[tuple[cst.Call, Look | None]] = field(default_factory=list)
    returned: list[tuple[cst.CSTNode, Look | None]] = field(default_factory=list)
    kept: list[cst.CSTNode] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    stands_for: set[str] = field(default_factory=set)
    """The names that are bound to it itself."""


def all_of(looks: Iterable[Look]) -> Look:
    met = NOTHING
    for look in looks:
        met = look if met == NOTHING else met if look == NOTHING else met.joined(look)
    return met


def merged(left: dict[str, Look], right: dict[str, Look]) -> dict[str, Look]:
    met = dict(left)
    for name, look in right.items():
        met[name] = met[name].joined(look) if name in met else look
    return met
