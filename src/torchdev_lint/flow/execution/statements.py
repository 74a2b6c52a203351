"""Executing statements: assignments, jumps, branches, `try` and `match` (`loops`, `definitions` and `contexts` have the others)."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame, statement
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.conditions import (
    FALSE,
    TRUE,
    And,
    Atom,
    Constant,
    Formula,
    conjunction,
    known,
    negate,
    truth,
)
from torchdev_lint.flow.domain.environment import Environment, merge_all
from torchdev_lint.flow.domain.lattice import EXHAUSTED, Accelerator, Cpu, leaves
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    DeviceValue,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Unknown,
    Value,
)
from torchdev_lint.flow.execution import containers, mixed_lists, truths
from torchdev_lint.flow.execution.expressions import visit_unpacked
from torchdev_lint.flow.execution.matching import matches
from torchdev_lint.flow.execution.patterns import assign, change
from torchdev_lint.flow.instances import list_classes
from torchdev_lint.flow.mistakes import literals, lost_index
from torchdev_lint.flow.nn_modules import looped_parameters, modules, placements
from torchdev_lint.flow.syntax.trees import dotted, goes_to_cpu, is_main_guard, part_of, walk
from torchdev_lint.flow.torch_calls import current_device, operands, operations
from torchdev_lint.flow.torch_calls.device_values import as_device
from torchdev_lint.torch_api.devices import ACCELERATOR_TYPES
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
    value = _given(frame, node)
    frame.assigning = node
    lost_index.check_normalized(frame, node, value)
    lost_index.check_string(frame, node.value)
    current_device.note_assignment(frame, node, value)
    placements.note_assigned(frame, node.value, value)
    for target in node.targets:
        assign(frame, target.target, value)
    frame.assigning = None


def _given(frame: Frame, node: cst.Assign) -> Value:
    """The value that is assigned. How many names a tuple with one star is unpacked to says how many things the star stands for."""
    match node:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Tuple(elements=names) | cst.List(elements=names))],
            value=cst.Tuple(elements=given) as value,
        ) if len(names) >= len(given) - 1 and _stars(given) == 1 and not _stars(names):
            return visit_unpacked(frame, value, len(names))
        case _:
            return frame.evaluate(node.value)


def _stars(elements: Sequence[cst.BaseElement]) -> int:
    return sum(type(element) is cst.StarredElement for element in elements)


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
    if isinstance(left, Object) and isinstance(node.operator, cst.AddAssign) and modules.is_list(frame, left):
        given = frame.analysis.notes.setdefault(("extends", id(node)), cst.Arg(node.value))
        site = CallSite(node.value, (Argument(right, given),))
        modules.call_module_method(frame, left, "extend", site)
        return
    held = list_classes.held_by(frame, left) if isinstance(node.operator, cst.AddAssign) else None
    if held is not None:
        change(frame, held, containers.extended(held, right, frame), None)
        return
    right = operations.computed_beside(frame, right, left)
    # the target cannot be moved on the spot: it counts as something inside a container
    sides = [
        operands.Given(left, node.target, inside=True, changed=True),
        operands.Given(right, node.value),
    ]
    result = operations.combine(frame, node, "operator", sides, [SHARED, SCALAR])
    # in place: a tensor stays where it is, and what a module registers stays registered
    kept = isinstance(left, Tensor) or (
        isinstance(node.target, cst.Attribute)
        and isinstance(left, (Unknown, Object))
        and isinstance(result, Tensor)
    )
    assign(frame, node.target, left if kept else result)


@statement(cst.Del)
def visit_Del(frame: Frame, node: cst.Del) -> None:
    if isinstance(node.target, cst.Name):
        frame.env.names.pop(node.target.value, None)
    elif isinstance(node.target, cst.Subscript):
        container = frame.evaluate(node.target.value)
        mixed_lists.forget(frame, container)
        list_classes.forget(frame, container)


@statement(cst.Global)
def visit_Global(frame: Frame, node: cst.Global) -> None:
    names = {item.name.value for item in node.names}
    frame.globals |= names
    if frame.caller is not None or frame.function is None or frame.source.foreign:
        return
    for name in names:
        if frame.module_frame.env.names.get(name) == NONE:
            # a setting (`checkpoint = None  # path, None if none`) that the function goes on from: not None for certain
            frame.env.names[name] = Object(("global", name), name)


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
    fact = truths.condition(frame, node.test)
    frame.env.assume(fact)
    if fact == FALSE:
        frame.leave()  # `assert False, "no such method"`
    _learn_device(frame, node.test)


def _learn_device(frame: Frame, test: cst.BaseExpression) -> None:
    """`assert self.device == CPU`: whoever gets past that has this one, in its other methods, too."""
    match test:
        case cst.Comparison(
            left=cst.Attribute(value=cst.Name(value="self")) as attribute,
            comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=told)],
        ) if frame.function is not None and frame.function.name == "__init__":
            with frame.quietly():
                device = frame.evaluate(told)
            if isinstance(device, DeviceValue) and all(
                isinstance(leaf, (Cpu, Accelerator)) for leaf in leaves(device.device)
            ):
                assign(frame, attribute, device)
        case _:
            pass


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
    if is_main_guard(node.test):
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
        otherwise.assume(negate(_decisive(test, node)))
        _narrow(otherwise, test)
        if node.orelse is None:
            flows.append(otherwise)
        else:
            body = [node.orelse] if isinstance(node.orelse, cst.If) else node.orelse.body.body
            flows.append(frame.run_branch(otherwise, body))
    frame.resume(*flows)
    if frame.alive:
        _redeem_literals(frame, start, flows)


def _narrow(env: Environment, refuted: Formula) -> None:
    """Where `isinstance(x, torch.Tensor)` does not hold, `x` is an array or a number, and no device is asked of it.

    Not what was moved: neither can be.
    """
    match refuted:
        case Atom(kind="opaque", key=("isinstance", key, ("torch.Tensor",)), node=node):
            asked = node.args[0].value if isinstance(node, cst.Call) else None
            for name, value in list(env.names.items()):
                same = isinstance(value, Object) and value.key == key
                if not (isinstance(value, Object) and value.key[0] == "moved") and (
                    same or (isinstance(asked, cst.Name) and asked.value == name)
                ):
                    env.names[name] = UNKNOWN
        case _:
            pass


def _decisive(test: Formula, node: cst.If) -> Formula:
    """What of a condition decides: of `if is_tensor(x) and y.is_cuda: y = y.cpu()` that `y` is there, so that it is on the CPU after it.

    Who asks for more than that knows that it holds whenever that does.
    """
    if isinstance(test, And) and node.orelse is None:
        for one in test.operands:
            if (
                isinstance(one, Atom)
                and one.kind == "device-type"
                and one.key[1] in ACCELERATOR_TYPES
                and _brings(node.body, one.text)
            ):
                return one
    return test


def _brings(body: cst.BaseSuite, name: str) -> bool:
    """Whether a block brings what has the name, or a part of it, to the CPU."""
    return any(
        isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and goes_to_cpu(part)
        and part_of(part.func.value) == name.partition(".")[0]
        for part in walk(body)
    )


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


@statement(cst.Try, cst.TryStar)
def visit_Try(frame: Frame, node: cst.Try | cst.TryStar) -> None:
    ended = {frozenset(_caught(handler)) for handler in node.handlers} == {frozenset({"StopIteration"})}
    kind = EXHAUSTED if ended else "exception"
    failed: Formula = _absence(node) or Atom("opaque", (kind, id(node), frame.uid, frame.salt))
    start = frame.env
    returned = len(frame.returns)
    body_env = start.copy()
    body_env.assume(negate(failed))
    catches = any(_catches_device_errors(handler) for handler in node.handlers)
    # `except RuntimeError: return net(x.to(device))`: what fails here is done again with what was moved
    retried = any(_catches_device_errors(handler) and _moves(handler.body) for handler in node.handlers)
    tried = any(_tries_reads(handler) for handler in node.handlers)
    frame.handlers += catches
    frame.reads_tried += tried
    frame.analysis.muted += retried
    end = frame.run_branch(body_env, node.body.body)
    frame.analysis.muted -= retried
    frame.handlers -= catches
    frame.reads_tried -= tried
    flows: list[Environment | None] = []
    if end is not None and node.orelse is not None:
        end = frame.run_branch(end, node.orelse.body.body)
    flows.append(end)
    for_others = _works_for_tensors(node.body)
    frame.reads_tried += for_others
    sure = ended and looped_parameters.takes_first(frame, node.body)
    for handler in () if sure else node.handlers:
        handled = start.copy()
        handled.assume(failed)
        if handler.name is not None and isinstance(handler.name.name, cst.Name):
            handled.names[handler.name.name.value] = UNKNOWN
        flows.append(frame.run_branch(handled, handler.body.body))
    frame.reads_tried -= for_others
    met = merge_all([flow for flow in flows if flow is not None])
    if node.finalbody is not None:
        _finish_returns(frame, node.finalbody.body.body, returned)
        reachable = met is not None
        finished = frame.run_branch(met if met is not None else start.copy(), node.finalbody.body.body)
        frame.resume(finished if reachable else None)
    else:
        frame.resume(met)


def _absence(node: cst.Try | cst.TryStar) -> Formula | None:
    """That there is no GPU, if nothing else is handled: `try: x = x.cuda()`, and `except AssertionError: x = x`.

    A PyTorch without CUDA raises it where something is to be moved there (torch/cuda/__init__.py, `_lazy_init`).
    """
    moves = any(
        isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and part.func.attr.value == "cuda"
        and not part.args
        for part in walk(node.body)
    )
    if not moves or not all(_caught(handler) == {"AssertionError"} for handler in node.handlers):
        return None
    return negate(Atom("available", ("cuda",)))


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
    return handler.type is None or bool(
        {"Exception", "BaseException", "RuntimeError", "AssertionError"} & _caught(handler)
    )


def _tries_reads(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """`except TypeError: return x.cpu().numpy()`: what PyTorch raises where numpy is to read an accelerator's memory is expected."""
    body = handler.body.body
    raises = isinstance(body[-1], cst.SimpleStatementLine) and isinstance(body[-1].body[-1], cst.Raise)
    return "TypeError" in _caught(handler) and not raises


def _works_for_tensors(body: cst.BaseSuite) -> bool:
    """Whether what is tried is one step by a function of PyTorch: what fails there is no tensor (`except TypeError: y = np.log(x)`)."""
    match body.body:
        case [cst.SimpleStatementLine(body=[cst.Assign() | cst.Return() as step])]:
            return any(
                isinstance(part, cst.Call) and (dotted(part.func) or "").startswith("torch.")
                for part in walk(step)
            )
        case _:
            return False


def _caught(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> set[str]:
    """The names of the errors that a handler is for."""
    names: set[str] = set()
    types = (
        [element.value for element in handler.type.elements]
        if isinstance(handler.type, cst.Tuple)
        else [handler.type]
        if handler.type is not None
        else []
    )
    for node in types:
        match node:
            case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
                names.add(name)
            case _:
                pass
    return names


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
