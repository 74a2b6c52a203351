"""What the activations of one file share: its options, its budget, what was published, what was noted on the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import libcst as cst

from torchdev_lint.flow.activation.events import DeviceLiteral, Event
from torchdev_lint.flow.activation.imports import Imports, NoImports
from torchdev_lint.flow.activation.placement_events import CheckpointLoad, DeviceNotForwarded
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.lattice import Cpu, Device, Origin
from torchdev_lint.flow.domain.values import (
    DeviceValue,
    Function,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.source.imports import Location
from torchdev_lint.stubs.shelf import Shelf, shelf

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.frame import Frame

Learned = TypeVar("Learned")

FILE_BUDGET = 60_000
"""Statements executed for one file before calls are no longer followed (each is counted once per visit)."""

ENTRY_BUDGETS = (200, 800)
"""The same for one call from the file into another one of the project: without and with tensors, modules or devices among its arguments."""

CALLEE_BUDGET = 400
"""The same for all calls of one function without such arguments."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user's configuration tells the inference: names of functions that return CPU tensors or devices, stub files.

    `in_cells`: the module is a notebook, whose cells may be run on different days. `audits`: what the rules that read a function's
    text tell is asked for; they are off by default, and take time.
    """

    tensor_constructors: frozenset[str]
    shelf: Shelf = field(default_factory=shelf)
    in_cells: bool = False
    device_sources: frozenset[str] = frozenset()
    audits: bool = True


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

    `late`: not in `__init__`, but when the module may have been moved already, or there after it was; then `target` is an expression
    for where the module is, if there is one. `after`: something that is no tensor stands there before, and cannot be registered.
    """

    node: Any
    name: str
    frame: int
    late: bool = False
    target: str | None = None
    after: bool = False


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
    instances: set[int] = field(default_factory=set)
    """The calls (by node) of classes of PyTorch's, of which nothing else is known: what they give is never None."""
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
    printed: int = 0
    """How many of these are printed or compared: in a function that is called there, literals are put to use."""
    sets_default_device: bool = False
    """Whether a function of the file sets the default device: a context manager may do it."""
    redeemed: set[int] = field(default_factory=set)
    """Literals (by node) that are replaced where their device is absent."""
    given_text: str | None = None
    """What was parsed, where it is known."""
    recorder: Recording | None = None
    """Told of what was executed, if anyone wants to know."""
    integers: dict[Key, str] = field(default_factory=dict)
    """What is an integer for certain (options of a command line), with how to ask whether it was given."""
    option_defaults: dict[Key, object] = field(default_factory=dict)
    """What options of a command line hold where they are not given, as far as that is a word or a truth."""
    blamed: set[int] = field(default_factory=set)
    """What made (by node) the tensors and modules that are at fault for certain."""
    attribute_sites: dict[tuple[Key, str], AttributeSite] = field(default_factory=dict)
    """By object and attribute name, for modules."""
    handed: dict[Key, bool] = field(default_factory=dict)
    """For parameters (by key) of functions that the module's own code calls: whether they only got CPU tensors."""
    handed_tensors: set[Key] = field(default_factory=set)
    """The parameters that some call gives a tensor which need not be on the CPU."""
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
    constants: dict[int, Literal] = field(default_factory=dict)
    """The numbers and strings that were met, by node."""
    texts: dict[int, tuple[cst.CSTNode, str]] = field(default_factory=dict)
    """The source texts that were asked for, by node, which is kept: another one could be given its id."""
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
        """Note what a call hands to a parameter: CPU tensors (`moved` there on purpose?) or a module that stays there."""
        tensor = _are_on_host(value)
        if of_module:
            self.of_modules.add(key)
        if self.at_top:
            on_host = tensor or (isinstance(value, Object) and not moved)
            self.handed[key] = on_host and self.handed.get(key, True)
        if isinstance(value, Tensor) and not tensor:
            self.handed_tensors.add(key)
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
        return self.handed_from_host(key) and not (self.speaks_of_devices and key in self.of_modules)

    def handed_from_host(self, key: Key) -> bool:
        """Whether the file's own code hands over nothing but tensors of the CPU, or its name, for a parameter, and does so at all."""
        return self.handed.get(key, False)

    def blame(self, root: Origin | None, *, certain: bool) -> bool:
        """Whether a fault that is only possible is worth telling: not if the same tensor is at fault for certain."""
        if root is None:
            return True
        if certain:
            self.blamed.add(id(root.node))
            return True
        return id(root.node) not in self.blamed

    def publish(self, key: tuple[Any, ...], event: Event) -> None:
        """Record an event once, however often its code is visited: what is certain, where it was only possible before.

        And what comes about once a module is moved, where it was only possible with what a caller may give: a method that classes
        inherit is read for each of them.
        """
        if self.muted:
            return
        before = self.events.get(key)
        if before is None or _weight(event) > _weight(before):
            self.events[key] = event

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

    def spend(self, *, foreign: bool) -> None:
        """Something was done that costs as much as a statement does; `foreign`: for another file."""
        self.budget -= 1
        if foreign:
            self.elsewhere -= 1

    def enter(self, frame: Frame, function: Function, *, matters: bool) -> tuple[int, int]:
        """A call is followed; one from the file that is checked into another gets a budget of its own.

        `matters`: it is given tensors, modules or devices. What this returns is for `left`, when the call ends.
        """
        before, start = self.kept, self.elsewhere
        if function.frame.source.foreign and not frame.source.foreign:
            self.kept = max(before, start - ENTRY_BUDGETS[matters])
        return before, start

    def left(self, function: Function, entered: tuple[int, int], *, matters: bool) -> None:
        """The call ended."""
        self.kept, start = entered
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

    @property
    def written(self) -> str:
        """The text of the file that is checked; LibCST writes it again, once, only if nobody gave it."""
        if self.given_text is None:
            self.given_text = self.module.code
        return self.given_text

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether the text of the file has something."""
        return pattern.search(self.written) is not None

    def catch_up(self, env: Environment, definition: Environment) -> Environment:
        """An environment that was left behind before, where what it defines is read now."""
        return env

    def learn(self, function: Callable[..., Learned], *given: Any) -> Learned:
        """What a function finds in the code without executing it: it changes nothing, and gives no iterator."""
        return function(*given)

    def table(self, content: dict[Any, Any]) -> dict[Any, Any]:
        """Where something is kept that several parts of the analysis read and write (`rereading`)."""
        return content

    def text(self, node: cst.CSTNode) -> str:
        """The node's source text."""
        known = self.texts.get(id(node))
        if known is None:
            known = self.texts[id(node)] = node, self.module.code_for_node(node).strip()
        return known[1]


def _are_on_host(value: Value) -> bool:
    """Whether the value is a CPU tensor, or a list of them, or says that it is the CPU."""
    match value:
        case Tensor(device=device) | DeviceValue(device=device):
            return isinstance(device, Cpu)
        case Literal(value=str(text)):
            return text.partition(":")[0] == "cpu"
        case Many(element):
            return _are_on_host(element)
        case Items(items):
            return bool(items) and all(_are_on_host(item) for item in items)
        case _:
            return False


class Quietly:
    __slots__ = ("analysis",)

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    def __enter__(self) -> None:
        self.analysis.quiet += 1

    def __exit__(self, *error: object) -> None:
        self.analysis.quiet -= 1


class Printed(Quietly):
    """What is printed, looked at or compared is evaluated."""

    __slots__ = ()

    def __enter__(self) -> None:
        super().__enter__()
        self.analysis.printed += 1

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.analysis.printed -= 1


class PutToUse:
    """The body of a function is executed that was called there, and in nothing else that is mere text."""

    __slots__ = ("analysis", "printed")

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.printed = analysis.printed if analysis.printed == analysis.quiet else 0

    def __enter__(self) -> None:
        self.analysis.quiet -= self.printed
        self.analysis.printed -= self.printed

    def __exit__(self, *error: object) -> None:
        self.analysis.quiet += self.printed
        self.analysis.printed += self.printed


def _weight(event: Event) -> tuple[bool, bool]:
    """How sure it is that what an event tells comes about."""
    return getattr(event, "certain", True), getattr(event, "for_module", False)
