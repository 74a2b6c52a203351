"""Names of devices that may not be there where they are used: None, where None raises, or bound on one way only.

The statements of a function are gone through in their order. A loop counts as run, tests of the same things as correlated, and a
chain of branches that all bind a name as complete: what is left is a way on which nothing gives the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.read_alone.device_spellings import Scope, is_called_device, makes_device
from torchdev_lint.flow.syntax.trees import SCOPES, all_parameters, dotted, walk

SET, NONE, UNBOUND = "set", "none", "unbound"

_EXITS = frozenset("exit quit sys.exit os._exit parser.error pytest.skip".split())


@dataclass(frozen=True)
class Missing:
    """`name` may be None (`none`), or unbound, at `node`."""

    node: cst.CSTNode
    name: str
    none: bool
    bound: cst.CSTNode | None = None
    """Where it is bound, on that way only."""


State = dict[str, frozenset[str]]


def _counters(target: cst.BaseExpression, iterable: cst.BaseExpression) -> frozenset[str]:
    """What a loop counts with: `for i, batch in enumerate(loader)`, `for i in range(n)`."""
    match target, iterable:
        case (
            cst.Tuple(elements=[cst.Element(value=cst.Name(value=name)), _]),
            cst.Call(func=cst.Name(value="enumerate"), args=[_]),
        ) | (cst.Name(value=name), cst.Call(func=cst.Name(value="range"), args=[_])):
            return frozenset({name})
        case _:
            return frozenset()


def _asks_for_first(test: cst.BaseExpression, counters: frozenset[str]) -> bool:
    """Whether a test is true where a loop is run through for the first time, `i == 0`, `not i`: it comes before all others."""
    match test:
        case (
            cst.Comparison(
                left=cst.Name(value=name),
                comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=cst.Integer(value="0"))],
            )
            | cst.UnaryOperation(operator=cst.Not(), expression=cst.Name(value=name))
        ):
            return name in counters
        case _:
            return False


def missing(scope: Scope) -> list[Missing]:
    """The uses in a scope of devices that may be missing there."""
    names = {name for name in scope.bound if name.isidentifier() and is_called_device(cst.Name(name))}
    state: State = {}
    if isinstance(scope.node, cst.FunctionDef):
        for parameter in all_parameters(scope.node.params):
            name = parameter.name.value
            names.discard(name)
            if is_called_device(parameter.name):
                none = isinstance(parameter.default, cst.Name) and parameter.default.value == "None"
                state[name] = frozenset({SET, NONE} if none else {SET})
    for node in scope.nodes:
        match node:
            case cst.Global(names=items) | cst.Nonlocal(names=items):
                names -= {item.name.value for item in items}
            case cst.CompFor(target=target) | cst.NamedExpr(target=target) | cst.AsName(name=target):
                names -= {part.value for part in walk(target) if isinstance(part, cst.Name)}
            case _:
                pass
    state |= {name: frozenset({UNBOUND}) for name in names}
    if not names and not any(NONE in one for one in state.values()):
        return []
    reading = _Reading()
    body = scope.node.body
    reading.block(list(body) if not isinstance(body, cst.BaseSuite) else [body], state)
    return list(reading.found.values())


@dataclass
class _Reading:
    found: dict[tuple[str, bool], Missing] = field(default_factory=dict)
    hangs: dict[str, set[str]] = field(default_factory=dict)
    """By name: what the tests ask that it was bound under."""
    where: dict[str, cst.CSTNode] = field(default_factory=dict)
    counters: frozenset[str] = frozenset()
    """What the loops around count with, from 0."""

    def block(self, body: list[cst.CSTNode], state: State | None) -> State | None:
        for statement in body:
            if state is None:
                return None
            state = self.statement(statement, state)
        return state

    def statement(self, node: cst.CSTNode, state: State) -> State | None:
        match node:
            case (
                cst.IndentedBlock(body=body)
                | cst.SimpleStatementSuite(body=body)
                | cst.SimpleStatementLine(body=body)
            ):
                return self.block(list(body), state)
            case cst.Return(value=value):
                self.use(value, state)
                return None
            case cst.Raise() | cst.Continue() | cst.Break():
                return None
            case cst.Expr(value=value):
                self.use(value, state)
                called = dotted(value.func) if isinstance(value, cst.Call) else None
                return None if called in _EXITS else state
            case cst.Assert(test=test):
                self.use(test, state)
                return self.narrowed(test, state, truth=True)
            case cst.Assign(targets=targets, value=value):
                self.use(value, state)
                return self.bind(state, [one.target for one in targets], value)
            case cst.AnnAssign(target=target, value=value):
                if value is None:
                    return state
                self.use(value, state)
                return self.bind(state, [target], value)
            case cst.If():
                return self.branch(node, state)
            case cst.For(target=target, iter=iterable, body=body, orelse=orelse):
                self.use(iterable, state)
                state = self.bind(state, [target], None)
                around, self.counters = self.counters, self.counters | _counters(target, iterable)
                after = self.loop(body, orelse, state)
                self.counters = around
                return after
            case cst.While(test=test, body=body, orelse=orelse):
                self.use(test, state)
                return self.loop(body, orelse, self.narrowed(test, state, truth=True))
            case cst.With(items=items, body=body):
                for item in items:
                    self.use(item.item, state)
                    self.enter(item.item, state)
                    if item.asname is not None:
                        state = self.bind(state, [item.asname.name], None)
                return self.statement(body, state)
            case cst.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                return self.attempt(body, list(handlers), orelse, final, state)
            case cst.Match():
                return self.match(node, state)
            case cst.FunctionDef() | cst.ClassDef() | cst.Import() | cst.ImportFrom() | cst.Del():
                return state
            case _:
                self.use(node, state)
                return state

    def bind(
        self, state: State, targets: list[cst.BaseExpression], value: cst.BaseExpression | None
    ) -> State:
        changed = dict(state)
        for target in targets:
            for part in walk(target):
                if isinstance(part, cst.Name) and part.value in changed:
                    none = isinstance(value, cst.Name) and value.value == "None" and part is target
                    other = (
                        changed.get(value.value) if isinstance(value, cst.Name) and part is target else None
                    )
                    changed[part.value] = frozenset({NONE}) if none else other or frozenset({SET})
                    if isinstance(value, cst.BooleanOperation) and isinstance(value.operator, cst.Or):
                        changed[part.value] = frozenset({SET})
        return changed

    def branch(self, node: cst.If, state: State) -> State | None:
        self.use(node.test, state)
        asked = _asked(node.test)
        entered = self.narrowed(node.test, self.correlated(asked, state), truth=True)
        then = self.statement(node.body, entered)
        apart = state if node.orelse is None else self.correlated(asked, state)
        other = self.narrowed(node.test, apart, truth=False)
        chained = isinstance(node.orelse, cst.If)
        if node.orelse is not None:
            inner = node.orelse if chained else node.orelse.body
            otherwise = self.statement(inner, other)
        elif _asks_for_first(node.test, self.counters):
            otherwise = {**other, **dict.fromkeys(set(_bound_in(node.body)) & set(other), frozenset({SET}))}
        else:
            otherwise = other
        if then is not None and otherwise is not None:
            for name in state:
                if (UNBOUND in then[name]) != (UNBOUND in otherwise[name]):
                    bound = _binding(node, name)
                    self.hangs.setdefault(name, set()).update(asked, _bound_beside(node, name))
                    if bound is not None:
                        self.where.setdefault(name, bound)
        if chained and _is_open(node) and then is not None and otherwise is not None:
            # each of several branches binds it: the program knows no other way
            for name, held in list(otherwise.items()):
                if UNBOUND in held and UNBOUND not in then[name] and self._all_bind(node, name):
                    otherwise = {**otherwise, name: held - {UNBOUND} or frozenset({SET})}
        return _met(then, otherwise)

    def _all_bind(self, node: cst.If, name: str) -> bool:
        current: cst.If | cst.Else | None = node
        while isinstance(current, cst.If):
            if not any(
                isinstance(part, cst.AssignTarget)
                and any(isinstance(one, cst.Name) and one.value == name for one in walk(part.target))
                for part in walk(current.body)
            ) and not _leaves(current.body):
                return False
            current = current.orelse
        return True

    def correlated(self, asked: set[str], state: State) -> State:
        return {
            name: (held - {UNBOUND} or frozenset({SET}))
            if asked & self.hangs.get(name, set()) and SET in held
            else held
            for name, held in state.items()
        }

    def loop(self, body: cst.BaseSuite, orelse: cst.Else | None, state: State) -> State | None:
        after = self.statement(body, state)
        left = dict(state)
        for name in _bound_in(body):
            if name in left:
                left[name] = frozenset({SET})
        state = _met(after, left) or left
        return state if orelse is None else self.statement(orelse.body, state)

    def attempt(
        self,
        body: cst.BaseSuite,
        handlers: list[cst.ExceptHandler],
        orelse: cst.Else | None,
        final: cst.Finally | None,
        state: State,
    ) -> State | None:
        after = self.statement(body, state)
        if orelse is not None and after is not None:
            after = self.statement(orelse.body, after)
        failed = _met(state, after) or state
        ends = [after, *(self.statement(handler.body, failed) for handler in handlers)]
        met: State | None = None
        for end in ends:
            met = _met(met, end)
        if final is not None:
            met = self.statement(final.body, met if met is not None else state) if met is not None else None
        return met

    def match(self, node: cst.Match, state: State) -> State | None:
        self.use(node.subject, state)
        met: State | None = None
        for case in node.cases:
            met = _met(met, self.statement(case.body, state))
        return met if met is not None else state

    # -- uses

    def use(self, root: cst.CSTNode | None, state: State) -> None:
        if root is None:
            return
        match root:
            case cst.IfExp(test=test, body=then, orelse=otherwise):
                self.use(test, state)
                asked = _asked(test)
                self.use(then, self.narrowed(test, self.correlated(asked, state), truth=True))
                self.use(otherwise, self.narrowed(test, self.correlated(asked, state), truth=False))
            case cst.BooleanOperation(left=left, operator=operator, right=right):
                self.use(left, state)
                self.use(right, self.narrowed(left, state, truth=isinstance(operator, cst.And)))
            case cst.Lambda() | cst.FunctionDef() | cst.ClassDef():
                return
            case cst.Attribute(value=value, attr=cst.Name(value=attribute)):
                if attribute in ("type", "index", "startswith", "split"):
                    self.must_be(value, root, state)
                self.use(value, state)
            case cst.Comparison(
                left=left,
                comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=asked)],
            ):
                self.use(left, state)
                if isinstance(left, (cst.SimpleString, cst.FormattedString)):
                    self.must_be(asked, root, state)
                self.use(asked, state)
            case cst.Call(func=function, args=arguments):
                if makes_device(root) and arguments:
                    self.must_be(arguments[0].value, root, state)
                self.use(function, state)
                for argument in arguments:
                    self.use(argument.value, state)
            case cst.Name(value=name):
                held = state.get(name)
                if held is not None and UNBOUND in held and SET in held:
                    self.found.setdefault(
                        (name, False), Missing(root, name, none=False, bound=self.where.get(name))
                    )
            case _:
                for part in root.children:
                    if isinstance(
                        part,
                        (
                            cst.BaseExpression,
                            cst.Arg,
                            cst.BaseElement,
                            cst.BaseDictElement,
                            cst.CompFor,
                            cst.FormattedStringExpression,
                            cst.BaseSlice,
                            cst.SubscriptElement,
                            cst.Slice,
                            cst.Index,
                            cst.ComparisonTarget,
                        ),
                    ):
                        self.use(part, state)

    def enter(self, node: cst.BaseExpression, state: State) -> None:
        self.must_be(node, node, state)

    def must_be(self, node: cst.BaseExpression, whole: cst.CSTNode, state: State) -> None:
        if isinstance(node, cst.Name) and NONE in state.get(node.value, frozenset()):
            self.found.setdefault((node.value, True), Missing(whole, node.value, none=True))

    def narrowed(self, test: cst.BaseExpression, state: State, *, truth: bool) -> State:
        """What is known once a test came out so."""
        match test:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return self.narrowed(inner, state, truth=not truth)
            case cst.BooleanOperation(left=left, operator=operator, right=right):
                if isinstance(operator, cst.And) == truth:
                    return self.narrowed(right, self.narrowed(left, state, truth=truth), truth=truth)
                return state
            case cst.Comparison(
                left=cst.Name(value=name),
                comparisons=[cst.ComparisonTarget(operator=operator, comparator=other)],
            ) if name in state:
                is_none = isinstance(other, cst.Name) and other.value == "None"
                if is_none:
                    none = isinstance(operator, (cst.Is, cst.Equal)) == truth
                    kept = state[name] & {NONE} if none else state[name] - {NONE}
                    return {**state, name: kept or state[name]}
                if isinstance(operator, (cst.In, cst.NotIn)) and _lists_none(other):
                    listed = isinstance(operator, cst.In) == truth
                    return state if listed else {**state, name: state[name] - {NONE} or state[name]}
                if isinstance(operator, (cst.Equal, cst.In)) and truth:
                    return {**state, name: state[name] - {NONE} or state[name]}
                return state
            case cst.Name(value=name) if name in state and truth:
                return {**state, name: state[name] - {NONE} or state[name]}
            case cst.Call(
                func=cst.Name(value="isinstance"), args=[cst.Arg(value=cst.Name(value=name)), *_]
            ) if name in state and truth:
                return {**state, name: state[name] - {NONE} or state[name]}
            case _:
                return state


def _lists_none(node: cst.BaseExpression) -> bool:
    return any(isinstance(part, cst.Name) and part.value == "None" for part in walk(node))


def _met(left: State | None, right: State | None) -> State | None:
    if left is None or right is None:
        return left if right is None else right
    return {name: left[name] | right[name] for name in left}


def _is_open(node: cst.If) -> bool:
    last: cst.If | cst.Else | None = node
    while isinstance(last, cst.If):
        last = last.orelse
    return last is None


def _leaves(body: cst.BaseSuite) -> bool:
    return any(isinstance(part, (cst.Raise, cst.Return)) for part in walk(body))


def _asked(test: cst.BaseExpression) -> set[str]:
    """What a test asks: the names and attributes in it."""
    found = set()
    for part in walk(test):
        text = dotted(part)
        if text is not None and text not in ("torch", "self", "None", "True", "False"):
            found.add(text)
    return found


def _bound_in(body: cst.CSTNode) -> Iterator[str]:
    for part in walk(body, below=SCOPES):
        match part:
            case cst.AssignTarget(target=target) | cst.For(target=target) | cst.AnnAssign(target=target):
                for one in walk(target):
                    if isinstance(one, cst.Name):
                        yield one.value
            case _:
                pass


def _bound_beside(node: cst.If, name: str) -> set[str]:
    """What the branches that bind a name bind along with it: a flag may say later that they were taken."""
    ways = [node.body, node.orelse.body if isinstance(node.orelse, cst.Else) else None]
    return {one for way in ways if way is not None for one in _names_with(way, name)}


def _names_with(way: cst.BaseSuite, name: str) -> set[str]:
    bound = set(_bound_in(way))
    return bound - {name} if name in bound else set()


def _binding(body: cst.CSTNode, name: str) -> cst.CSTNode | None:
    """The assignment that gives a name its value."""
    for part in walk(body, below=SCOPES):
        if isinstance(part, cst.Assign) and any(
            isinstance(one, cst.Name) and one.value == name
            for target in part.targets
            for one in walk(target.target)
        ):
            return part
    return None
