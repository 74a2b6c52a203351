"""One activation of the interpreter (a module, a function call, a method read on its own) and what all share.

Handlers for expressions and statements are free functions, registered by node class with `@expression` and
`@statement`; a frame dispatches to them. A handler that does not exist, or a value that is not understood, gives
`UNKNOWN`: the interpretation never fails on valid syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis, Quietly, Source
from torchdev_lint.flow.domain.conditions import Formula, Key, conjunction, known, negate
from torchdev_lint.flow.domain.environment import (
    Environment,
    default_state,
    distinguishing,
    merge,
    merge_all,
    refreshed,
)
from torchdev_lint.flow.domain.lattice import Device, Origin
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Api,
    DeviceValue,
    Either,
    Entries,
    Function,
    Import,
    Items,
    Literal,
    Many,
    Object,
    State,
    Value,
    join,
    narrowed,
)

ExpressionHandler: TypeAlias = "Callable[[Frame, Any], Value]"
StatementHandler: TypeAlias = "Callable[[Frame, Any], None]"
Node = TypeVar("Node", bound=cst.CSTNode)
Outcome = TypeVar("Outcome")

EXPRESSIONS: dict[type[cst.CSTNode], ExpressionHandler] = {}
STATEMENTS: dict[type[cst.CSTNode], StatementHandler] = {}

MAX_CALL_DEPTH = 12
"""Calls are followed into the file's own functions this deep."""


def expression(
    *types: type[cst.CSTNode],
) -> Callable[[Callable[[Frame, Node], Value]], Callable[[Frame, Node], Value]]:
    """Register the handler of some expression node classes."""

    def register(handler: Callable[[Frame, Node], Value]) -> Callable[[Frame, Node], Value]:
        EXPRESSIONS.update(dict.fromkeys(types, handler))
        return handler

    return register


def statement(
    *types: type[cst.CSTNode],
) -> Callable[[Callable[[Frame, Node], None]], Callable[[Frame, Node], None]]:
    """Register the handler of some statement node classes."""

    def register(handler: Callable[[Frame, Node], None]) -> Callable[[Frame, Node], None]:
        STATEMENTS.update(dict.fromkeys(types, handler))
        return handler

    return register


@dataclass(frozen=True, slots=True)
class Counter:
    """The number that a loop counts with: its name, the text of its first value without spaces, and whether it counts down."""

    name: str
    first: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Yielded:
    """What a generator gives at one of its `yield`s, under which conditions, and in which rounds of its loops (`Frame.salt`)."""

    value: Value
    path: tuple[Formula, ...]
    salt: tuple[int, ...]


@dataclass(slots=True)
class Loop:
    """The flows that leave a loop's body early, and where a loop is that counts: in the first turn or in one that stands for the others."""

    breaks: list[Environment] = field(default_factory=list)
    continues: list[Environment] = field(default_factory=list)
    counter: Counter | None = None
    turn: int = 0
    exact: bool = False
    """Whether it is run item by item."""
    owners: dict[str, Value] = field(default_factory=dict)
    """By name: the module whose parameter a target of the loop is (`looped_parameters`)."""


class _Assuming:
    # Not a generator: entered for every condition of an expression.
    __slots__ = ("formula", "frame", "path")

    def __init__(self, frame: Frame, formula: Formula) -> None:
        self.frame = frame
        self.formula = formula

    def __enter__(self) -> None:
        self.path = self.frame.env.path
        self.frame.env.assume(self.formula)

    def __exit__(self, *error: object) -> None:
        self.frame.env.path = self.path


class Frame:
    """One activation: its environment, its place in the call stack, the flows that leave it."""

    def __init__(
        self,
        analysis: Analysis,
        env: Environment,
        *,
        parent: Frame | None = None,
        caller: Frame | None = None,
        function: Function | None = None,
        call: Any = None,
        source: Source | None = None,
    ) -> None:
        analysis.frames += 1
        self.uid = analysis.frames
        self.analysis = analysis
        self.source: Source = source or (analysis.source if parent is None else parent.source)
        self.env = env
        self.alive = True
        self.parent = parent
        self.caller = caller
        self._depth: int = 0 if caller is None else caller._depth + 1
        self.function = function
        self.call = call
        self.returns: list[tuple[Value, Environment]] = []
        self.yields: list[Yielded] = []
        self.first_yield: Environment | None = None
        self.sent: Value = UNKNOWN
        """What `yield` gives: what is sent to the generator."""
        self.receives = False
        """Whether something is made of what is sent to it."""
        self.suspended: tuple[Environment, Environment] | None = None
        """Of a context manager just made of a generator: how things are at its `yield`, and at its end."""
        self.loops: list[Loop] = []
        self.salt: tuple[int, ...] = ()
        """The iterations that are being run: a condition that is not understood may differ from one to the next."""
        self.round: tuple[int, ...] = ()
        """The same for loops that are run item by item: each makes objects of its own."""
        self.handlers = 0
        self.reads_tried = 0
        self.discarded: Any = None
        self.discarded_with: Any = None
        """The whole expression statement that `discarded` is, or is an element of."""
        self.assigning: Any = None
        """The assignment statement that is being executed."""
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.bound: dict[str, int] = {}
        self.first_bound: dict[str, int] = {}
        self.entered = analysis.budget + 1
        self.faults: set[tuple[int, int]] = set()
        """(call, origin) of the tensors already found at fault inside a call made here."""
        self.handed: dict[str, Value] = {}
        """What the parameters of a function of another file were given by the file that is checked."""

    def building(self) -> bool:
        """Whether an `__init__` is running, or something that it calls: what it makes has not been moved yet."""
        current: Frame | None = self
        while current is not None:
            if current.function is not None and current.function.name == "__init__":
                return True
            current = current.caller
        return False

    # -- expressions and statements

    def evaluate(self, node: cst.CSTNode) -> Value:
        """The value of an expression; its effects happen."""
        handler = EXPRESSIONS.get(type(node))
        value: Value = UNKNOWN if handler is None else handler(self, node)
        analysis, kind = self.analysis, type(value)
        if kind is Either:
            value = narrowed(value, self.env.path)
        elif analysis.mutations and (kind is Items or kind is Many or kind is Entries):
            value = refreshed(self.env, value)
        if analysis.recorder is not None:
            analysis.recorder.evaluated(self, node, value)
        return value

    def execute(self, statements: Sequence[cst.CSTNode]) -> None:
        """Run statements in order until one leaves."""
        analysis, foreign = self.analysis, self.source.foreign
        for node in statements:
            if not self.alive and not self.goes_on(node):
                if self.parent is None:
                    continue
                return
            analysis.budget -= 1
            if foreign:
                analysis.elsewhere -= 1
            handler = STATEMENTS.get(type(node))
            if handler is not None:
                try:
                    handler(self, node)
                except RecursionError:
                    continue  # an expression nested beyond the interpreter's stack: nothing is known of it
            if analysis.recorder is not None:
                analysis.recorder.executed(self, node)

    def runs_cells(self) -> bool:
        """Whether it is the activation of a notebook: a `pass` stands before each of its cells but the first (`source.cells`)."""
        return self.parent is None and not self.source.foreign and self.analysis.options.in_cells

    def goes_on(self, node: cst.CSTNode) -> bool:
        """Whether a notebook's next cell begins: it can be run although the one before has failed."""
        match node:
            case cst.SimpleStatementLine(body=[cst.Pass()]) if self.runs_cells():
                self.alive = True
            case _:
                pass
        return self.alive

    def run_branch(self, env: Environment, statements: Sequence[cst.CSTNode]) -> Environment | None:
        """Run a block on an environment of its own; None when its end cannot be reached."""
        self.env, self.alive = env, True
        self.execute(statements)
        return self.env if self.alive else None

    def resume(self, *flows: Environment | None) -> None:
        """Go on where these flows meet."""
        met = merge_all([flow for flow in flows if flow is not None])
        self.alive = met is not None
        if met is not None:
            self.env = met

    def either(
        self, test: Formula, then: Callable[[], Outcome], otherwise: Callable[[], Outcome]
    ) -> tuple[Outcome, Outcome]:
        """Evaluate one thing where a condition holds and another where it does not: what they do is done under it."""
        start, path = self.env.copy(), self.env.path
        with self.assuming(test):
            left = then()
            done = self.env.copy()
        self.env.heap = start.heap
        self.env.rename(start.names)
        with self.assuming(negate(test)):
            right = otherwise()
            met = merge(done, self.env)
        assert met is not None
        self.env.heap = met.heap
        self.env.rename(met.names)
        self.env.path = path
        return left, right

    def leave(self) -> None:
        """The rest of the block cannot be reached."""
        self.alive = False

    def assuming(self, formula: Formula) -> _Assuming:
        """Evaluate part of an expression where a condition is known to hold (`a if c else b`, `c and a`)."""
        return _Assuming(self, formula)

    def quietly(self) -> Quietly:
        """Evaluate something in which device literals are mere text."""
        return Quietly(self.analysis)

    # -- names

    @property
    def module_frame(self) -> Frame:
        """The activation of the module itself."""
        frame = self
        while frame.parent is not None:
            frame = frame.parent
        return frame

    def lookup(self, name: str) -> Value:
        """The value of a name, by Python's scoping; an unknown name is an object of its own."""
        frame: Frame | None = self
        while frame is not None:
            value = frame.env.names.get(name)
            if value is not None:
                kind = type(value)
                if kind is Import or kind is Either:
                    value = self.analysis.imports.held(value)
                    kind = type(value)
                changing = kind is Items or kind is Many or kind is Entries or kind is Either
                if changing and self.analysis.mutations:
                    value = refreshed(self.env, value)
                return narrowed(value, self.env.path) if kind is Either else value
            frame = frame.parent
        if self.source.stars:
            found = self.analysis.imports.starred(self.source, name)
            if found is not None:
                return found
        if name in BUILTINS:
            return Api(f"builtins.{name}")
        return Object(("global", name, self.source.path) if self.source.foreign else ("global", name), name)

    def bind(self, name: str, value: Value) -> None:
        """Assign to a name in its scope."""
        frame = self
        if name in self.globals:
            if self.source.foreign:
                return  # such a name is unknown from the start
            frame = self.module_frame
            value = self._bound_here(frame, name, value)
            if name in self.env.names:
                self.env.names[name] = value
        elif name in self.nonlocals:
            owner = self.parent
            while owner is not None and name not in owner.env.names:
                owner = owner.parent
            frame = owner or self
        frame.env.names[name] = value
        frame.bound[name] = self.analysis.budget
        frame.first_bound.setdefault(name, self.analysis.budget)

    def _bound_here(self, module: Frame, name: str, value: Value) -> Value:
        """What a global holds after a function has named a device under a condition (`if available: DEVICE = "cuda"`)."""
        held = module.env.names.get(name)
        names_device = isinstance(value, DeviceValue) or (
            isinstance(value, Literal) and isinstance(value.value, str)
        )
        if held is None or not names_device:
            return value
        new = [fact for fact in self.env.path if fact not in module.env.path]
        return join(conjunction(*new), value, held) if new else value

    def bound_before(self, text: str, origin: Origin) -> bool:
        """Whether the name that `text` begins with already held its present value when `origin` happened here."""
        if origin.frame != self.uid:
            return False
        name = re.split(r"[.\[]", text, maxsplit=1)[0]
        if name in self.env.names:
            # the budget counts down
            return self.bound.get(name, self.entered) > origin.step > 0
        return any(name == visible for visible, _ in self.visible_names())

    def rebound_before(self, name: str, origin: Origin) -> bool:
        """Whether a parameter had been given another value when `origin` happened here."""
        return name in self.first_bound and self.first_bound[name] >= origin.step

    def visible_names(self) -> Iterator[tuple[str, Value]]:
        """Names that code standing here may use, innermost scope first."""
        seen: set[str] = set()
        frame: Frame | None = self
        while frame is not None:
            for name, value in frame.env.names.items():
                if name not in seen:
                    seen.add(name)
                    yield name, self.analysis.imports.peek(value) if isinstance(value, Import) else value
            frame = frame.parent

    # -- objects

    def state(self, thing: Object) -> State:
        """What is known of an object here."""
        env, key = self.env, thing.key
        return env.heap.get(key) or env.imported.get(key) or thing.at_rest or default_state(thing)

    def set_state(self, thing: Object, state: State) -> None:
        """Record what is known of an object from here on."""
        self.env.set_state(thing, state)

    def fresh(self, node: cst.CSTNode, state: State, text: str = "") -> Object:
        """A new object made by `node`."""
        thing = Object(("made", id(node), self.uid, self.round), text)
        self.set_state(thing, state)
        return thing

    @contextmanager
    def in_turn(self, number: int) -> Iterator[None]:
        """What is made here is another thing than what the same code makes elsewhere, as if it had its turn in a loop."""
        outer = self.round
        self.round = (*outer, number)
        try:
            yield
        finally:
            self.round = outer

    def result_key(self, node: cst.CSTNode) -> Key:
        """What tells the result of a call here from all others."""
        return "call", id(node), self.uid, self.round

    def result_of(self, node: cst.CSTNode, text: str = "") -> Object:
        """The unknown result of a call: unknown, but the same wherever it goes."""
        thing = Object(self.result_key(node), text)
        self.env.heap.pop(thing.key, None)
        return thing

    # -- the call stack

    def at_home(self) -> Frame:
        """This activation, or the innermost around it, of the file that is checked; the outermost if none is."""
        frame = self
        while frame.source.foreign and frame.caller is not None:
            frame = frame.caller
        return frame

    def entrance(self) -> Frame:
        """Of other files' activations, the one that was called last by the file that is checked: its `call` stands there."""
        frame = self
        while frame.caller is not None and frame.caller.source.foreign:
            frame = frame.caller
        return frame

    def outermost(self) -> Function | None:
        """The function that was read first; None at the top of the file."""
        outermost = self
        while outermost.caller is not None:
            outermost = outermost.caller
        return outermost.function

    def taking(self, parameter: Key) -> Frame | None:
        """The activation, on the way to here, of the function that has the parameter with this key."""
        current: Frame | None = self
        while current is not None and (current.function is None or id(current.function.node) != parameter[1]):
            current = current.caller
        return current

    def depth(self) -> int:
        """How many calls deep this activation is."""
        return self._depth

    def running(self, node: cst.CSTNode, receiver: Value | None = None) -> int:
        """How often a function is already being executed further up the stack, of one `receiver` where that is given."""
        frame: Frame | None = self
        count = 0
        while frame is not None:
            function = frame.function
            if function is not None and function.node is node:
                count += receiver is None or function.receiver == receiver
            frame = frame.caller
        return count

    def default_device(self) -> Device:
        """Where a factory without `device=` puts its result."""
        return self.env.default_device

    def join_returns(self) -> tuple[Value, Environment | None]:
        """The value and the environment in which the activation ends; falling off the end returns None."""
        ends = list(self.returns)
        if self.alive:
            ends.append((NONE, self.env))
        if not ends:
            return UNKNOWN, None
        while len(ends) > 1:
            index = _closest([env for _, env in ends]) if len(ends) > 2 else 0
            (value, env), (other_value, other_env) = ends[index : index + 2]
            merged = merge(env, other_env)
            assert merged is not None
            ends[index : index + 2] = [
                (join(distinguishing(env, other_env), value, other_value), merged),
            ]
        return ends[0]


def _closest(ends: list[Environment]) -> int:
    """Which of several ways out is to be joined with the next first: two that one condition tells apart, after all others.

    Of `if a: return 1`, `if b: return 2`, `return 3` the last two, so that what is left is told apart by `a`.
    """
    best, found = (False, 0), 0
    for index, (left, right) in enumerate(pairwise(ends)):
        common = sum(fact in known(right.path).facts for fact in left.path)
        rank = (distinguishing(left, right) is not None, common)
        if rank > best:
            best, found = rank, index
    return found


BUILTINS = frozenset(
    (
        "abs all any bool bytes callable dict dir divmod enumerate filter float format frozenset getattr globals hasattr hash id int "
        "isinstance issubclass iter len list map max min next object open ord pow print property range repr reversed round "
        "set setattr slice sorted staticmethod classmethod str sum super tuple type vars zip"
    ).split()
)
"""Builtin functions that handlers know by name."""
