"""Devices: when two of them certainly differ, how they join, how they are described."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from torchdev_lint.flow.domain.conditions import Atom, Formula, atoms, conjunction, disjunction, negate
from torchdev_lint.flow.domain.lattice import (
    CPU,
    MAX_ATOMS,
    MAX_LEAVES,
    UNKNOWN_DEVICE,
    Accelerator,
    Anywhere,
    Choice,
    Cpu,
    Device,
    Level,
    Origin,
    Symbol,
    UnknownDevice,
    choose,
    conflict,
    describe,
    device_atoms,
    leaves,
    story,
    with_origin,
)

CUDA, CUDA0, CUDA1 = Accelerator("cuda"), Accelerator("cuda", 0), Accelerator("cuda", 1)
MPS, XPU = Accelerator("mps"), Accelerator("xpu")
DEVICE, OTHER = Symbol(("parameter", 1, "device"), "device"), Symbol(("parameter", 2, "other"), "other")
HERE = Symbol(("device", ("parameter", 1, "x")), "x.device", assumed=True)
ANY = Anywhere()

AVAILABLE, MPS_AVAILABLE = Atom("available", ("cuda",)), Atom("available", ("mps",))
SOME_AVAILABLE = Atom("available", ("any",))
FLAG, FLAG2, FLAG3 = (Atom("opaque", (name,), name) for name in ("flag", "flag2", "flag3"))
IS_CUDA, IS_CPU = (Atom("device-type", (DEVICE.key, kind), "device") for kind in ("cuda", "cpu"))
TWO = Atom("count", ("cuda", 1))

NO, POSSIBLE, CERTAIN = Level.NO, Level.POSSIBLE, Level.CERTAIN


def level(left: Device, right: Device, *path: Formula) -> Level:
    found = conflict(left, right, path)
    return NO if found is None else found.level


# -- leaves


LEAVES: dict[str, Device] = {
    "unknown": UNKNOWN_DEVICE,
    "anywhere": ANY,
    "cpu": CPU,
    "cuda": CUDA,
    "cuda:0": CUDA0,
    "cuda:1": CUDA1,
    "mps": MPS,
    "symbol": DEVICE,
    "other symbol": OTHER,
    "assumed": HERE,
}
DIFFERENT = {
    ("cpu", "cuda"): CERTAIN,
    ("cpu", "cuda:0"): CERTAIN,
    ("cpu", "cuda:1"): CERTAIN,
    ("cpu", "mps"): CERTAIN,
    ("cpu", "symbol"): CERTAIN,
    ("cpu", "other symbol"): CERTAIN,
    ("cpu", "assumed"): POSSIBLE,
    ("cuda:0", "cuda:1"): CERTAIN,
}
"""Every other pair may be one device: an index-less `cuda` is the current one, two symbols may hold the same, no
machine has both cuda and mps."""


@pytest.mark.parametrize(("one", "other"), list(itertools.product(LEAVES, repeat=2)))
def test_every_pair_of_leaves(one: str, other: str) -> None:
    expected = DIFFERENT.get((one, other)) or DIFFERENT.get((other, one)) or NO
    assert level(LEAVES[one], LEAVES[other]) == expected


def test_the_conflict_names_the_leaves_as_given() -> None:
    moved, made = Origin("to", "moved"), Origin("zeros", "made")
    found = conflict(Accelerator("cuda", 0, moved), Cpu(made))
    assert found is not None
    assert (found.left, found.left.origin) == (CUDA0, moved)
    assert (found.right, found.right.origin) == (CPU, made)


# -- choices


GPU_OR_CPU = Choice(AVAILABLE, CUDA, CPU)
IF_FLAG = Choice(FLAG, CUDA, CPU)
IF_FLAG2 = Choice(FLAG2, CUDA, CPU)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param(IF_FLAG, IF_FLAG, NO, id="one flag moves both"),
        pytest.param(IF_FLAG, CPU, CERTAIN, id="one moved under a flag"),
        pytest.param(IF_FLAG, CUDA, NO, id="the other moved always"),
        pytest.param(
            Choice(FLAG, CUDA0, CUDA1),
            CUDA0,
            NO,
            id="another index under a flag: either may be at fault",
        ),
        pytest.param(Choice(FLAG, CPU, CUDA), IF_FLAG, CERTAIN, id="one flag, the other way round"),
        pytest.param(Choice(negate(FLAG), CPU, CUDA), IF_FLAG, NO, id="one flag, negated"),
        pytest.param(IF_FLAG, IF_FLAG2, NO, id="two flags that may be linked"),
        pytest.param(
            Choice(FLAG, CUDA0, CPU),
            Choice(conjunction(FLAG, FLAG2), CUDA0, CPU),
            NO,
            id="a second flag needed",
        ),
        pytest.param(
            Choice(FLAG, CUDA, MPS), Choice(FLAG2, CPU, CPU), CERTAIN, id="different under every flag"
        ),
        pytest.param(GPU_OR_CPU, CPU, CERTAIN, id="availability"),
        pytest.param(GPU_OR_CPU, GPU_OR_CPU, NO, id="availability on both sides"),
        pytest.param(GPU_OR_CPU, CUDA, NO, id="no machine without an accelerator"),
        pytest.param(GPU_OR_CPU, CUDA1, NO, id="the current device may be any"),
        pytest.param(Choice(AVAILABLE, CUDA0, CPU), CUDA1, CERTAIN, id="cuda:0 against cuda:1"),
        pytest.param(IF_FLAG, GPU_OR_CPU, NO, id="a flag that may be off where there is an accelerator"),
        pytest.param(Choice(negate(AVAILABLE), CPU, CUDA), GPU_OR_CPU, NO, id="not available"),
        pytest.param(Choice(SOME_AVAILABLE, CUDA, CPU), GPU_OR_CPU, NO, id="any accelerator"),
        pytest.param(
            Choice(AVAILABLE, CUDA, Choice(MPS_AVAILABLE, MPS, CPU)), CPU, CERTAIN, id="cuda, mps, cpu"
        ),
        pytest.param(Choice(AVAILABLE, CPU, Choice(MPS_AVAILABLE, MPS, CPU)), CPU, CERTAIN, id="only a Mac"),
        pytest.param(Choice(MPS_AVAILABLE, MPS, CPU), GPU_OR_CPU, CERTAIN, id="each on its own machine"),
        pytest.param(Choice(MPS_AVAILABLE, CPU, CPU), CPU, NO, id="nothing moves"),
        pytest.param(Choice(TWO, CUDA1, CUDA0), CUDA0, CERTAIN, id="a second GPU if there is one"),
        pytest.param(Choice(TWO, CUDA1, CUDA0), Choice(TWO, CUDA1, CUDA0), NO, id="the same second GPU"),
        pytest.param(Choice(Atom("count", ("xpu", 1)), CUDA1, CUDA0), CUDA0, NO, id="counting another type"),
        pytest.param(
            Choice(FLAG, CUDA, UNKNOWN_DEVICE), CPU, CERTAIN, id="the other side unknown in one case"
        ),
        pytest.param(CUDA, Choice(FLAG, CPU, UNKNOWN_DEVICE), NO, id="the one at fault unknown in one case"),
        pytest.param(Choice(FLAG, UNKNOWN_DEVICE, CPU), CUDA, NO, id="the same on the left"),
        pytest.param(Choice(FLAG, CUDA, ANY), CUDA, NO, id="anywhere"),
        pytest.param(DEVICE, IF_FLAG, NO, id="a symbol that may follow the flag"),
        pytest.param(DEVICE, GPU_OR_CPU, NO, id="a symbol that may be chosen by availability"),
        pytest.param(DEVICE, Choice(FLAG, CPU, CPU), CERTAIN, id="a symbol against the CPU either way"),
        pytest.param(Choice(FLAG, DEVICE, CPU), DEVICE, NO, id="moved to the device under a flag"),
        pytest.param(Choice(FLAG, DEVICE, CPU), Choice(FLAG, DEVICE, CPU), NO, id="both under the flag"),
        pytest.param(Choice(FLAG, HERE, CPU), CPU, POSSIBLE, id="where the parameter is, under a flag"),
        pytest.param(Choice(IS_CUDA, DEVICE, CPU), DEVICE, NO, id="moved if the device is cuda"),
        pytest.param(Choice(IS_CPU, CPU, DEVICE), DEVICE, NO, id="left if the device is the CPU"),
    ],
)
def test_choices(left: Device, right: Device, expected: Level) -> None:
    assert level(left, right) == expected
    assert level(right, left) == expected


def test_the_leaves_found_are_those_of_one_assignment() -> None:
    found = conflict(Choice(FLAG, CUDA1, CPU), Choice(FLAG, CUDA0, CPU))
    assert found is not None
    assert (found.left, found.right) == (CUDA1, CUDA0)


@pytest.mark.parametrize(
    ("left", "right", "path", "expected"),
    [
        pytest.param(IF_FLAG, CPU, [FLAG], CERTAIN, id="under the flag"),
        pytest.param(IF_FLAG, CPU, [negate(FLAG)], NO, id="under its negation"),
        pytest.param(CPU, CUDA, [negate(FLAG)], CERTAIN, id="an unrelated fact"),
        pytest.param(GPU_OR_CPU, CPU, [AVAILABLE], CERTAIN, id="where there is a GPU"),
        pytest.param(GPU_OR_CPU, CPU, [negate(AVAILABLE)], NO, id="where there is none"),
        pytest.param(DEVICE, CPU, [negate(AVAILABLE)], NO, id="a symbol where there is none"),
        pytest.param(DEVICE, CPU, [IS_CUDA], CERTAIN, id="a symbol known to be cuda"),
        pytest.param(DEVICE, CPU, [IS_CPU], NO, id="a symbol known to be the CPU"),
        pytest.param(DEVICE, CPU, [negate(IS_CUDA)], NO, id="a symbol known not to be cuda"),
        pytest.param(HERE, CPU, [Atom("device-type", (HERE.key, "cuda"))], CERTAIN, id="x.is_cuda"),
        pytest.param(
            IF_FLAG, CPU, [disjunction(negate(FLAG), FLAG2), negate(FLAG2)], NO, id="follows from two facts"
        ),
        pytest.param(IF_FLAG, CPU, [disjunction(negate(FLAG), FLAG2)], CERTAIN, id="follows from none"),
    ],
)
def test_conditions_on_the_path(left: Device, right: Device, path: list[Formula], expected: Level) -> None:
    assert level(left, right, *path) == expected
    assert level(right, left, *path) == expected


def test_more_conditions_than_can_be_searched_prove_nothing() -> None:
    flags = [Atom("opaque", (number,)) for number in range(MAX_ATOMS + 1)]
    assert level(Choice(conjunction(*flags[:-1]), CUDA, CPU), CPU) == CERTAIN
    assert level(Choice(conjunction(*flags), CUDA, CPU), CPU) == NO
    # facts that mention many more conditions are left out first
    assert level(IF_FLAG, CPU, disjunction(FLAG, *flags)) == CERTAIN


# -- joining and describing


def test_choose() -> None:
    assert choose(FLAG, CPU, CPU) == CPU
    assert choose(None, CPU, CPU) == CPU
    assert choose(None, CPU, CUDA) == UNKNOWN_DEVICE
    assert choose(FLAG, CUDA, CPU) == IF_FLAG


def test_a_choice_between_too_many_devices_is_unknown() -> None:
    device: Device = CPU
    for number in range(MAX_LEAVES - 1):
        device = choose(Atom("opaque", (number,)), Accelerator("cuda", number), device)
    assert sum(1 for _ in leaves(device)) == MAX_LEAVES
    assert choose(FLAG, CUDA, device) == UNKNOWN_DEVICE


def test_leaves_and_atoms() -> None:
    device = Choice(conjunction(AVAILABLE, FLAG), Choice(TWO, CUDA1, CUDA0), CPU)
    assert list(leaves(device)) == [CUDA1, CUDA0, CPU]
    assert device_atoms(device) == {AVAILABLE, FLAG, TWO}
    assert device_atoms(CPU) == frozenset()


def test_origins_take_no_part_in_comparisons() -> None:
    assert Cpu(Origin(1, "made")) == CPU
    assert UnknownDevice(Origin(1, "made")) == UNKNOWN_DEVICE
    assert Symbol(("a",), "x") == Symbol(("a",), "y")
    assert Symbol(("a",)) == Symbol(("a",), assumed=True)
    assert Symbol(("a",)) != Symbol(("b",))


def test_with_origin() -> None:
    made, passed = Origin("zeros", "made"), Origin("argument", "argument", frame=3)
    tagged = with_origin(Choice(FLAG, CUDA, CPU), made)
    assert [leaf.origin for leaf in leaves(tagged)] == [made, made]
    wrapped = with_origin(tagged, passed, wrap=True)
    for leaf in leaves(wrapped):
        assert leaf.origin is not None
        assert (leaf.origin.what, leaf.origin.frame) == ("argument", 3)
        assert leaf.origin.root() == made
        assert story(leaf) == [made]
    assert next(leaves(with_origin(tagged, None))).origin is None
    assert next(leaves(with_origin(tagged, None, wrap=True))).origin is None


def test_the_story_begins_with_the_first_cause() -> None:
    loaded = Origin("loader", "loaded")
    moved = Origin("to", "moved", inner=Origin("call", "argument", inner=loaded))
    assert story(Cpu(moved)) == [loaded, moved]
    assert story(CPU) == []


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (CPU, "the CPU"),
        (CUDA, "`cuda`"),
        (CUDA1, "`cuda:1`"),
        (DEVICE, "`device`"),
        (Symbol(("a",)), "another device"),
        (Choice(FLAG, CUDA0, Choice(FLAG2, CPU, CUDA0)), "`cuda:0` or the CPU"),
        (UNKNOWN_DEVICE, "an unknown device"),
        (ANY, "an unknown device"),
    ],
)
def test_describe(device: Device, text: str) -> None:
    assert describe(device) == text


# -- properties


conditions = st.sampled_from(
    [AVAILABLE, MPS_AVAILABLE, SOME_AVAILABLE, FLAG, FLAG2, FLAG3, TWO, IS_CUDA, IS_CPU]
)
guards = st.one_of(
    conditions,
    conditions.map(negate),
    st.tuples(conditions, conditions).map(lambda pair: conjunction(*pair)),
    st.tuples(conditions, conditions).map(lambda pair: disjunction(*pair)),
)
devices = st.recursive(
    st.sampled_from(list(LEAVES.values())),
    lambda inner: st.tuples(guards, inner, inner).map(lambda parts: choose(*parts)),
    max_leaves=4,
)
paths = st.lists(guards, max_size=2).map(tuple)


@given(devices, devices, paths)
@settings(max_examples=200, deadline=None)
def test_a_conflict_with_the_cpu_is_one_from_both_sides(
    left: Device, right: Device, path: tuple[Formula, ...]
) -> None:
    there, back = conflict(left, right, path), conflict(right, left, path)
    for found in (there, back):
        assume(found is None or CPU in (found.left, found.right))
    assert (there and there.level) == (back and back.level)


@given(devices, paths)
@settings(max_examples=150, deadline=None)
def test_a_device_is_where_it_is(device: Device, path: tuple[Formula, ...]) -> None:
    assert conflict(device, device, path) is None


@given(devices, devices, paths, guards)
@settings(max_examples=200, deadline=None)
def test_nothing_conflicts_where_no_run_gets(
    left: Device, right: Device, path: tuple[Formula, ...], fact: Formula
) -> None:
    relevant = device_atoms(left) | device_atoms(right)
    assume(relevant & atoms(fact))
    assume(len(relevant.union(*map(atoms, (*path, fact)))) <= MAX_ATOMS)
    assert conflict(left, right, (*path, fact, negate(fact))) is None


@example(
    Choice(AVAILABLE, CPU, UNKNOWN_DEVICE),
    Choice(AVAILABLE, CUDA, UNKNOWN_DEVICE),
    SOME_AVAILABLE,
    conjunction(AVAILABLE, MPS_AVAILABLE),
)
@given(devices, devices, guards, guards)
@settings(max_examples=200, deadline=None)
def test_a_conflict_holds_in_one_of_the_cases(
    left: Device, right: Device, fact: Formula, other: Formula
) -> None:
    """Splitting a path by a condition finds at least what is found without the split, in one half or the other."""
    found = level(left, right, fact)
    halves = level(left, right, fact, other), level(left, right, fact, negate(other))
    assert found <= max(halves)


@given(devices, guards)
@settings(max_examples=100, deadline=None)
def test_a_join_of_equals_is_the_same(device: Device, guard: Formula) -> None:
    assert choose(guard, device, device) == device
    assert choose(None, device, device) == device
