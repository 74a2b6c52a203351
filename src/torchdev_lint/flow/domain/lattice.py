"""The device lattice: where a tensor or a module may live, and when two such places certainly differ.

A device is a leaf (`UnknownDevice`, `Cpu`, `Accelerator`, `Symbol`, `Anywhere`) or a `Choice` between two devices by a condition.
Every leaf remembers its `Origin`, which takes no part in comparisons.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from enum import IntEnum
from typing import Any, TypeAlias

from torchdev_lint.flow.domain.conditions import (
    Atom,
    Formula,
    Key,
    atoms,
    chooses_host,
    exclude_each_other,
    negate,
    told_equal,
    truth,
)
from torchdev_lint.flow.domain.immutable import dataclass

MAX_LEAVES = 12
"""A choice between more devices than this is given up as unknown."""
MAX_ATOMS = 7
"""Conflicts are searched over at most this many conditions at once (2 to this power assignments)."""


LAST = "last device"
"""What the key of the index of the last accelerator of a type begins with: `torch.cuda.device_count() - 1`."""
ATTRIBUTE = "attribute"
"""The kind of origin that a tensor has which a module keeps without registering it."""
LOADED = "loaded"
"""The name of the origin of what came from a file: `torch.load(path, map_location="cpu")`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Why a value is where it is: the node that put it there, and what that node did.

    `what` is one of `factory`, `made`, `moved`, `loaded`, `left`, `attribute`, `argument`; `frame` is the activation in which it
    happened. An `argument` origin records that the value entered the activation `frame` through the argument `node` of its call;
    `inner` is the origin it had outside.
    """

    node: Any
    what: str
    frame: int = 0
    inner: Origin | None = None
    step: int = 0
    """When it happened: the number of statements executed before."""
    name: str = ""
    """The attribute of an `attribute` origin: an assignment may give several; `LOADED` of a `moved` one that was loaded there."""

    def root(self) -> Origin:
        """The origin before any argument passing."""
        origin = self
        while origin.inner is not None:
            origin = origin.inner
        return origin

    def passed(self, what: str) -> bool:
        """Whether this origin, or one that the value had outside of a call, is of a kind."""
        origin: Origin | None = self
        while origin is not None and origin.what != what:
            origin = origin.inner
        return origin is not None


@dataclass(frozen=True, slots=True)
class UnknownDevice:
    """Nothing is known: never reported, never fixed."""

    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Anywhere:
    """The device of a module without parameters and buffers: it works with inputs from any device."""

    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Cpu:
    """Certainly the host."""

    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A literal accelerator. Without an index it is the *current* device of the type."""

    type: str
    index: int | None = None
    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Symbol:
    """Whatever a name holds: a parameter `device`, `args.device`, the device of another value.

    `assumed` says that the program names no device here, only "where that other thing is" (a parameter's own device,
    `x.device`): such a device may well be the CPU.
    """

    key: Key
    text: str = field(default="", compare=False)
    assumed: bool = field(default=False, compare=False)
    origin: Origin | None = field(default=None, compare=False)


Leaf: TypeAlias = UnknownDevice | Anywhere | Cpu | Accelerator | Symbol


@dataclass(frozen=True, slots=True)
class Choice:
    """One device if `guard` holds, the other if not."""

    guard: Formula
    then: Device
    otherwise: Device


Device: TypeAlias = Leaf | Choice

UNKNOWN_DEVICE = UnknownDevice()
CPU = Cpu()


def leaves(device: Device) -> Iterator[Leaf]:
    """All leaves, left to right."""
    if not isinstance(device, Choice):
        yield device
        return
    stack: list[Device] = [device]
    while stack:
        top = stack.pop()
        if isinstance(top, Choice):
            stack += [top.otherwise, top.then]
        else:
            yield top


def device_atoms(device: Device) -> frozenset[Atom]:
    """The atoms that decide between the leaves."""
    if isinstance(device, Choice):
        return atoms(device.guard) | device_atoms(device.then) | device_atoms(device.otherwise)
    return frozenset()


def choose(guard: Formula | None, then: Device, otherwise: Device) -> Device:
    """The join of two devices; without a guard to tell them apart, different devices join to unknown."""
    if then is otherwise or then == otherwise:
        return then
    if guard is None:
        return UNKNOWN_DEVICE
    joined = Choice(guard, then, otherwise)
    if sum(1 for _ in itertools.islice(leaves(joined), MAX_LEAVES + 1)) > MAX_LEAVES:
        return UNKNOWN_DEVICE
    return joined


def settled_by(device: Device, told: Mapping[Atom, bool]) -> Device:
    """The device where these questions have these answers."""
    if not isinstance(device, Choice):
        return device
    answer = truth(device.guard, told)
    if answer is not None:
        return settled_by(device.then if answer else device.otherwise, told)
    return choose(device.guard, settled_by(device.then, told), settled_by(device.otherwise, told))


def with_origin(device: Device, origin: Origin | None, *, wrap: bool = False) -> Device:
    """The same device with every leaf's origin set; with `wrap`, the old origin is kept inside the new one."""
    if isinstance(device, Choice):
        return Choice(
            device.guard,
            with_origin(device.then, origin, wrap=wrap),
            with_origin(device.otherwise, origin, wrap=wrap),
        )
    if wrap and origin is not None:
        origin = Origin(origin.node, origin.what, origin.frame, device.origin, origin.step, origin.name)
    if isinstance(device, Symbol):
        return Symbol(device.key, device.text, device.assumed, origin)
    if isinstance(device, Accelerator):
        return Accelerator(device.type, device.index, origin)
    return type(device)(origin)


def is_kept_plainly(device: Device) -> bool:
    """Whether it is the CPU because a module keeps the tensor without registering it."""
    return isinstance(device, Cpu) and device.origin is not None and device.origin.passed(ATTRIBUTE)


def without_attribute(device: Device) -> Device:
    """The place of what was a plain attribute, and is a parameter of the module now."""
    if isinstance(device, Choice):
        return Choice(device.guard, without_attribute(device.then), without_attribute(device.otherwise))
    kept = device.origin is not None and device.origin.passed(ATTRIBUTE)
    return with_origin(device, device.origin.root()) if kept and device.origin is not None else device


def moved_but_plain(held: Device, device: Device) -> Device:
    """Where a tensor comes to when its module is moved, if the module may have it registered or not: on that way it stays."""
    if not isinstance(held, Choice):
        return held if is_kept_plainly(held) else device
    return choose(held.guard, moved_but_plain(held.then, device), moved_but_plain(held.otherwise, device))


class Level(IntEnum):
    """How sure it is that two devices differ on a machine that has an accelerator."""

    NO = 0
    POSSIBLE = 1
    """One is the CPU, the other is where a parameter or the module itself is: fails as soon as that is moved."""
    CERTAIN = 2


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two devices that differ, as they are under the assignment found."""

    level: Level
    left: Leaf
    right: Leaf


def _settle(device: Device, assignment: dict[Atom, bool]) -> Leaf:
    while isinstance(device, Choice):
        settled = truth(device.guard, assignment)
        if settled is None:
            return UNKNOWN_DEVICE
        device = device.then if settled else device.otherwise
    return device


def _symbol_against_cpu(symbol: Symbol, assignment: dict[Atom, bool]) -> Level:
    """What the assignment says of the symbol's type decides; by default a symbol may be an accelerator."""
    if any(value and _is_given_an_array(atom.key) for atom, value in assignment.items()):
        return Level.NO  # whoever hands over arrays has nothing on an accelerator
    if symbol.key[0] == "device" and any(_is_no_tensor(symbol.key[1], *fact) for fact in assignment.items()):
        return Level.NO
    for atom, value in assignment.items():
        if atom.kind == "device-type" and atom.key[0] == symbol.key:
            is_cpu_test = atom.key[1] == "cpu"
            if is_cpu_test == value:
                return Level.NO
            return Level.CERTAIN
        if atom.kind == "opaque" and _hangs_on_what_was_made(atom.key, symbol, is_tensor=value):
            return Level.NO
    return Level.POSSIBLE if symbol.assumed else Level.CERTAIN


def _is_no_tensor(thing: Key, atom: Atom, value: bool) -> bool:
    """Whether a condition says that a thing is None, or anything else but a tensor: then it has no device."""
    if atom.kind == "absent":
        return value and atom.key == thing
    return not value and atom.key[:2] == ("isinstance", thing) and "torch.Tensor" in atom.key[2]


def _is_given_an_array(asked: Key) -> bool:
    """Whether a condition asks if an argument is an array (`is_instance` in truths.py)."""
    return asked[:1] == ("arrays",) or (
        asked[:1] == ("isinstance",) and asked[2:] == (("numpy.ndarray",),) and asked[1][:1] == ("parameter",)
    )


def _hangs_on_what_was_made(asked: Key, symbol: Symbol, *, is_tensor: bool) -> bool:
    """Whether a device is only there if something that the program made is a tensor: `y.to(x.device) if torch.is_tensor(x) else y`.

    Of an argument both will happen. What was made is one or the other, most likely an array, and what comes of that is none either.
    """
    if asked[:1] != ("isinstance",) or not _is_made(asked[1]):
        return False
    return (
        asked[1:2] == symbol.key[1:2] if is_tensor else symbol.key[0] == "device" and _is_made(symbol.key[1])
    )


def _is_made(key: Key) -> bool:
    while key[0] in ("attr", "item"):
        key = key[1]
    return key[0] in ("call", "made")


def _of_last(key: Key, kinds: Sequence[str] = ("cuda", "xpu", "mps", "any")) -> bool:
    """Whether the device of this key is the last one of a type."""
    return any((LAST, kind) in (key, *key) for kind in kinds)


def _last_against_first(last: Symbol, other: Accelerator, assignment: dict[Atom, bool]) -> Level:
    """`f"cuda:{torch.cuda.device_count() - 1}"` beside `cuda:0`: where there are several, these are two."""
    if other.index != 0 or not _of_last(last.key, (other.type, "any")):
        return Level.NO
    # whoever has asked how many there are may have found one
    single = any(
        atom.kind == "count" and atom.key[1] >= 1 and not value for atom, value in assignment.items()
    )
    return Level.NO if single else Level.CERTAIN


def _compare_leaves(left: Leaf, right: Leaf, assignment: dict[Atom, bool]) -> Level:
    match left, right:
        case Cpu(), Accelerator():
            return Level.CERTAIN
        case Accelerator(), Cpu():
            return Level.CERTAIN
        case Accelerator(), Accelerator():
            differ = (
                left.type == right.type
                and None not in (left.index, right.index)
                and left.index != right.index
            )
            return Level.CERTAIN if differ else Level.NO
        case Cpu(), Symbol():
            return _symbol_against_cpu(right, assignment)
        case Symbol(), Cpu():
            return _symbol_against_cpu(left, assignment)
        case (Symbol() as last, Accelerator() as other) | (Accelerator() as other, Symbol() as last):
            return _last_against_first(last, other, assignment)
        case _:
            return Level.NO


def _machines(devices: Sequence[Device], relevant: Iterable[Atom]) -> list[str]:
    """The accelerator types to imagine: those spoken of, cuda first."""
    types = {leaf.type for device in devices for leaf in leaves(device) if isinstance(leaf, Accelerator)}
    types |= {str(atom.key[0]) for atom in relevant if atom.kind in ("available", "count")}
    return ["cuda", *sorted(types - {"cuda", "any"})]


def _assignments(
    relevant: Sequence[Atom], machine: str, path: Sequence[Formula]
) -> Iterator[dict[Atom, bool]]:
    """Every assignment that a machine with accelerators of one type could see on this path."""
    fixed: dict[Atom, bool] = {}
    free: list[Atom] = []
    for atom in relevant:
        if atom.kind == "available":
            fixed[atom] = atom.key[0] in (machine, "any")
        elif atom.kind == "count" and atom.key[0] not in (machine, "any"):
            fixed[atom] = False
        elif atom.kind == "count" and atom.key[1] <= 0:
            fixed[atom] = True
        else:
            free.append(atom)
    several = sum(atom.kind == "count" for atom in free) > 1
    compared = sum(told_equal(atom) is not None for atom in free) > 1
    for values in itertools.product((True, False), repeat=len(free)):
        assignment = fixed | dict(zip(free, values, strict=True))
        if several and not _may_be_counted(assignment):
            continue
        if compared and exclude_each_other(atom for atom in free if assignment[atom]):
            continue
        if all(truth(fact, assignment) is not False for fact in path):
            yield assignment


def _may_be_counted(assignment: dict[Atom, bool]) -> bool:
    """Whether a machine may have that many devices: more than two are more than one."""
    counts = [(atom.key, more) for atom, more in assignment.items() if atom.kind == "count"]
    return not any(
        more and not other and kind == asked and number > least
        for (kind, number), more in counts
        for (asked, least), other in counts
    )


def _selects(device: Device) -> bool:
    """Whether the device is an accelerator under some conditions and another under others.

    A default that stands in for an absent argument is no such choice: the two have nothing to do with each other.
    """
    if not isinstance(device, Choice):
        return False
    if all(atom.kind == "absent" for atom in atoms(device.guard)):
        return _selects(device.then) or _selects(device.otherwise)
    return any(not isinstance(leaf, Cpu) for leaf in leaves(device))


def _is_for_host(device: Device, assignment: dict[Atom, bool]) -> bool:
    """Whether a device is what it is because no accelerator is wanted: `if use_gpu: p = p.cpu()`, where nothing else was brought along."""
    while isinstance(device, Choice):
        settled = truth(device.guard, assignment)
        if settled is None:
            return False
        if chooses_host(device.guard if settled else negate(device.guard)):
            return True
        device = device.then if settled else device.otherwise
    return False


_OF_DEVICES = re.compile(
    r"(?i)cuda|gpu|cpu|device|host|mps|xpu|tpu|npu|hpu|xla|hip|rocm|accelerat|parallel|distribut|ddp|fsdp|rank|world|amp|cache|debug"
)
"""Names in conditions that may go together with where things are."""

_OF_EXTENTS = re.compile(r"\blen\(|\b(?:ndim|dim|numel|size|shape)\b")
"""Questions for how much is there: the degenerate case that they single out may never be met."""


def _is_left_behind(device: Device, other: Device) -> bool:
    """Whether the device is an accelerator's, as `other` is, in one case, and in another where a factory made a tensor on the CPU.

    `w = torch.ones_like(x)` in one branch says where `w` belongs if `w * x` follows; `w = torch.ones(n)` in the other branch is not
    there. What decides between them must have nothing to do with devices, and nothing must have been moved.
    """
    if not isinstance(device, Choice) or not all(
        isinstance(leaf, (Symbol, Accelerator)) for leaf in leaves(other)
    ):
        return False
    follows = False
    for leaf in leaves(device):
        what = None if leaf.origin is None else leaf.origin.root().what
        if isinstance(leaf, Cpu):
            if what != "factory":
                return False
        elif isinstance(leaf, (Symbol, Accelerator)) and what != "moved":
            follows = True
        else:
            return False
    return follows and not any(map(may_tell_where, device_atoms(device)))


OUTGROWN = "outgrown"
"""The end of the key of a condition that asks whether what is kept is too small: `seq_len > self.cached_length`, 64 at first."""


def _as_long_as_enough(device: Device) -> Device:
    """The device of what a class keeps while that is large enough, where it is on the CPU as it was made at first.

    It was made at first to be used: `self.grow(64)` in `__init__`, and `if seq_len > self.length: self.grow(seq_len)` in `forward`.
    """
    if not isinstance(device, Choice):
        return device
    atom = device.guard
    if not isinstance(atom, Atom) or atom.kind != "opaque" or atom.key[-1] != OUTGROWN:
        return device
    kept = device.otherwise
    is_first = isinstance(kept, Cpu) and kept.origin is not None and kept.origin.passed(ATTRIBUTE)
    return kept if is_first else device


def _is_only_loaded(device: Device, other: Device, assignment: dict[Atom, bool]) -> bool:
    """Whether something is on the CPU because a file was loaded there in its place, and is else where `other` is: `if resume: ...`.

    What decides on that has nothing to do with devices.
    """
    origin = _settle(device, assignment).origin
    asked = [atom for atom in device_atoms(device) if atom.kind not in ("available", "device-type")]
    if origin is None or origin.root().name != LOADED or not 0 < len(asked) <= MAX_ASKED:
        return False
    if any(map(may_tell_where, asked)):
        return False
    wanted = _settle(other, assignment)
    ways = [
        _settle(device, assignment | dict(zip(asked, answers, strict=True)))
        for answers in itertools.product((True, False), repeat=len(asked))
    ]
    elsewhere = [leaf for leaf in ways if leaf.origin is None or leaf.origin.root().name != LOADED]
    return bool(elsewhere) and all(
        not isinstance(leaf, UnknownDevice) and leaf == wanted for leaf in elsewhere
    )


MAX_ASKED = 3
"""Of more conditions that decide on where something is, nobody says what they have to do with each other."""


_TOLD_BY_TEXT = frozenset({"truth", "equal", "given", "none", "isinstance", "node", "item"})
"""Conditions whose text says whether they may have to do with devices."""


def may_tell_where(atom: Atom) -> bool:
    """Whether a condition may go together with where things are, or singles out a degenerate case."""
    if atom.kind == "absent":
        return False
    if atom.kind != "opaque" or atom.key[0] not in _TOLD_BY_TEXT:
        return True
    written = _written(atom)
    if atom.key[0] == "node":
        return not written or bool(_OF_DEVICES.search(written) or _OF_EXTENTS.search(written))
    return _OF_DEVICES.search(f"{atom.key!r} {atom.text}") is not None


def _written(atom: Atom) -> str:
    """A condition as it is written; empty where it is not known."""
    import libcst as cst  # the rules are asked for their documentation without it

    return "" if atom.node is None else cst.Module([]).code_for_node(atom.node)


def _said(atom: Atom) -> str:
    """The same, or how else the program says it."""
    return _written(atom) or atom.text


def _possible_here(leaf: Leaf, machine: str) -> bool:
    return not isinstance(leaf, Accelerator) or leaf.type == machine


def _may_differ(left: Device, right: Device) -> bool:
    """Whether any two leaves differ under any assignment: nearly always they do not, and nothing else need be asked."""
    if not isinstance(left, Choice) and not isinstance(right, Choice):
        return _compare_leaves(left, right, {}) != Level.NO
    others = list(leaves(right))
    return any(_compare_leaves(here, there, {}) != Level.NO for here in leaves(left) for there in others)


def conflict(left: Device, right: Device, path: Sequence[Formula] = ()) -> Conflict | None:
    """Whether two devices certainly differ in some run that reaches this point with an accelerator at hand.

    `path` are the conditions known to hold here. What the side at fault (the one on the CPU) depends on must be known to
    the other side too: a tensor that is moved under a condition of its own was most likely moved whenever it matters, so
    that only a difference under *every* assignment counts.
    """
    left, right = _as_long_as_enough(left), _as_long_as_enough(right)
    # most that meet are where one choice put them: whatever decides it, they are together
    if left == right or not _may_differ(left, right):
        return None
    left_atoms, right_atoms = device_atoms(left), device_atoms(right)
    relevant = set(left_atoms | right_atoms)
    about = {leaf.key for device in (left, right) for leaf in leaves(device) if isinstance(leaf, Symbol)}
    counted = any(map(_of_last, about)) or any(atom.kind == "count" for atom in relevant)
    telling = {"available", "count"} if counted else {"available"}
    compared = {told[0] for atom in relevant if (told := told_equal(atom)) is not None}
    facts_here: list[Formula] = []
    for fact in path:
        mentioned = atoms(fact)
        tells_type = any(atom.kind == "device-type" and atom.key[0] in about for atom in mentioned)
        compares = compared and any(
            told is not None and told[0] in compared for told in map(told_equal, mentioned)
        )
        if mentioned & relevant or tells_type or compares or any(atom.kind in telling for atom in mentioned):
            facts_here.append(fact)
            relevant |= mentioned
    if len(relevant) > MAX_ATOMS:
        facts_here = [fact for fact in facts_here if atoms(fact) <= (left_atoms | right_atoms)]
        relevant = set(left_atoms | right_atoms)
        if len(relevant) > MAX_ATOMS:
            return None
    free_left = {atom for atom in left_atoms if atom.kind == "opaque"}
    free_right = {atom for atom in right_atoms if atom.kind == "opaque"}
    ordered = sorted(relevant, key=lambda atom: (atom.kind, repr(atom.key)))
    left_behind = _is_left_behind(left, right) or _is_left_behind(right, left)
    after_others = _after_others(left_atoms | right_atoms, about, facts_here)
    # who brings a thing to an accelerator whatever the module is on has it on one
    after_itself = set(filter(_asks_of_itself, left_atoms ^ right_atoms))
    best: Conflict | None = None
    met: dict[Atom, bool] = {}
    doubted: set[str] = set()
    differs_everywhere = True
    # what only the path speaks of raises no doubt that would not be there without it
    spoken_of = _machines((left, right), left_atoms | right_atoms)
    for machine in _machines((left, right), relevant):
        for assignment in _assignments(ordered, machine, facts_here):
            here, there = _settle(left, assignment), _settle(right, assignment)
            if not (_possible_here(here, machine) and _possible_here(there, machine)):
                continue
            if machine in spoken_of:
                doubted |= {"left"} if isinstance(here, UnknownDevice) else set()
                doubted |= {"right"} if isinstance(there, UnknownDevice) else set()
            level = _compare_leaves(here, there, assignment)
            if (
                isinstance(here, Symbol) != isinstance(there, Symbol)
                and (isinstance(here, Cpu) or isinstance(there, Cpu))
                and not left_behind
                and (_selects(right) if isinstance(here, Symbol) else _selects(left))
            ):
                # the side that is the CPU here is an accelerator under other conditions: the symbol may follow them too
                level = Level.NO
            if level == Level.POSSIBLE and any(_is_for_host(device, assignment) for device in (left, right)):
                level = Level.NO
            asked = after_others | (
                after_itself if isinstance(here if isinstance(there, Cpu) else there, Accelerator) else set()
            )
            if level != Level.NO and (
                _turns_on(left, asked & left_atoms, assignment)
                or _turns_on(right, asked & right_atoms, assignment)
            ):
                level = Level.NO
            differs_everywhere = differs_everywhere and (level != Level.NO or machine not in spoken_of)
            if level > (best.level if best else Level.NO):
                best, met = Conflict(level, here, there), assignment
    if best is None:
        return None
    # a tensor on the CPU in one case and who knows where in another: the other case may be the only one that counts
    left_at_fault = isinstance(best.left, Cpu) and not isinstance(best.right, Cpu)
    if ("left" if left_at_fault else "right") in doubted:
        return None
    leaf, device, free = (best.left, left, free_left) if left_at_fault else (best.right, right, free_right)
    other, others = (right, free_right) if left_at_fault else (left, free_left)
    if not isinstance(best.left, Cpu) and not isinstance(best.right, Cpu):
        known = free == others  # two accelerators: either may be at fault
    else:
        known = free <= others or _is_only_loaded(device, other, met) or all(map(_is_drawn, free - others))
    if not known and best.level == Level.CERTAIN:
        # what is large was brought to the host, or the best so far, or every so often, and the other knows nothing of it
        known = (
            is_brought(leaf)
            and not others
            and (all(map(_compares_extents, free)) or all(map(_finds_better, free)) or _comes_round(free))
        )
    if any(map(_compares_devices, free_left | free_right)):
        return None
    return best if known or left_behind or differs_everywhere else None


_COMPARED = re.compile(r"\.device\b(?:\.type)?\s*(?:==|!=)|(?:==|!=)\s*[\w.]+\.device\b")


def _compares_devices(atom: Atom) -> bool:
    """Whether a condition asks if two things are together, one of which is not known: `if self.cached.device != x.device`.

    What is made anew then, or kept, is where the other thing is, wherever that may be.
    """
    return _COMPARED.search(_said(atom)) is not None


def is_brought(leaf: Leaf) -> bool:
    """Whether a tensor was taken to the CPU by a call that says so."""
    return isinstance(leaf, Cpu) and leaf.origin is not None and leaf.origin.root().what == "moved"


def _compares_extents(atom: Atom) -> bool:
    """Whether a condition says that there is more, or less, of something than a limit: `x.numel() > self.limit`.

    Not that there is none, or one: this may never be met.
    """
    if atom.key[0] in ("more", "least"):
        least = atom.key[2] + (atom.key[0] == "more")
        return bool(least > 1 and _OF_EXTENTS.search(atom.text) and not _OF_DEVICES.search(atom.text))
    import libcst as cst  # the rules are asked for their documentation without it

    if atom.key[0] != "node" or type(atom.node) is not cst.Comparison:
        return False
    assert isinstance(atom.node, cst.Comparison)
    if len(atom.node.comparisons) != 1:
        return False
    operator, limit = atom.node.comparisons[0].operator, atom.node.comparisons[0].comparator
    written = _written(atom)
    return (
        isinstance(operator, (cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual))
        and not (isinstance(limit, cst.Integer) and int(limit.value, 0) <= 1)
        and _OF_EXTENTS.search(written) is not None
        and _OF_DEVICES.search(written) is None
    )


_BEST = re.compile(r"(?i)(?:\b|_|\.)(?:is_)?(?:best|lowest|highest)")


def _finds_better(atom: Atom) -> bool:
    """Whether a condition says that something is better than all before, as the first in a loop is: `if loss < best_loss`."""
    if atom.key[0] not in ("node", "truth"):
        return False
    written = _said(atom)
    return _BEST.search(written) is not None and _OF_DEVICES.search(written) is None


_ROUNDS = re.compile(r"[\w)]\s*%\s*[\w(]")


def _comes_round(atoms: Set[Atom]) -> bool:
    """Whether conditions hold every so many rounds of a loop, `if step % 100 == 0`, whatever else is asked then but for devices."""
    written = [_said(atom) for atom in atoms]
    return any(map(_ROUNDS.search, written)) and not any(map(_OF_DEVICES.search, written))


EXHAUSTED = "exhausted"
"""Kind of the condition that an iterator has come to its end, `except StopIteration`, and is made anew."""

_DRAWS = re.compile(
    r"\b(?:random|rng|np_random)\.(?:random|rand|uniform|randint|random_sample)\(|\btorch\.rand\("
)


def _is_drawn(atom: Atom) -> bool:
    """Whether a condition is a matter of chance, or of time, and so holds now and then: `if random.random() < self.p`."""
    if atom.key[0] == EXHAUSTED:
        return True
    if atom.key[0] not in ("node", "more", "least"):
        return False
    written = _written(atom)
    return _DRAWS.search(written) is not None and _OF_DEVICES.search(written) is None


def _after_others(asked: Iterable[Atom], about: set[Key], facts: Sequence[Formula]) -> set[Atom]:
    """The questions of a device for the place of a thing that nothing is known of: `if batch.is_cuda: state = state.cuda()`.

    What follows it is where that thing is, and so is unknown, too; but not an argument, which is assumed to be on an accelerator.
    """
    settled = frozenset().union(*map(atoms, facts))
    return {
        atom
        for atom in asked
        if atom not in settled and (_asks_of_another(atom, about) or _asks_of_something(atom))
    }


def _asks_of_another(atom: Atom, about: set[Key]) -> bool:
    return (
        atom.kind == "device-type"
        and atom.key[0][:1] == ("device",)
        and atom.key[0] not in about
        and atom.key[0][1][:1] != ("self",)
    )


def _asks_of_itself(atom: Atom) -> bool:
    return atom.kind == "device-type" and atom.key[0][:1] == ("device",) and atom.key[0][1][:1] == ("self",)


def _asks_of_something(atom: Atom) -> bool:
    import libcst as cst

    node = atom.node
    return (
        atom.kind == "opaque"
        and atom.key[0] == "node"
        and isinstance(node, cst.Attribute)
        and node.attr.value in ("is_cuda", "is_cpu")
    )


def _turns_on(device: Device, asked: Iterable[Atom], assignment: dict[Atom, bool]) -> bool:
    """Whether a device is another one if one of the questions is answered the other way."""
    here = _settle(device, assignment)
    return any(_settle(device, assignment | {atom: not assignment[atom]}) != here for atom in asked)


def describe(device: Device) -> str:
    """The device as a message names it: `the CPU`, `cuda:0`, `` `device` ``."""
    match device:
        case Cpu():
            return "the CPU"
        case Accelerator(type=type_, index=index):
            return f"`{type_}`" if index is None else f"`{type_}:{index}`"
        case Symbol(text=text):
            if text.startswith("the "):
                return text
            return f"`{text}`" if text else "another device"
        case Choice():
            named = list(dict.fromkeys(describe(leaf) for leaf in leaves(device)))
            return " or ".join(named)
        case _:
            return "an unknown device"


def story(leaf: Leaf) -> list[Origin]:
    """What put something where it is, first cause first, without the arguments it was passed through."""
    steps: list[Origin] = []
    origin = leaf.origin
    while origin is not None:
        if origin.what not in ("argument", "attribute", "late") and origin.node is not None:
            steps.append(origin)
        origin = origin.inner
    return steps[::-1]
