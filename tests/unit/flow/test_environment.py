"""Environments: what is known where two control flows meet."""

from __future__ import annotations

from dataclasses import replace

from torchdev_lint.flow.domain.conditions import Atom, Formula, conjunction, negate
from torchdev_lint.flow.domain.environment import Environment, default_state, distinguishing, merge, merge_all
from torchdev_lint.flow.domain.lattice import CPU, UNKNOWN_DEVICE, Accelerator, Choice, Symbol, UnknownDevice
from torchdev_lint.flow.domain.values import NONE, Either, Object, State, Tensor, Value

CUDA = Accelerator("cuda")
FLAG, OTHER = Atom("opaque", ("flag",), "flag"), Atom("opaque", ("other",), "other")
HERE, THERE = Tensor(CPU), Tensor(CUDA)
THING = Object(("parameter", 1, "net"), "net")


def environment(*path: Formula, **names: Value) -> Environment:
    env = Environment(dict(names))
    for formula in path:
        env.assume(formula)
    return env


def met(left: Environment | None, right: Environment | None) -> Environment:
    result = merge(left, right)
    assert result is not None
    return result


def test_facts_are_added_once() -> None:
    env = environment(conjunction(FLAG, OTHER), FLAG)
    assert env.path == (conjunction(FLAG, OTHER), FLAG, OTHER)


def test_a_copy_changes_on_its_own() -> None:
    env = environment(FLAG, x=HERE)
    copy = env.copy()
    copy.names["x"] = THERE
    copy.set_state(THING, State("module", CUDA))
    copy.assume(OTHER)
    assert env.names["x"] == HERE
    assert env.state(THING) == default_state(THING)
    assert env.path == (FLAG,)


def test_what_tells_two_flows_apart() -> None:
    assert distinguishing(environment(FLAG), environment(negate(FLAG))) == FLAG
    assert distinguishing(environment(negate(FLAG)), environment(FLAG)) == negate(FLAG)
    assert distinguishing(environment(OTHER, FLAG), environment(OTHER, negate(FLAG))) == FLAG
    assert distinguishing(environment(FLAG), environment(OTHER)) is None
    assert distinguishing(environment(FLAG), environment()) is None


def test_names_by_condition() -> None:
    result = met(environment(FLAG, x=THERE), environment(negate(FLAG), x=HERE))
    assert result.names == {"x": Tensor(Choice(FLAG, CUDA, CPU))}
    assert result.path == ()


def test_names_with_nothing_to_tell_them_apart() -> None:
    assert met(environment(x=THERE), environment(x=HERE)).names == {"x": Tensor(UNKNOWN_DEVICE)}


def test_a_name_bound_on_one_side_only() -> None:
    # reading it after the other side would be a NameError
    result = met(environment(FLAG, x=THERE), environment(negate(FLAG), y=NONE))
    assert result.names == {"x": THERE, "y": NONE}


def test_common_facts_stay() -> None:
    result = met(environment(OTHER, FLAG), environment(OTHER, negate(FLAG)))
    assert result.path == (OTHER,)


def test_unreachable_flows() -> None:
    env = environment(x=HERE)
    assert merge(None, None) is None
    assert merge(env, None) is env
    assert merge(None, env) is env
    assert merge(env, env) is env
    assert merge_all([]) is None
    assert merge_all([env]) is env


def test_three_flows() -> None:
    flows = [
        environment(FLAG, x=THERE),
        environment(negate(FLAG), OTHER, x=HERE),
        environment(negate(FLAG), negate(OTHER), x=HERE),
    ]
    result = merge_all(flows[::-1])
    assert result is not None
    assert result.names["x"] == Tensor(Choice(negate(FLAG), CPU, CUDA))


def test_states_by_condition() -> None:
    left, right = environment(FLAG), environment(negate(FLAG))
    left.set_state(THING, State("module", CUDA, moved=True, attributes={"a": THERE, "b": NONE}))
    right.set_state(THING, State("module", CPU, attributes={"a": HERE}, registered=frozenset("a")))
    state = met(left, right).state(THING)
    assert state.device == Choice(FLAG, CUDA, CPU)
    assert state.attributes == {"a": Tensor(Choice(FLAG, CUDA, CPU)), "b": NONE}
    assert state.registered == {"a"}
    assert state.moved


def test_a_thing_touched_on_one_side_is_as_it_was_on_the_other() -> None:
    moved = State("unknown", CUDA, moved=True)
    untouched = default_state(THING).device
    left, right = environment(FLAG), environment(negate(FLAG))
    left.set_state(THING, moved)
    assert met(left, right).state(THING).device == Choice(FLAG, CUDA, untouched)
    left, right = environment(FLAG), environment(negate(FLAG))
    right.set_state(THING, moved)
    assert met(left, right).state(THING).device == Choice(FLAG, untouched, CUDA)


def test_a_thing_made_on_one_side_only_is_what_it_is() -> None:
    made = Object(("made", 1, 2), "net")
    left, right = environment(FLAG), environment(negate(FLAG))
    right.set_state(made, State("module", CUDA))
    assert met(left, right).state(made).device == CUDA
    assert met(right, left).state(made).device == CUDA


def test_kinds() -> None:
    def kind(one: str, other: str) -> str:
        left, right = environment(FLAG), environment(negate(FLAG))
        left.set_state(THING, State(one, CPU))
        right.set_state(THING, State(other, CUDA))
        return met(left, right).state(THING).kind

    assert kind("module", "module") == "module"
    assert kind("module", "unknown") == "module"
    assert kind("loader", "module") == "module"
    assert kind("loader", "instance") == "unknown"


def test_the_default_device() -> None:
    left, right = environment(FLAG), environment(negate(FLAG))
    left.default_device = right.default_device = CUDA
    assert met(left, right).default_device == CUDA
    right.default_device = CPU
    assert met(left, right).default_device == Choice(FLAG, CUDA, CPU)
    assert isinstance(
        met(environment(), replace(environment(), default_device=CUDA)).default_device, UnknownDevice
    )


def test_the_state_of_an_unknown_thing_is_its_own_device() -> None:
    state = Environment().state(THING)
    assert state.kind == "unknown"
    assert state.device == Symbol(("device", THING.key), assumed=True)
    assert isinstance(state.device, Symbol)
    assert state.device.text == "net.device"
    assert not state.moved


def test_values_of_different_sorts() -> None:
    result = met(environment(FLAG, x=NONE), environment(negate(FLAG), x=THERE))
    assert result.names["x"] == Either(FLAG, NONE, THERE)
