"""Events about where things are loaded, made and kept: checkpoints, declared devices, generators, host arguments, optimizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torchdev_lint.flow.domain.lattice import Leaf


@dataclass(frozen=True, slots=True)
class CheckpointLoad:
    """A checkpoint is loaded to wherever its tensors were saved: `map_location` is not given.

    `function` is what loads it, `keyword` the argument of `None` that is given instead, if one is. `target` is an
    expression for where to load it, None when no sure one is known. `guarded`: a machine without the accelerator never
    gets here, or handles that it fails; `excluded`: it never gets here, or loads again. `inlined`: it was met while a call was followed.
    `borne_out`: the program, or its project, makes such files, and is for machines without the accelerator, too; or it runs as `several`
    processes, each with a GPU of its own.
    """

    node: Any
    function: str
    target: str | None
    keyword: Any = None
    guarded: bool = False
    excluded: bool = False
    inlined: bool = False
    borne_out: bool = True
    several: bool = False


@dataclass(frozen=True, slots=True)
class DeviceNotForwarded:
    """A function declares the parameter `name` for a device and does not hand it on.

    `calls` make or load the tensors that should be there, the first by `function`; `fixable`: `keyword=name` may be
    written into them. `stored`: the attribute of `self` that keeps the device, when that is where it ends. `calls` is
    then empty if the class makes nothing but runs a model that it was given, `run` where that is stored. With the `keyword`
    `to`, `function` is the name of a model that is built, filled from a checkpoint and returned, `run` where to move it.
    """

    node: Any
    name: str
    owner: str
    calls: tuple[Any, ...]
    function: str
    keyword: str
    fixable: bool
    parameter: Any
    stored: str = ""
    run: Any = None
    returned: bool = False
    """The tensor is made in a `return` statement."""


@dataclass(frozen=True, slots=True)
class DoubtfulDevice:
    """A device (`text`) is used in a way (`form`) that is right for some devices and wrong for others that the code takes.

    `other`: what it is compared with, or should have been; `goes`: where what is missing is used.
    """

    node: Any
    form: str
    text: str
    other: str = ""
    replaced: Any = None
    replacement: str | None = None
    goes: Any = None


@dataclass(frozen=True, slots=True)
class DeviceNotPassed:
    """A call of `function` leaves out its device `keyword`, where `text` is at hand: `how` is "beside", "parameter", "class" or "argument".

    `near` is where that is seen; `written`: what to add to the arguments, `whole` the call with it where there are none.
    `parameter`: what is left out, or `near` where it is not known.
    """

    node: Any
    function: str
    keyword: str
    text: str
    how: str
    near: Any
    written: str
    whole: str
    parameter: Any


@dataclass(frozen=True, slots=True)
class PlainState:
    """A module keeps a tensor (`kind` is "tensor"), tensors ("tensors"), modules ("modules") or a function that holds tensors ("function").

    `Module.to` does not look for them there.

    `node` is the assignment, `cure` what registers instead (empty where nothing does); `use` where the class computes with it. `plain`
    says that whoever reads the class sees it fail: a function that holds them, a table of which parts are added to what comes in.
    """

    node: Any
    attribute: str
    kind: str
    cure: str
    use: Any
    plain: bool = False


@dataclass(frozen=True, slots=True)
class GeneratorMismatch:
    """A random generator is used where a tensor of another device type is made.

    `generator` is where the generator is, `made` where the tensor is. `call` takes the generator at `node`. `target`:
    what `device=` should say in `factory` (the call, made without `device=`) or in `constructor` (what made the
    generator, by `constructor_function`, if it is used nowhere else), whichever of them is not None.
    """

    node: Any
    call: Any
    function: str
    generator: Leaf
    made: Leaf
    generator_device: str
    made_device: str
    target: str | None
    factory: Any = None
    constructor: Any = None
    constructor_function: str = ""
    draws_indices: bool = False
    """The call draws indices, which are on the default device."""
    unstated: bool = False
    """The call is given no generator, and makes one on the CPU; `target` is what makes one that would do, then."""


@dataclass(frozen=True, slots=True)
class UnstatedGenerator:
    """A random generator is on the CPU, or a draw with one is, although `near` is at hand; `function` is called at `goes`.

    `how`: a generator (`node` makes it, by `constructor_function`) draws where a tensor is ("draws"), is "kept" for that, or is "handed"
    to whom a thing with a device is given, too. Or `node` draws with a generator that is "given" by the caller, and `goes` takes the
    result to `near`. `target`: an expression for the device that holds at `node`.
    """

    node: Any
    how: str
    near: str
    goes: Any
    function: str
    target: str | None = None
    constructor_function: str = ""


@dataclass(frozen=True, slots=True)
class HostArgument:
    """An argument that must be on the CPU is on an accelerator.

    `certain`: on every machine that has one; else once the tensor that it was computed from is. `value_node` is the
    expression, None where that is a list or dict of arguments; `node` the argument with its keyword.
    """

    node: Any
    value_node: Any
    call: Any
    function: str
    parameter: str
    device: Leaf
    device_name: str
    text: str
    certain: bool = True
    needs_parentheses: bool = False


@dataclass(frozen=True, slots=True)
class StateBeforeMove:
    """The state of an optimizer was made on one device; then its module is moved to another, and then it steps.

    `node` is the move, `state` what made the state (`how`: restored, made), `step` where it fails. `move` is the text of
    the move, to be written before the statement `earlier`, which is indented by `indentation`; None when it cannot be.
    """

    node: Any
    state: Any
    step: Any
    how: str
    optimizer: str
    module: str
    device_name: str
    move: str = ""
    earlier: Any = None
    indentation: str = ""


@dataclass(frozen=True, slots=True)
class AmbientDevice:
    """A tensor was put on the accelerator that the machine has, if any, and meets one that is where an argument or the module is.

    `node` is the call that put it there, told by `text`; `meets` is the operation, `device_name` where the other one is. `cure`
    is what to replace, and by what, so that it goes to `target`, an expression for that device; None where there is no such expression.
    """

    node: Any
    text: str
    meets: Any
    device_name: str
    target: str
    cure: tuple[Any, str] | None


@dataclass(frozen=True, slots=True)
class UnstatedDevice:
    """A factory is told no device where one is at hand, `near`, and what it made goes where nothing is known of it: to `goes`.

    `made`: an `events.Made`. `how`: it `meets` an operand, is `given` to a function that cannot be read or `handed` on to any, is
    `returned`, or `kept`. `late`: the tensor that the other operand was computed from, where what comes of the two is brought to it
    only then: the function itself says that it may be elsewhere.
    """

    made: Any
    near: str
    goes: Any
    how: str
    late: str = ""


@dataclass(frozen=True, slots=True)
class UnmovedModule:
    """A module with parameters or buffers is made by the call `node`, and nothing moves it, although a device is at hand.

    `how`: it `runs` on what may be elsewhere (`given`, at `use`); others `beside` it are moved (`use`); a class keeps it (`kept`) and
    moves what it runs it on; a class of modules (`class`) moves what it is given to a device of the program, and itself nowhere;
    another `branch` moves what it makes; or `node` moves the module too `early`: before `given` is attached (`use`). `move`: what to
    write behind the call, or else `behind` a statement.
    """

    node: Any
    name: str
    how: str
    use: Any
    given: str = ""
    move: str = ""
    behind: Any = None
