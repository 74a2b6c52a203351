"""Executing statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import libcst as cst

from torchdev_lint.flow import (
    containers,
    current_device,
    literals,
    lost_index,
    mixed_lists,
    operands,
    operations,
    placements,
    truths,
    turns,
)
from torchdev_lint.flow.classes import ClassModel, decorator_names
from torchdev_lint.flow.conditions import (
    FALSE,
    TRUE,
    Atom,
    Constant,
    Formula,
    Key,
    conjunction,
    known,
    negate,
    truth,
)
from torchdev_lint.flow.decorators import decorated, run_on_class
from torchdev_lint.flow.device_values import as_device
from torchdev_lint.flow.environment import Environment, merge, merge_all
from torchdev_lint.flow.frame import Counter, Frame, Loop, statement
from torchdev_lint.flow.functions import evaluate_defaults
from torchdev_lint.flow.iteration import counts_only, indexes_with, is_exact, iterate, rounds
from torchdev_lint.flow.lattice import Accelerator
from torchdev_lint.flow.matching import matches
from torchdev_lint.flow.patterns import assign, change
from torchdev_lint.flow.trees import walk
from torchdev_lint.flow.values import (
    NONE,
    UNKNOWN,
    Class,
    DeviceValue,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Value,
)
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES
from torchdev_lint.torch_api.operators import SCALAR, SHARED


@statement(cst.SimpleStatementLine, cst.SimpleStatementSuite)
def visit_SimpleStatementLine(frame: Frame, node: cst.SimpleStatementLine | cst.SimpleStatementSuite) -> None:
    frame.execute(node.body)


@statement(cst.Expr)
def visit_Expr(frame: Frame, node: cst.Expr) -> None:
    kind = type(node.value)
    if kind is cst.SimpleString or kind is cst.ConcatenatedString:
        return  # a docstring or a string used as a comment
    parts = [part.value for part in node.value.elements] if type(node.value) is cst.Tuple else [node.value]
    for part in parts:
        frame.discarded = part
        frame.discarded_with = node.value
        frame.evaluate(part)
    frame.discarded = None


@statement(cst.Assign)
def visit_Assign(frame: Frame, node: cst.Assign) -> None:
    value = frame.evaluate(node.value)
    frame.assigning = node
    lost_index.check_normalized(frame, node, value)
    current_device.note_assignment(frame, node, value)
    placements.note_assigned(frame, node.value, value)
    for target in node.targets:
        assign(frame, target.target, value)
    frame.assigning = None


@statement(cst.AnnAssign)
def visit_AnnAssign(frame: Frame, node: cst.AnnAssign) -> None:
    if node.value is not None:
        value = frame.evaluate(node.value)
        frame.assigning = node
        placements.note_assigned(frame, node.value, value)
        assign(frame, node.target, value)
        frame.assigning = None


@statement(cst.AugAssign)
def visit_AugAssign(frame: Frame, node: cst.AugAssign) -> None:
    left, right = frame.evaluate(node.target), frame.evaluate(node.value)
    if isinstance(left, (Items, Many)) and isinstance(node.operator, cst.AddAssign):
        change(frame, left, containers.extended(left, right, frame), node.target)
        return
    if isinstance(left, Entries) and isinstance(node.operator, cst.BitOrAssign):
        change(frame, left, containers.merged(left, right), node.target)
        return
    right = operations.computed_beside(frame, right, left)
    # the target cannot be moved on the spot: it counts as something inside a container
    given = [
        operands.Given(left, node.target, inside=True, changed=True),
        operands.Given(right, node.value),
    ]
    result = operations.combine(frame, node, "operator", given, [SHARED, SCALAR])
    # in place: a tensor stays where it is
    assign(frame, node.target, left if isinstance(left, Tensor) else result)


@statement(cst.Del)
def visit_Del(frame: Frame, node: cst.Del) -> None:
    if isinstance(node.target, cst.Name):
        frame.env.names.pop(node.target.value, None)
    elif isinstance(node.target, cst.Subscript):
        mixed_lists.forget(frame, frame.evaluate(node.target.value))


@statement(cst.Global)
def visit_Global(frame: Frame, node: cst.Global) -> None:
    frame.globals |= {item.name.value for item in node.names}


@statement(cst.Nonlocal)
def visit_Nonlocal(frame: Frame, node: cst.Nonlocal) -> None:
    frame.nonlocals |= {item.name.value for item in node.names}


@statement(cst.Return)
def visit_Return(frame: Frame, node: cst.Return) -> None:
    value = NONE if node.value is None else frame.evaluate(node.value)
    if frame.alive:
        frame.returns.append((value, frame.env.copy()))
    frame.leave()


@statement(cst.Raise)
def visit_Raise(frame: Frame, node: cst.Raise) -> None:
    if node.exc is not None:
        with frame.quietly():
            frame.evaluate(node.exc)
    frame.leave()


@statement(cst.Assert)
def visit_Assert(frame: Frame, node: cst.Assert) -> None:
    frame.env.assume(truths.condition(frame, node.test))


@statement(cst.Break)
def visit_Break(frame: Frame, node: cst.Break) -> None:
    if frame.loops:
        frame.loops[-1].breaks.append(frame.env.copy())
    frame.leave()


@statement(cst.Continue)
def visit_Continue(frame: Frame, node: cst.Continue) -> None:
    if frame.loops:
        frame.loops[-1].continues.append(frame.env.copy())
    frame.leave()


@statement(cst.If)
def visit_If(frame: Frame, node: cst.If) -> None:
    if _is_main_guard(node.test):
        test: Formula = FALSE if frame.source.foreign else TRUE
    else:
        test = truths.condition(frame, node.test)
        settled = truth(test, known(frame.env.path).assignment)
        test = test if settled is None else Constant(settled)
    flows: list[Environment | None] = []
    start = frame.env
    if test != FALSE:
        then = start.copy()
        then.assume(test)
        flows.append(frame.run_branch(then, node.body.body))
    if test != TRUE:
        otherwise = start.copy()
        otherwise.assume(negate(test))
        if node.orelse is None:
            flows.append(otherwise)
        else:
            body = [node.orelse] if isinstance(node.orelse, cst.If) else node.orelse.body.body
            flows.append(frame.run_branch(otherwise, body))
    frame.resume(*flows)
    if frame.alive:
        _redeem_literals(frame, start, flows)


def _redeem_literals(frame: Frame, start: Environment, flows: list[Environment | None]) -> None:
    """`device = "cuda:0"`, then `if not available: device = "cpu"`: a first choice that is replaced where it is absent."""
    for name, value in start.names.items():
        if type(value) not in _NAMES_DEVICE:  # nearly all of them, after every branch
            continue
        assert isinstance(value, (Literal, DeviceValue))
        if value.node is None:
            continue
        if all(flow is not None and flow.names.get(name) is value for flow in flows):
            continue
        device = as_device(value)
        if not isinstance(device, Accelerator):
            continue
        keeping = [flow for flow in flows if flow is not None and flow.names.get(name) == value]
        if keeping and len(keeping) < len(flows):
            added = [fact for flow in keeping for fact in flow.path if fact not in start.path]
            if literals.guards(added, device.type, device.index or 0):
                frame.analysis.redeemed.add(id(value.node))


_NAMES_DEVICE = frozenset((Literal, DeviceValue))


def _is_main_guard(test: cst.BaseExpression) -> bool:
    return type(test) is cst.Comparison and type(test.left) is cst.Name and test.left.value == "__name__"


@statement(cst.For)
def visit_For(frame: Frame, node: cst.For) -> None:
    iterable = frame.evaluate(node.iter)
    known = is_exact(frame, iterable) and not (
        counts_only(node.iter) and not indexes_with(frame, node.target, [node.body])
    )
    # nested loops multiply: beyond the budget each body is run once
    again = 2 if frame.analysis.budget > 0 else 1
    items = rounds(frame, iterable) if known else [iterate(frame, iterable)] * again

    start = frame.env.heap

    def enter(iteration: int) -> None:
        if iteration and not known:
            _renew(frame, items[iteration], start)
        assign(frame, node.target, items[iteration])

    counter = None if known or again == 1 else turns.counter_of(frame, node)
    _loop(frame, node.body.body, enter, node.orelse, rounds=len(items), exact=known, counter=counter)


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
) -> None:
    """Run a loop's body: for each known item (`exact`), else twice, after which what still changes is unknown.

    Each iteration that is run is exact, so that a fault which only shows in the second one (state carried over) is
    seen, and nothing is reported that an actual iteration would not meet.
    """
    before, salt, outer_round = frame.env, frame.salt, frame.round
    loop = Loop(counter=counter)
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
    elif not endless:
        after = before
    if endless:
        after = None
    if orelse is not None and after is not None:
        after = frame.run_branch(after, orelse.body.body)
    for exit_ in loop.breaks:
        exit_.path = before.path
    frame.resume(after, *loop.breaks)


@statement(cst.Try, cst.TryStar)
def visit_Try(frame: Frame, node: cst.Try | cst.TryStar) -> None:
    failed: Formula = Atom("opaque", ("exception", id(node), frame.uid, frame.salt))
    start = frame.env
    returned = len(frame.returns)
    body_env = start.copy()
    body_env.assume(negate(failed))
    catches = any(_catches_device_errors(handler) for handler in node.handlers)
    # `except RuntimeError: return net(x.to(device))`: what fails here is done again with what was moved
    retried = any(_catches_device_errors(handler) and _moves(handler.body) for handler in node.handlers)
    frame.handlers += catches
    frame.analysis.muted += retried
    end = frame.run_branch(body_env, node.body.body)
    frame.analysis.muted -= retried
    frame.handlers -= catches
    flows: list[Environment | None] = []
    if end is not None and node.orelse is not None:
        end = frame.run_branch(end, node.orelse.body.body)
    flows.append(end)
    for handler in node.handlers:
        handled = start.copy()
        handled.assume(failed)
        if handler.name is not None and isinstance(handler.name.name, cst.Name):
            handled.names[handler.name.name.value] = UNKNOWN
        flows.append(frame.run_branch(handled, handler.body.body))
    met = merge_all([flow for flow in flows if flow is not None])
    if node.finalbody is not None:
        _finish_returns(frame, node.finalbody.body.body, returned)
        reachable = met is not None
        finished = frame.run_branch(met if met is not None else start.copy(), node.finalbody.body.body)
        frame.resume(finished if reachable else None)
    else:
        frame.resume(met)


def _finish_returns(frame: Frame, body: Sequence[cst.CSTNode], first: int) -> None:
    """What `finally` does is done on the way out, too, where the block before it returns."""
    for index, (value, env) in enumerate(frame.returns[first:], first):
        done = frame.run_branch(env.copy(), body)
        if done is not None:
            frame.returns[index] = (value, done)


def _moves(body: cst.BaseSuite) -> bool:
    """Whether a block moves anything; `torch.cuda.empty_cache()` does not."""
    return any(
        isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and part.func.attr.value in IN_PLACE_MOVES
        for part in walk(body)
    )


def _catches_device_errors(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    if handler.type is None:
        return True
    names: list[str] = []
    types = (
        [element.value for element in handler.type.elements]
        if isinstance(handler.type, cst.Tuple)
        else [handler.type]
    )
    for node in types:
        match node:
            case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
                names.append(name)
            case _:
                pass
    return bool({"Exception", "BaseException", "RuntimeError", "AssertionError"} & set(names))


@statement(cst.Match)
def visit_Match(frame: Frame, node: cst.Match) -> None:
    subject = frame.evaluate(node.subject)
    remaining: Environment | None = frame.env
    flows: list[Environment | None] = []
    for case in node.cases:
        if remaining is None:
            break
        frame.env = remaining.copy()
        matched = matches(frame, case.pattern, subject)
        if case.guard is not None:
            with frame.assuming(matched):
                matched = conjunction(matched, truths.condition(frame, case.guard))
        if matched != FALSE:
            frame.env.assume(matched)
            flows.append(frame.run_branch(frame.env, case.body.body))
        if matched == TRUE:
            remaining = None
        else:
            remaining.assume(negate(matched))
    flows.append(remaining)
    frame.resume(*flows)


@statement(cst.FunctionDef)
def visit_FunctionDef(frame: Frame, node: cst.FunctionDef) -> None:
    defaults = evaluate_defaults(frame, node)
    function = Function(node, node.name.value, frame, decorators=decorator_names(node), defaults=defaults)
    frame.bind(node.name.value, decorated(frame, node, function))
    frame.analysis.notes["defined under", id(node)] = frame.env.path
    frame.analysis.meet(function)


@statement(cst.ClassDef)
def visit_ClassDef(frame: Frame, node: cst.ClassDef) -> None:
    bases = tuple(frame.analysis.imports.force(frame.evaluate(base.value)) for base in node.bases)
    model = ClassModel(node.name.value, node, frame, bases, decorators=decorator_names(node))
    for keyword in node.keywords:
        if keyword.keyword is not None and keyword.keyword.value == "metaclass":
            model.metaclass = frame.analysis.imports.force(frame.evaluate(keyword.value))
    body = Frame(
        frame.analysis,
        frame.env.inside(),
        parent=frame,
    )
    if model.is_enum:
        frame.analysis.quiet += 1  # the members of an enumeration are names
    fields: list[str] = []
    for line in node.body.body:
        if isinstance(line, cst.FunctionDef):
            evaluate_defaults(body, line)
            names = decorator_names(line)
            if "setter" in names or "deleter" in names:
                if "setter" in names:
                    model.setters[line.name.value] = line
                continue
            model.methods[line.name.value] = line
            plain = Function(line, line.name.value, body, decorators=names)
            wrapped = decorated(body, line, plain)
            if isinstance(wrapped, Function) and wrapped != plain:
                model.wrapped[line.name.value] = wrapped
            continue
        if isinstance(line, cst.SimpleStatementLine):
            fields += [
                part.target.value
                for part in line.body
                if isinstance(part, cst.AnnAssign) and isinstance(part.target, cst.Name)
            ]
        body.execute([line])
    if model.is_enum:
        frame.analysis.quiet -= 1
    inherited = [name for base in model.bases_in_file() for name in base.fields]
    model.fields = tuple(dict.fromkeys([*inherited, *fields]))
    model.attributes = frame.analysis.table(dict(body.env.names))
    model.is_complete = True
    frame.env.heap = body.env.heap
    frame.bind(node.name.value, Class(model))
    for name, method in model.methods.items():
        frame.analysis.meet(model.function(method, name, None))
    run_on_class(frame, node, Class(model))


@statement(cst.Import)
def visit_Import(frame: Frame, node: cst.Import) -> None:
    for alias in node.names:
        path = _dotted_name(alias.name)
        frame.analysis.imported.add(path.partition(".")[0])
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            frame.bind(alias.asname.name.value, frame.analysis.imports.imported(frame, path, ""))
        else:
            frame.bind(path.partition(".")[0], frame.analysis.imports.package(frame, path))


@statement(cst.ImportFrom)
def visit_ImportFrom(frame: Frame, node: cst.ImportFrom) -> None:
    base = "." * len(node.relative) + ("" if node.module is None else _dotted_name(node.module))
    frame.analysis.imported.add(base.partition(".")[0])
    if isinstance(node.names, cst.ImportStar):
        frame.analysis.imports.star(frame, base)
        return
    for alias in node.names:
        name = _dotted_name(alias.name)
        bound = alias.name if alias.asname is None else alias.asname.name
        assert isinstance(bound, cst.Name)
        frame.bind(bound.value, frame.analysis.imports.imported(frame, base, name))


def _dotted_name(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted_name(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""
