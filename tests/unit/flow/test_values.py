"""Abstract values: joining them, iterating over them, tagging them with where they came from."""

from __future__ import annotations

import pytest

from torchdev_lint.flow.domain.conditions import Atom
from torchdev_lint.flow.domain.lattice import CPU, UNKNOWN_DEVICE, Accelerator, Choice, Origin, leaves
from torchdev_lint.flow.domain.values import (
    ABSENT,
    MAX_DEPTH,
    NONE,
    UNKNOWN,
    DeviceValue,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Value,
    depth,
    element_of,
    join,
    join_all,
    retag,
    unknown_tensor,
)

CUDA = Accelerator("cuda")
FLAG = Atom("opaque", ("flag",), "flag")
HERE, THERE = Tensor(CPU), Tensor(CUDA)
A, B = Object(("a",), "a"), Object(("b",), "b")

SOME: list[Value] = [
    UNKNOWN,
    NONE,
    Literal(3),
    HERE,
    Tensor(CUDA, scalar=True),
    DeviceValue(CUDA),
    A,
    Items((HERE, THERE)),
    Many(HERE),
    Entries((("a", HERE),), THERE),
    Either(FLAG, NONE, HERE),
]


@pytest.mark.parametrize("value", SOME, ids=repr)
def test_a_value_joined_with_itself(value: Value) -> None:
    assert join(FLAG, value, value) == value
    assert join(None, value, value) == value
    assert join_all([value, value, value]) == value


@pytest.mark.parametrize(
    ("then", "otherwise", "expected"),
    [
        (THERE, HERE, Tensor(Choice(FLAG, CUDA, CPU))),
        (DeviceValue(CUDA), DeviceValue(CPU), DeviceValue(Choice(FLAG, CUDA, CPU))),
        (DeviceValue(CUDA), DeviceValue(CUDA, False), DeviceValue(CUDA, False)),
        (Tensor(CPU, scalar=True), HERE, Tensor(CPU, scalar=None)),
        (Tensor(CPU, parameter=True), HERE, HERE),
        (Tensor(CPU, mapping=True), Tensor(CPU, mapping=True), Tensor(CPU, mapping=True)),
        (Tensor(CPU, batch=True), HERE, Tensor(CPU, batch=True)),
        (NONE, HERE, Either(FLAG, NONE, HERE)),
        (Items((HERE, NONE)), Items((THERE, NONE)), Items((Tensor(Choice(FLAG, CPU, CUDA)), NONE))),
        (Items((HERE,)), Items((HERE, HERE)), Many(HERE)),
        (Items((HERE,)), Many(HERE), Many(HERE)),
        (Many(HERE), Many(NONE), Many(Either(FLAG, HERE, NONE))),
        (
            Entries((("a", HERE),)),
            Entries((("a", THERE), ("b", NONE))),
            Entries((("a", Tensor(Choice(FLAG, CPU, CUDA))), ("b", Either(FLAG, ABSENT, NONE)))),
        ),
    ],
)
def test_join_under_a_condition(then: Value, otherwise: Value, expected: Value) -> None:
    assert join(FLAG, then, otherwise) == expected


@pytest.mark.parametrize(
    ("then", "otherwise", "expected"),
    [
        (THERE, HERE, Tensor(UNKNOWN_DEVICE)),
        (DeviceValue(CUDA), DeviceValue(CPU), DeviceValue(UNKNOWN_DEVICE)),
        (NONE, HERE, UNKNOWN),
        (Literal(1), Literal(2), UNKNOWN),
        (Items((HERE, THERE)), Items((THERE,)), Many(Tensor(UNKNOWN_DEVICE))),
    ],
)
def test_join_with_nothing_to_tell_them_apart(then: Value, otherwise: Value, expected: Value) -> None:
    assert join(None, then, otherwise) == expected


def test_two_objects_join_to_one_of_them() -> None:
    joined = join(None, A, B)
    assert joined not in (A, B)
    assert join(None, joined, A) == joined
    assert join(FLAG, A, B) == Either(FLAG, A, B)


def test_too_many_nested_conditions_are_unknown() -> None:
    value: Value = HERE
    for number in range(MAX_DEPTH):
        value = join(Atom("opaque", (number,)), Literal(number), value)
    assert depth(value) == MAX_DEPTH
    assert join(FLAG, NONE, value) == UNKNOWN


@pytest.mark.parametrize(
    ("container", "element"),
    [
        (Items((HERE, Tensor(CPU))), HERE),
        (Items((HERE, THERE)), Tensor(UNKNOWN_DEVICE)),
        (Items(()), UNKNOWN),
        (Many(THERE), THERE),
        (THERE, Tensor(CUDA, scalar=None)),
        (Tensor(CPU, mapping=True), UNKNOWN),
        (Tensor(CPU, batch=True), Tensor(CPU, scalar=None, batch=True)),
        (Either(FLAG, Many(HERE), Many(THERE)), Tensor(Choice(FLAG, CPU, CUDA))),
        (Entries((("a", HERE),)), UNKNOWN),
        (NONE, UNKNOWN),
    ],
)
def test_element_of(container: Value, element: Value) -> None:
    assert element_of(container) == element


def test_entries() -> None:
    entries = Entries((("a", HERE),), THERE)
    assert (entries.get("a"), entries.get("b")) == (HERE, THERE)
    assert entries.updated("a", NONE) == Entries((("a", NONE),), THERE)
    assert entries.updated("b", NONE).get("b") == NONE


def test_join_all() -> None:
    assert join_all([]) == UNKNOWN
    assert join_all([HERE]) == HERE
    assert join_all([HERE, THERE, HERE]) == unknown_tensor()


def test_retag_wraps_the_origin_of_tensors_only() -> None:
    made, passed = Origin("zeros", "made"), Origin("argument", "argument", 5)
    tensor = Tensor(Accelerator("cuda", None, made))
    tagged = retag(Either(FLAG, tensor, NONE), passed)
    assert isinstance(tagged, Either)
    assert isinstance(tagged.then, Tensor)
    (leaf,) = leaves(tagged.then.device)
    assert leaf.origin is not None
    assert (leaf.origin.what, leaf.origin.inner) == ("argument", made)
    assert tagged == Either(FLAG, tensor, NONE)
    for value in (A, NONE, Items((tensor,))):
        assert retag(value, passed) is value


def test_an_attribute_more() -> None:
    state = State("instance", CPU).with_attribute("x", HERE).with_attribute("y", NONE)
    assert dict(state.attributes) == {"x": HERE, "y": NONE}
    assert dict(state.with_attribute("x", THERE).attributes) == {"x": THERE, "y": NONE}
    assert state.attributes["x"] == HERE
