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
from typing import Any, Protocol, TypeAlias, TypeVar

import libcst as cst

from torchdev_lint.flow.conditions import Formula, Key
from torchdev_lint.flow.environment import Environment, distinguishing, merge, merge_all, refreshed
from torchdev_lint.flow.events import DeviceLiteral, Event
from torchdev_lint.flow.imports import Imports, NoImports
from torchdev_lint.flow.lattice import Cpu, Device, Origin
from torchdev_lint.flow.placement_events import CheckpointLoad, DeviceNotForwarded
from torchdev_lint.flow.values import (
    NONE,
    UNKNOWN,
    Api,
    Either,
    Entries,
    Function,
    Import,
    Items,
    Many,
    Object,
    State,
    Tensor,
    Value,
    join,
    narrowed,
)
from torchdev_lint.source.imports import Location
from torchdev_lint.stubs.shelf import Shelf, shelf

ExpressionHandler: TypeAlias = "Callable[[Frame, Any], Value]"
StatementHandler: TypeAlias = "Callable[[Frame, Any], None]"
Node = TypeVar("Node", bound=cst.CSTNode)

EXPRESSIONS: dict[type[cst.CSTNode], ExpressionHandler] = {}
STATEMENTS: dict[type[cst.CSTNode], StatementHandler] = {}

MAX_CALL_DEPTH = 8
"""Calls are followed into the file's own functions this deep."""
FILE_BUDGET = 60_000
"""Statements executed for one file before calls are no longer followed (each is counted once per visit)."""
ENTRY_BUDGETS = (200, 800)
"""The same for one call from the file into another one of the project: without and with tensors, modules or devices among its arguments."""
CALLEE_BUDGET = 400
"""The same for all calls of one function without such arguments."""


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
class Options:
    """What the user's configuration tells the inference: names of functions that return CPU tensors or devices, stub files.

    `in_cells`: the module is a notebook, whose cells may be run on different days.
    """

    tensor_constructors: frozenset[str]
    shelf: Shelf = field(default_factory=shelf)
    in_cells: bool = False
    device_sources: frozenset[str] = frozenset()


class Recording(Protocol):
    """Who is told of what was executed."""

    def executed(self, frame: Frame, node: cst.CSTNode) -> None:
        """A statement was executed."""

    def ended(self, frame: Frame, value: Value | None, env: Environment | None) -> None:
        """An activation that nobody called came to its end."""

    def evaluated(self, frame: Frame, node: cst.CSTNode, value: Value) -> None:
        """An expression was evaluated."""

    def assigned(self, frame: Frame, target: cst.CSTNode, value: Value) -> None:
        """A name or an attribute was given a value."""


@dataclass(frozen=True, slots=True)
class AttributeSite:
    """The assignment that gave an attribute of a module its value; `frame` is the activation.

    `late`: not in `__init__`, but when the module may have been moved already.
    """

    node: Any
    name: str
    frame: int
    late: bool = False


@dataclass(eq=False, slots=True)
class Source:
    """A file that is interpreted: the one that is checked, or (`foreign`) one that it imports something of."""

    path: str
    module: cst.Module
    foreign: bool = False
    frame: Frame | None = None
    """The activation of the module itself, once it was begun."""
    stars: list[Location] = field(default_factory=list)
    """The modules that all public names are imported from."""


@dataclass(slots=True)
class Analysis:
    """What the activations of one file share."""

    module: cst.Module
    """The file that is checked."""
    options: Options
    imports: Imports = field(default_factory=NoImports)
    source: Source = field(init=False)
    """The same file, for its activations."""
    events: dict[tuple[Any, ...], Event] = field(default_factory=dict)
    literals: dict[int, list[DeviceLiteral]] = field(default_factory=dict)
    loads: dict[int, list[CheckpointLoad]] = field(default_factory=dict)
    """Checkpoints loaded without `map_location`, by the node of the call: every time that it was visited."""
    unforwarded: dict[int, dict[int, DeviceNotForwarded]] = field(default_factory=dict)
    """Declared devices that reach nothing, by the parameter's node and the call that should have been given it."""
    arrays: set[int] = field(default_factory=set)
    """The calls (by node) that make NumPy's arrays."""
    located: dict[int, Device] = field(default_factory=dict)
    """Where checkpoints were loaded to by `map_location`, by the node of the call."""
    defaults: dict[int, Value] = field(default_factory=dict)
    """The values of default arguments, by parameter node, as they were where the function was defined."""
    imported: set[str] = field(default_factory=set)
    """The libraries that the file imports, by their top-level names."""
    pending: list[Function] = field(default_factory=list)
    """Functions met so far, each to be read on its own once."""
    budget: int = FILE_BUDGET
    elsewhere: int = 0
    """The part of the budget that is for other files."""
    spent: dict[int, int] = field(default_factory=dict)
    """What calls without tensors, modules or devices have cost of it, by the function's node."""
    kept: int = 0
    """What has to be left of it when the present call into another file ends."""
    frames: int = 0
    quiet: int = 0
    """While positive, device literals are mere text: compared, printed, used as keys."""
    sets_default_device: bool = False
    """Whether a function of the file sets the default device: a context manager may do it."""
    redeemed: set[int] = field(default_factory=set)
    """Literals (by node) that are replaced where their device is absent."""
    recorder: Recording | None = None
    """Told of what was executed, if anyone wants to know."""
    integers: dict[Key, str] = field(default_factory=dict)
    """What is an integer for certain (options of a command line), with how to ask whether it was given."""
    blamed: set[int] = field(default_factory=set)
    """What made (by node) the tensors and modules that are at fault for certain."""
    attribute_sites: dict[tuple[Key, str], AttributeSite] = field(default_factory=dict)
    """By object and attribute name, for modules."""
    handed: dict[Key, bool] = field(default_factory=dict)
    """For parameters (by key) of functions that the module's own code calls: whether they only got CPU tensors."""
    of_modules: set[Key] = field(default_factory=set)
    """The parameters (by key) of methods of modules."""
    built_at_top: set[int] = field(default_factory=set)
    """The classes (by node) that the module's own code makes instances of."""
    sent_to_host: dict[Key, bool] = field(default_factory=dict)
    """For parameters (by key): whether every call in the file hands over what was moved to the CPU."""
    read_on_host: set[Key] = field(default_factory=set)
    """The devices (by key) of what `.numpy()` is called on: whoever calls the function has it on the CPU."""
    on_host: bool = False
    """Whether code is being read that belongs on the CPU: what follows a parameter there is no accelerator's."""
    at_top: bool = True
    """Whether the module's own statements are being run (not functions read alone)."""
    speaks_of_devices: bool = True
    """Whether the text mentions devices at all."""
    skipped: bool = False
    """Whether the whole file is skipped on a machine without an accelerator."""
    notes: dict[Any, Any] = field(default_factory=dict)
    """What handlers have found out about nodes and need not find out again."""
    mutations: int = 0
    """How often a container was changed in place."""
    asked: dict[Key, tuple[str, int, int]] = field(default_factory=dict)
    """Devices whose type the program asked for: how it names them, and the activation and the step in which it did."""
    spots: dict[Any, Any] = field(default_factory=dict)
    """Where modules could be moved as soon as they are there (`placements.Spot`), by who built them or by the object."""
    muted: int = 0
    """While positive, the code is meant to fail: nothing is published."""

    def __post_init__(self) -> None:
        self.source = Source("", self.module)

    def see_argument(
        self, key: Key, value: Value, *, moved: bool, of_module: bool, is_private: bool = False
    ) -> None:
        """Note what a call hands to a parameter: a CPU tensor (`moved` there on purpose?) or a module that stays there."""
        tensor = isinstance(value, Tensor) and isinstance(value.device, Cpu)
        if of_module:
            self.of_modules.add(key)
        if self.at_top:
            on_host = tensor or (isinstance(value, Object) and not moved)
            self.handed[key] = on_host and self.handed.get(key, True)
        sent = tensor and (moved or is_private)
        self.sent_to_host[key] = sent and self.sent_to_host.get(key, True)

    def only_on_host(self, key: Key) -> bool:
        """Whether a parameter, or the instance of a class, is on the CPU wherever this file runs it.

        Either every caller in the file moves there what it hands over; or the module's own code hands over nothing else. A
        module's class is more than one program's, so that the file must then speak of no accelerator at all.
        """
        if key[:1] == ("self",):
            return key[1] in self.built_at_top and not self.speaks_of_devices
        if self.sent_to_host.get(key, False):
            return True
        return self.handed.get(key, False) and not (self.speaks_of_devices and key in self.of_modules)

    def blame(self, root: Origin | None, *, certain: bool) -> bool:
        """Whether a fault that is only possible is worth telling: not if the same tensor is at fault for certain."""
        if root is None:
            return True
        if certain:
            self.blamed.add(id(root.node))
            return True
        return id(root.node) not in self.blamed

    def publish(self, key: tuple[Any, ...], event: Event) -> None:
        """Record an event once, however often its code is visited."""
        if not self.muted:
            self.events.setdefault(key, event)

    def meet(self, function: Function) -> None:
        """Note a function of the file that is checked, to be read on its own later."""
        if not function.frame.source.foreign:
            self.pending.append(function)

    def affords(self, function: Function, *, matters: bool = True) -> bool:
        """Whether there is budget left to follow a call of the function."""
        if function.frame.source.foreign:
            return self.elsewhere > self.kept and (
                matters or self.spent.get(id(function.node), 0) < CALLEE_BUDGET
            )
        return self.budget > self.elsewhere

    @contextmanager
    def entering(self, frame: Frame, function: Function, *, matters: bool) -> Iterator[None]:
        """A call is followed; one from the file that is checked into another gets a budget of its own.

        `matters`: it is given tensors, modules or devices.
        """
        before, start = self.kept, self.elsewhere
        if function.frame.source.foreign and not frame.source.foreign:
            self.kept = max(before, start - ENTRY_BUDGETS[matters])
        try:
            yield
        finally:
            self.kept = before
            if not matters:
                key = id(function.node)
                self.spent[key] = self.spent.get(key, 0) + start - self.elsewhere

    def allow_elsewhere(self, statements: int) -> None:
        """Add a budget for other files."""
        self.elsewhere += statements
        self.budget += statements

    def replenish(self, least: int) -> None:
        """See to it that a function read on its own has a budget."""
        self.budget = max(self.budget, self.elsewhere + least)

    def text(self, node: cst.CSTNode) -> str:
        """The node's source text."""
        return self.module.code_for_node(node).strip()


@dataclass(slots=True)
class Loop:
    """The flows that leave a loop's body early."""

    breaks: list[Environment] = field(default_factory=list)
    continues: list[Environment] = field(default_factory=list)


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


class _Quietly:
    __slots__ = ("analysis",)

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    def __enter__(self) -> None:
        self.analysis.quiet += 1

    def __exit__(self, *error: object) -> None:
        self.analysis.quiet -= 1


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
        self.function = function
        self.call = call
        self.returns: list[tuple[Value, Environment]] = []
        self.yields: list[Value] = []
        self.first_yield: Environment | None = None
        self.suspended: tuple[Environment, Environment] | None = None
        """Of a context manager just made of a generator: how things are at its `yield`, and at its end."""
        self.loops: list[Loop] = []
        self.salt: tuple[int, ...] = ()
        """The iterations that are being run: a condition that is not understood may differ from one to the next."""
        self.round: tuple[int, ...] = ()
        """The same for loops that are run item by item: each makes objects of its own."""
        self.handlers = 0
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

    # -- expressions and statements

    def evaluate(self, node: cst.CSTNode) -> Value:
        """The value of an expression; its effects happen."""
        handler = EXPRESSIONS.get(type(node))
        value = UNKNOWN if handler is None else handler(self, node)
        if self.analysis.mutations and isinstance(value, (Items, Many, Entries)):
            value = refreshed(self.env, value)
        elif isinstance(value, Either):
            value = narrowed(value, self.env.path)
        if self.analysis.recorder is not None:
            self.analysis.recorder.evaluated(self, node, value)
        return value

    def execute(self, statements: Sequence[cst.CSTNode]) -> None:
        """Run statements in order until one leaves."""
        for node in statements:
            if not self.alive:
                return
            self.analysis.budget -= 1
            self.analysis.elsewhere -= self.source.foreign
            handler = STATEMENTS.get(type(node))
            if handler is not None:
                try:
                    handler(self, node)
                except RecursionError:
                    continue  # an expression nested beyond the interpreter's stack: nothing is known of it
            if self.analysis.recorder is not None:
                self.analysis.recorder.executed(self, node)

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

    def leave(self) -> None:
        """The rest of the block cannot be reached."""
        self.alive = False

    def assuming(self, formula: Formula) -> _Assuming:
        """Evaluate part of an expression where a condition is known to hold (`a if c else b`, `c and a`)."""
        return _Assuming(self, formula)

    def quietly(self) -> _Quietly:
        """Evaluate something in which device literals are mere text."""
        return _Quietly(self.analysis)

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
                if isinstance(value, (Import, Either)):
                    value = self.analysis.imports.held(value)
                value = refreshed(self.env, value) if self.analysis.mutations else value
                return narrowed(value, self.env.path) if isinstance(value, Either) else value
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
        elif name in self.nonlocals:
            owner = self.parent
            while owner is not None and name not in owner.env.names:
                owner = owner.parent
            frame = owner or self
        frame.env.names[name] = value
        frame.bound[name] = self.analysis.budget
        frame.first_bound.setdefault(name, self.analysis.budget)

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
        return self.env.state(thing)

    def set_state(self, thing: Object, state: State) -> None:
        """Record what is known of an object from here on."""
        self.env.set_state(thing, state)

    def fresh(self, node: cst.CSTNode, state: State, text: str = "") -> Object:
        """A new object made by `node`."""
        thing = Object(("made", id(node), self.uid, self.round), text)
        self.set_state(thing, state)
        return thing

    def result_of(self, node: cst.CSTNode, text: str = "") -> Object:
        """The unknown result of a call: unknown, but the same wherever it goes."""
        thing = Object(("call", id(node), self.uid, self.round), text)
        self.env.heap.pop(thing.key, None)
        return thing

    # -- the call stack

    def depth(self) -> int:
        """How many calls deep this activation is."""
        frame, count = self.caller, 0
        while frame is not None:
            frame, count = frame.caller, count + 1
        return count

    def running(self, node: cst.CSTNode) -> int:
        """How often a function is already being executed further up the stack."""
        frame: Frame | None = self
        count = 0
        while frame is not None:
            count += frame.function is not None and frame.function.node is node
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
        value, env = ends[0]
        for other_value, other_env in ends[1:]:
            value = join(distinguishing(env, other_env), value, other_value)
            merged = merge(env, other_env)
            assert merged is not None
            env = merged
        return value, env


BUILTINS = frozenset(
    (
        "abs all any bool bytes callable dict dir divmod enumerate filter float format frozenset getattr hasattr hash id int "
        "isinstance issubclass iter len list map max min next object open ord pow print property range repr reversed round "
        "set setattr slice sorted staticmethod classmethod str sum super tuple type vars zip"
    ).split()
)
"""Builtin functions that handlers know by name."""
