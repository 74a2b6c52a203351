"""Loops: item by item over a few known things, else twice, as their first and second iteration would run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import libcst as cst

from torchdev_lint.flow.activation.frame import Counter, Frame, Loop, statement
from torchdev_lint.flow.domain.conditions import (
    FALSE,
    TRUE,
    Key,
)
from torchdev_lint.flow.domain.environment import Environment, merge, merge_all
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    Entries,
    Items,
    Many,
    Object,
    State,
    Tensor,
    Value,
)
from torchdev_lint.flow.execution import truths, turns
from torchdev_lint.flow.execution.iteration import (
    counts_only,
    indexes_with,
    is_exact,
    iterate,
    opened,
    rounds,
)
from torchdev_lint.flow.execution.patterns import assign, change
from torchdev_lint.flow.mistakes import lost_copies
from torchdev_lint.flow.nn_modules import loaders, looped_parameters
from torchdev_lint.flow.syntax.trees import last_name, walk


@statement(cst.For)
def visit_For(frame: Frame, node: cst.For) -> None:
    iterable = frame.evaluate(node.iter)
    known = is_exact(frame, iterable) and not (
        counts_only(node.iter) and not indexes_with(frame, node.target, [node.body])
    )
    nothing = _is_over_no_options(frame, node.iter, iterable)
    # nested loops multiply: beyond the budget each body is run once
    again = 2 if frame.analysis.budget > 0 else 1
    if nothing:
        items = []
    elif known:
        items = rounds(frame, iterable)
    elif isinstance(iterable := opened(frame, iterable), Many) and iterable.each and again > 1:
        items = list(iterable.each)
    else:
        items = [loaders.anew(frame, node, iterate(frame, iterable))] * again
    lost_copies.check(frame, node, items)

    start = frame.env.heap

    def enter(iteration: int) -> None:
        if iteration and not known:
            _renew(frame, items[iteration], start)
        assign(frame, node.target, items[iteration])

    counter = None if known or again == 1 else turns.counter_of(frame, node)
    owners = looped_parameters.owners(frame, node)
    _loop(
        frame,
        node.body.body,
        enter,
        node.orelse,
        rounds=len(items),
        exact=known,
        counter=counter,
        owners=owners,
        some=looped_parameters.has_some(frame, node.iter),
    )
    _forget_changed(frame, node)


def _is_over_no_options(frame: Frame, node: cst.BaseExpression, iterable: Value) -> bool:
    """Whether a loop goes over the `**options` of a function that was called without any: nobody else can put some there."""
    match node:
        case cst.Call(
            func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="items" | "keys" | "values"))
        ):
            pass
        case cst.Name(value=name):
            pass
        case _:
            return False
    options = None if frame.function is None else frame.function.node.params.star_kwarg
    empty = iterable == Items(()) or (
        isinstance(iterable, Entries) and not (iterable.entries or iterable.open)
    )
    return empty and options is not None and options.name.value == name


def _forget_changed(frame: Frame, node: cst.For) -> None:
    """What lists hold, once a loop over them has moved parts of it: `for graph in train + test: graph.x = graph.x.to(device)`.

    A loop over one list of objects has followed that; what graphs and batches are made of has no identity, nor have joined lists.
    """
    if not isinstance(node.target, cst.Name) or not _moves_parts(node.body, node.target.value):
        return
    sources = list(_joined(node.iter))
    for source in sources:
        with frame.quietly():
            held = frame.evaluate(source)
        if not isinstance(held, (Items, Many)):
            continue
        parts = held.items if isinstance(held, Items) else (held.element,)
        if len(sources) > 1 or any(isinstance(one, Tensor) and (one.mapping or one.batch) for one in parts):
            change(frame, held, Many(UNKNOWN), source)


def _moves_parts(body: cst.BaseSuite, name: str) -> bool:
    """Whether attributes or items of what has this name are set to something that is moved."""
    for part in walk(body):
        match part:
            case cst.Assign(
                targets=[
                    cst.AssignTarget(
                        target=cst.Attribute(value=cst.Name(value=whole))
                        | cst.Subscript(value=cst.Name(value=whole))
                    )
                ],
                value=cst.Call(func=cst.Attribute(attr=cst.Name(value="to" | "cuda" | "cpu"))),
            ) if whole == name:
                return True
            case _:
                pass
    return False


def _joined(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The lists that an expression goes through one after the other: `a + b`, `chain(a, b)`, and any that has a name."""
    match node:
        case cst.Name() | cst.Attribute():
            yield node
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            yield from _joined(left)
            yield from _joined(right)
        case cst.Call(func=function, args=args) if last_name(function) == "chain":
            for argument in args:
                yield from _joined(argument.value)
        case _:
            pass


def _renew(frame: Frame, item: Value, start: Mapping[Key, State]) -> None:
    """Another item of a loop: what was done with the one before has not been done with this one, nor with its parts."""
    heap = frame.env.heap
    wholes = {
        one.key for one in (item.items if isinstance(item, Items) else (item,)) if isinstance(one, Object)
    }
    for key in [key for key, state in heap.items() if start.get(key) is not state and _is_part(key, wholes)]:
        if key in start:
            heap[key] = start[key]
        else:
            del heap[key]


def _is_part(key: Key, wholes: set[Key]) -> bool:
    """Whether a thing is one of some, or a part of one: `batch`, `batch[0]`, `batch.x`."""
    while isinstance(key, tuple) and key:
        if key in wholes:
            return True
        if key[0] not in ("item", "attr"):
            return False
        key = key[1]
    return False


@statement(cst.While)
def visit_While(frame: Frame, node: cst.While) -> None:
    test = truths.condition(frame, node.test)
    # what holds at first (`while step < 500`) will not hold for ever, unless nothing in it can change
    endless = test == TRUE and not any(
        isinstance(part, cst.Name) and part.value != "True" for part in walk(node.test)
    )

    def enter(iteration: int) -> None:
        if not endless:
            frame.env.assume(truths.condition(frame, node.test))

    if test == FALSE:
        frame.execute([] if node.orelse is None else node.orelse.body.body)
        return
    again = 2 if frame.analysis.budget > 0 else 1
    _loop(frame, node.body.body, enter, node.orelse, rounds=again, endless=endless)


def _loop(
    frame: Frame,
    body: Sequence[cst.CSTNode],
    enter: Callable[[int], None],
    orelse: cst.Else | None,
    *,
    rounds: int,
    exact: bool = False,
    endless: bool = False,
    counter: Counter | None = None,
    owners: looped_parameters.Owners | None = None,
    some: bool = False,
) -> None:
    """Run a loop's body: for each known item (`exact`), else twice, after which what still changes is unknown.

    `some`: there is an item, so that a loop whose body returns is never come out of.

    Each iteration that is run is exact, so that a fault which only shows in the second one (state carried over) is
    seen, and nothing is reported that an actual iteration would not meet.
    """
    before, salt, outer_round = frame.env, frame.salt, frame.round
    loop = Loop(counter=counter, exact=exact, owners=owners or {})
    frame.loops.append(loop)
    current, ends = before.copy(), []
    for iteration in range(rounds):
        frame.salt = (*salt, iteration)
        loop.turn = iteration
        if exact:
            frame.round = (*outer_round, iteration)
        frame.env, frame.alive = current, True
        enter(iteration)
        frame.execute(body)
        end = merge_all([*([frame.env] if frame.alive else []), *loop.continues])
        loop.continues.clear()
        if end is None:
            break
        ends.append(end)
        current = end.copy()
    frame.loops.pop()
    frame.salt, frame.round = salt, outer_round
    after: Environment | None = None
    if ends:
        merged = ends[-1] if exact else merge(ends[0], ends[-1])
        assert merged is not None
        # whoever comes out of a loop over known items has not returned from any of its rounds
        path = merged.path if exact else before.path
        after = Environment(merged.names, merged.heap, path, merged.default_device, merged.imported)
    elif not endless and not some:
        after = before
    if endless:
        after = None
    if orelse is not None and after is not None:
        after = frame.run_branch(after, orelse.body.body)
    for exit_ in loop.breaks:
        exit_.path = before.path
    frame.resume(after, *loop.breaks)
