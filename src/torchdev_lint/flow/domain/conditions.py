"""Conditions: propositional formulas over atoms, kept so that two tests of one condition are read as one.

`if use_cuda: model.cuda()` and, later, `if use_cuda: x = x.cuda()` depend on the same atom; a mismatch is only looked
for under assignments of the atoms that a run could have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from torchdev_lint.flow.domain.immutable import dataclass

Key: TypeAlias = tuple[Any, ...]
"""The identity of a value that is not known: a parameter, an attribute of another, the result of one call."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A condition whose truth is known."""

    value: bool


@dataclass(frozen=True, slots=True)
class Atom:
    """A condition that is not analysed further.

    `kind` is one of:
    `available` (`key[0]` is the accelerator type that the machine has, or "any"),
    `count` (`key` is (type, n): more than n devices of the type are there),
    `device-type` (`key` is (symbol key, type): that device is of this type),
    `absent` (`key` is a parameter's: it is None),
    `opaque` (anything else; equal keys mean equal truth).
    `text` is the source it came from, for messages only.
    """

    kind: str
    key: Key
    text: str = ""
    node: Any = field(default=None, repr=False)
    """The condition itself, where nothing else is known of it."""
    _hash: int = field(init=False, repr=False)
    """Asked for so often that it is computed once."""
    _opposite: Not | None = field(default=None, init=False, repr=False)
    """As is its negation, where it was asked for."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.kind, self.key)))

    def opposite(self) -> Not:
        """Its negation, always the same."""
        if self._opposite is None:
            object.__setattr__(self, "_opposite", Not(self))
        assert self._opposite is not None
        return self._opposite

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Atom)
            and self._hash == other._hash
            and self.kind == other.kind
            and self.key == other.key
        )

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Not:
    """True when `operand` is false."""

    operand: Formula
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(("not", self.operand)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class And:
    """True when all operands are."""

    operands: tuple[Formula, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(("and", self.operands)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Or:
    """True when one of the operands is."""

    operands: tuple[Formula, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(("or", self.operands)))

    def __hash__(self) -> int:
        return self._hash


Formula: TypeAlias = Constant | Atom | Not | And | Or

TRUE = Constant(True)
FALSE = Constant(False)


def negate(formula: Formula) -> Formula:
    """The opposite, without double negation."""
    if isinstance(formula, Atom):  # asked so often that patterns would be felt
        return formula.opposite()
    if isinstance(formula, Constant):
        return FALSE if formula.value else TRUE
    return formula.operand if isinstance(formula, Not) else Not(formula)


def conjunction(*operands: Formula) -> Formula:
    """`and`, flattened and simplified."""
    kept: list[Formula] = []
    for operand in operands:
        if operand == FALSE:
            return FALSE
        parts = operand.operands if isinstance(operand, And) else (operand,)
        kept += [part for part in parts if part != TRUE and part not in kept]
    if not kept:
        return TRUE
    return kept[0] if len(kept) == 1 else And(tuple(kept))


def disjunction(*operands: Formula) -> Formula:
    """`or`, flattened and simplified."""
    kept: list[Formula] = []
    for operand in operands:
        if operand == TRUE:
            return TRUE
        parts = operand.operands if isinstance(operand, Or) else (operand,)
        kept += [part for part in parts if part != FALSE and part not in kept]
    if not kept:
        return FALSE
    return kept[0] if len(kept) == 1 else Or(tuple(kept))


def atoms(formula: Formula) -> frozenset[Atom]:
    """The atoms that the formula mentions."""
    if isinstance(formula, Atom):
        return frozenset((formula,))
    found: set[Atom] = set()
    seen: set[int] = set()  # parts are shared
    stack: list[Formula] = [formula]
    while stack:
        part = stack.pop()
        if isinstance(part, Atom):
            found.add(part)
        elif isinstance(part, Not):
            stack.append(part.operand)
        elif not isinstance(part, Constant) and id(part) not in seen:
            seen.add(id(part))
            stack += part.operands
    return frozenset(found)


def told_equal(atom: Atom) -> tuple[Key, Key] | None:
    """What an atom says is equal to which constant, and of which sort that is: nothing is equal to two of one sort."""
    if atom.kind != "opaque" or atom.key[0] != "equal":
        return None
    constant = atom.key[2]
    if isinstance(constant, tuple):
        return ((atom.key[1], constant[1]), constant) if constant[0] == "member" else None
    if constant[:1] in ("'", '"'):
        return (atom.key[1], "text"), constant
    return ((atom.key[1], "number"), constant) if constant.isdigit() else None


def exclude_each_other(atoms: Iterable[Atom]) -> bool:
    """Whether not all of these atoms can hold: `kind == "host"`, and `kind == "device"`."""
    values: dict[Key, Key] = {}
    for atom in atoms:
        told = told_equal(atom)
        if told is not None and values.setdefault(told[0], told[1]) != told[1]:
            return True
    return False


class _Equalities(dict[Atom, bool]):
    """The truth of atoms, where something is known to be equal to a constant, `values` by what it is, and so is to no other."""

    __slots__ = ("values_of",)

    def __init__(self, told: Mapping[Atom, bool], values_of: Mapping[Key, Key]) -> None:
        super().__init__(told)
        self.values_of = dict(values_of)

    def copy(self) -> _Equalities:
        """The same, to be told more."""
        return _Equalities(self, self.values_of)

    def get(self, atom: Atom, default: Any = None) -> Any:
        """What is known of an atom."""
        found = dict.get(self, atom)
        if found is None and (told := told_equal(atom)) is not None:
            value = self.values_of.get(told[0])
            return default if value in (None, told[1]) else False
        return default if found is None else found


@dataclass(slots=True)
class Known:
    """What a path (the conditions that hold at some point) says, prepared for being asked often."""

    path: tuple[Formula, ...]
    facts: frozenset[Formula]
    shorter: Known | None = None
    """What the path says that this one goes on from: most of what is asked of this one has been asked of that."""
    _opposites: frozenset[Formula] | None = None
    _assignment: dict[Atom, bool] | None = None

    @property
    def opposites(self) -> frozenset[Formula]:
        """What certainly does not hold."""
        if self._opposites is None:
            before = self.shorter
            if before is None or before._opposites is None:
                self._opposites = frozenset(map(negate, self.path))
            else:
                self._opposites = before._opposites.union(map(negate, self.path[len(before.path) :]))
        return self._opposites

    @property
    def assignment(self) -> dict[Atom, bool]:
        """The truth of the atoms that are facts themselves."""
        if self._assignment is None:
            before = self.shorter
            new = self.path
            if before is None or before._assignment is None:
                known: dict[Atom, bool] = {}
            else:
                known = before._assignment.copy()
                new = new[len(before.path) :]
            for fact in new:
                if isinstance(fact, Atom):
                    known[fact] = True
                elif isinstance(fact, Not) and isinstance(fact.operand, Atom):
                    known[fact.operand] = False
            self._assignment = _with_equalities(known, new)
        return self._assignment


def _with_equalities(assignment: dict[Atom, bool], new: Sequence[Formula]) -> dict[Atom, bool]:
    """The same, which knows what follows from the equalities among the new facts."""
    for fact in new:
        told = told_equal(fact) if isinstance(fact, Atom) else None
        if told is None:
            continue
        if not isinstance(assignment, _Equalities):
            assignment = _Equalities(assignment, {})
        assignment.values_of[told[0]] = told[1]
    return assignment


MAX_PATHS = 1_000
_paths: dict[int, Known] = {}
"""By the identity of the path, which `Known` keeps alive: paths are long, shared by many environments, and never changed."""


def known(path: tuple[Formula, ...]) -> Known:
    """What a path says."""
    found = _paths.get(id(path))
    return _noted(path, frozenset(path)) if found is None else found


def forget() -> None:
    """Know no path any more. A fact and its opposite have each other, so that they only go when the collector looks at them."""
    _paths.clear()


def _noted(path: tuple[Formula, ...], facts: frozenset[Formula], shorter: Known | None = None) -> Known:
    if len(_paths) >= MAX_PATHS:
        _paths.clear()
    found = _paths[id(path)] = Known(path, facts, shorter)
    return found


def common(left: tuple[Formula, ...], right: tuple[Formula, ...]) -> tuple[Formula, ...]:
    """The facts of one path that are those of another, too.

    Nearly always the two go on from one path, and have nothing else in common. Then that very path is given: what it says is known.
    """
    if left is right:
        return left
    also = known(right).facts
    before: Known | None = known(left)
    while before is not None and right[: len(before.path)] != before.path:
        before = before.shorter
    if before is None:
        return tuple(fact for fact in left if fact in also)
    new = [fact for fact in left[len(before.path) :] if fact in also]
    if not new:
        return before.path
    longer = (*before.path, *new)
    _noted(longer, before.facts.union(new), before)
    return longer


def extended(path: tuple[Formula, ...], formula: Formula) -> tuple[Formula, ...]:
    """The path on which `formula` holds as well."""
    told = known(path)
    before = told.facts
    kind = type(formula)  # asked of every branch: most conditions are one fact
    if kind is Atom or (isinstance(formula, Not) and type(formula.operand) is Atom):
        if formula in before:
            return path
        new: Sequence[Formula] = (formula,)
    else:
        new = [fact for fact in facts(formula) if fact not in before]
        if not new:
            return path
    longer = (*path, *new)
    _noted(longer, before.union(new), told)
    return longer


def truth(formula: Formula, assignment: Mapping[Atom, bool]) -> bool | None:
    """The formula's truth under a (possibly partial) assignment; None when the assignment does not settle it."""
    if isinstance(formula, Atom):
        return assignment.get(formula)
    return _truth(formula, assignment, {})


def _truth(formula: Formula, assignment: Mapping[Atom, bool], told: dict[int, bool | None]) -> bool | None:
    """The same, where `told` knows what has been asked: formulas share their parts, level upon level, so that as a tree one may be huge."""
    if isinstance(formula, Not):
        operand = formula.operand
        inner = assignment.get(operand) if isinstance(operand, Atom) else _truth(operand, assignment, told)
        return None if inner is None else not inner
    if isinstance(formula, Atom):
        return assignment.get(formula)
    if isinstance(formula, Constant):
        return formula.value
    key = id(formula)
    if key in told:
        return told[key]
    settling = isinstance(formula, Or)  # what one operand settles
    found: bool | None = not settling
    for one in formula.operands:
        value = assignment.get(one) if isinstance(one, Atom) else _truth(one, assignment, told)
        if value == settling:
            found = settling
            break
        if value is None:
            found = None
    told[key] = found
    return found


def facts(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that hold for certain when `formula` does: its conjuncts, and itself."""
    match formula:
        case Constant():
            return ()
        case And(operands):
            return (formula, *(fact for operand in operands for fact in facts(operand)))
        case Not(Or(operands)):
            return (formula, *(fact for operand in operands for fact in facts(negate(operand))))
        case _:
            return (formula,)


_WANTS_ACCELERATOR = re.compile(r"(?i)(?:^|_|\.)(?:on_|use_?)?(?:cuda|gpu)$")


def chooses_host(fact: Formula) -> bool:
    """Whether a fact is that no accelerator is wanted.

    `not use_gpu`, `not (wanted and torch.cuda.is_available())`, `device.type == "cpu"`, and `device.type != "cuda"`.
    """
    match fact:
        case Atom(kind="device-type", key=(_, "cpu")) | Not(Atom(kind="device-type", key=(_, "cuda"))):
            return True
        case Not(And(operands)):
            return any(isinstance(one, Atom) and one.kind == "available" for one in operands)
        case Not(Atom(kind="opaque", text=text)):
            return _WANTS_ACCELERATOR.search(text) is not None and re.search(r"(?i)no_|disable", text) is None
        case _:
            return False
