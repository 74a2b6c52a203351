"""What the visitor publishes and rules subscribe to. Nodes are LibCST nodes, opaque to the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from torchdev_lint.flow.activation.placement_events import (
    AmbientDevice,
    CheckpointLoad,
    DeviceNotForwarded,
    DeviceNotPassed,
    DoubtfulDevice,
    GeneratorMismatch,
    HostArgument,
    PlainState,
    StateBeforeMove,
    UnmovedModule,
    UnstatedDevice,
    UnstatedGenerator,
)
from torchdev_lint.flow.domain.lattice import Leaf


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operand of a conflict stands: its node, its source text and how to bring it elsewhere.

    `node` is the place to report; `value_node` the expression inside it (they differ for `idx=f(x)`); `star` is "", "*"
    or "**"; `container`: the value is a plain `list` or `dict` of tensors, not a mapping with `.to`; `item_node`: the expression
    that makes each item of a list, where it is written out; `needs_parentheses`: a method cannot be called on the text of that, or
    else of the value, as it stands; `unsure`: it may be a container; `mixed`: the container holds other things besides, or may for
    another caller; `in_object`: it is, or holds, an object of the project's own that keeps the tensor; `taken_by`: the call that takes it
    to a device if it is given `device=`.
    """

    node: Any
    value_node: Any
    text: str = ""
    keyword: str = ""
    star: str = ""
    container: str = ""
    needs_parentheses: bool = False
    unsure: bool = False
    mixed: bool = False
    item_node: Any = None
    in_object: bool = False
    taken_by: Any = None


@dataclass(frozen=True, slots=True)
class Transfer:
    """`receiver.to(argument)`: the call's node, the receiver's text, the node of the device given (None: `.cuda()`)."""

    node: Any
    receiver: str
    argument: Any
    method: str


@dataclass(frozen=True, slots=True)
class OutputMoved:
    """`model(x).to(target)`, where `target` is the model's own device: the output is there, `given` may not be.

    `node` is the transfer, `call` the call of the model.
    """

    node: Any
    given: Any
    given_text: str
    call: Any
    model: str
    target: str


@dataclass(frozen=True, slots=True)
class Made:
    """The call that made the operand at fault, when that happened in the very activation that is reported.

    `target` is an expression for the right device that holds where the call stands (None: there is none); `keyword`: the
    call takes `device=`; `only_use`: what it makes is used nowhere but in the operation reported.
    """

    node: Any
    target: str | None
    keyword: bool
    only_use: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """The call that built a module which was never moved; `target` is where it should go, if that can be said at `place`.

    `place` is the expression that gives the module: the call, or where its result is assigned.
    `at_fault`: PyTorch raises inside the module, so that the call of the module says less than this one.
    """

    node: Any
    target: str | None
    at_fault: bool
    place: Any = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A module is called with an input that is certainly elsewhere.

    `callee` is the text of what is called, `model_name` that of the module moved. `model` and `given` are the two devices
    as they are when they differ, `model_device` and `given_device` what to call them. `target` is an expression for the
    module's device that can be used where the input stands; None when there is none. `against` is `model` (the
    module's own device) or `input` (another input of the same call). `is_loss`: the module is a loss.
    """

    call: Any
    callee: str
    place: Place
    model: Leaf
    given: Leaf
    model_name: str
    model_device: str
    given_device: str
    target: str | None
    against: str
    through: str = ""
    """The function that calls the module, when the conflict was found inside it and is reported at its caller."""
    inner: Any = None
    """The node inside that function where PyTorch raises."""
    is_loss: bool = False
    transfer: Transfer | None = None
    """The explicit transfer that put the input on the wrong accelerator, if that is where the fault lies."""
    built: Built | None = None
    """The call that built the module, if it was never moved."""
    bound: Any = None
    """What gave the input its name, if PyTorch raises further down than at this call."""
    made: tuple[Any, ...] = ()
    """The factories that made the input, if it is a tuple that a method of a module returns; `made_target`: where they should."""
    made_target: str = ""


@dataclass(frozen=True, slots=True)
class MixedOperation:
    """Operands of one operation are on different devices.

    `right` is where the operand at fault is, at `place`; `left` where the other one is, known as `other`. `certain`: on
    every machine with an accelerator; else only once the parameter or module that the other follows is moved. `onto`: the operand at
    fault is changed in place and stays: the place of the other one, and an expression for the device of the first. `bound`: what gave
    the operand at fault its name, if PyTorch raises further down than at this call. `for_module`: a function that a module's method calls
    has just made the operand at fault, and the other one goes with the module.
    """

    node: Any
    operation: str
    left: Leaf
    right: Leaf
    place: Place
    certain: bool
    left_device: str = ""
    right_device: str = ""
    other: str = ""
    target: str | None = None
    through: str = ""
    made: Made | None = None
    onto: tuple[Place, str] | None = None
    bound: Any = None
    for_module: bool = False


@dataclass(frozen=True, slots=True)
class ReturnedFactory:
    """What a function makes on the CPU for a tensor that it is given, and returns: the parameter `beside` has that tensor.

    Or, where `there` is the text of a device, what it returns with others that it made alike and placed there. Or, where `otherwise` says
    where, what is there on another way through the function.
    `met`: a caller that was read computes with it and with what is where an argument is. `kept`: an optimizer keeps it as the state of
    this parameter, whatever it returns.
    """

    made: Made
    beside: str
    function: str
    there: str = ""
    otherwise: str = ""
    met: bool = False
    kept: str = ""


@dataclass(frozen=True, slots=True)
class UnregisteredTensor:
    """A tensor kept as a plain attribute of a module met what moves with the module.

    `node` is the assignment, `value` its expression if the attribute is that tensor itself; `meets` is the operation.
    `late`: it was not assigned in `__init__`; then `target` is an expression for where it should go, if there is one.
    """

    node: Any
    attribute: str
    named: str
    """The attribute's name as an expression."""
    receiver: str | None
    value: Any
    value_text: str
    meets: Any
    met: str
    met_device: str
    certain: bool
    late: bool = False
    target: str | None = None
    needs_parentheses: bool = False
    listed: Any = None
    """The list that is assigned, if it is written out, holds tensors and stays as it is; and what `torch.nn` is called there."""
    nn: str | None = None
    use: tuple[Place, str] | None = None
    """Where it stands in the operation, and an expression for where that needs it."""


@dataclass(frozen=True, slots=True)
class UnregisteredModule:
    """A module kept in a plain list or dict of a module was given an input that moved.

    `container` is `list` or `dict`; `value` is the display or comprehension assigned; `nn` how torch.nn is named here. For one module
    that is not registered on purpose, `apply_before` is the method, or its decorator, before which an `_apply` may stand, and
    `indentation` that method's.
    """

    node: Any
    attribute: str
    receiver: str | None
    container: str
    value: Any
    nn: str | None
    meets: Any
    met_device: str
    apply_before: Any = None
    indentation: str = ""


@dataclass(frozen=True, slots=True)
class LateSubmodule:
    """A part was attached to a module that had been moved already; `target` names the module's device.

    `by`: the function of another file that attaches it, to the module that it is given; then `node` is the call of it.
    `own`: the module is one that the class of the method keeps. `again`: behind which statement it can be moved once more, as
    `move` says, both with `indentation`.
    """

    node: Any
    attribute: str
    value: Any
    target: str | None
    device: str
    module_device: str
    module: Leaf
    meets: Any
    needs_parentheses: bool = False
    by: str = ""
    own: bool = False
    again: Any = None
    move: str = ""
    indentation: str = ""


@dataclass(frozen=True, slots=True)
class HostRead:
    """A tensor on an accelerator is read on the host, where only CPU tensors can be.

    `reader` is what reads: `.numpy()`, or the text of what is called. `given` is where the tensor at `place` is. `certain`: on every
    machine with an accelerator, or once a module is moved in whose own method it happens; else the tensor follows a
    parameter or a thing that may well stay on the CPU. `parameter`: the name of the argument, a tensor for certain, that it
    was computed from in a function that was read without a caller, else empty. `beside`: another argument, which the function brings to the
    CPU before it is read; without a `parameter` what is called, another result of which it brings there. `without_grad`: nothing has to be
    detached from automatic differentiation. `unproven`: nothing is known of where it is, but that it is what a model, a gradient or a
    distribution gives. `array`: in an operation of a tensor and a NumPy array the array, and how to write it as a tensor beside the other,
    empty where that cannot be written.
    """

    node: Any
    reader: str
    place: Place
    given: Leaf
    given_device: str
    certain: bool
    parameter: str = ""
    without_grad: bool = False
    through: str = ""
    beside: str = ""
    unproven: bool = False
    array: tuple[Any, str] | None = None


@dataclass(frozen=True, slots=True)
class DiscardedTogether:
    """A tuple of transfers as a statement; `names` are the receivers, as the left side of an assignment."""

    node: Any
    names: str


@dataclass(frozen=True, slots=True)
class DiscardedTransfer:
    """`x.to(device)` of a tensor as a statement: the copy is thrown away. `device` is what to call the target.

    `together`: the tuple whose element it is, if all of them are transfers.
    """

    node: Any
    receiver: Any
    receiver_text: str
    device: str
    assignable: bool
    together: DiscardedTogether | None = None


@dataclass(frozen=True, slots=True)
class DeviceLiteral:
    """An accelerator that the program names, by an index or (`index` None) as the current device.

    `node` is the literal; `form` is `string`, `call` (`torch.device("cuda", 0)`), `cuda-method` (`.cuda(0)`, `.cuda()`; then `text` is
    the receiver's), `integer` (`device=0`), `current` (`set_device(0)`), `numbered` (`f"cuda:{rank}"`), `default-type`
    (`set_default_tensor_type(torch.cuda.FloatTensor)`; `text` is the type's name) or `needs` (`torch.cuda.synchronize()`; `text` is the
    function's name). `visible`: the number of devices that the program lets itself see, None
    when it does not say. `scope_device` is an expression already in scope that may be used instead; `torch_name` is the name under
    which torch is imported here, None when it is not. `parenthesize`: a conditional expression in its place needs parentheses.
    `chosen`: what decides elsewhere on the device, a name and an expression for the device, if the program has that.
    """

    node: Any
    form: str
    type: str
    index: int | None
    text: str
    guarded: bool
    inlined: bool
    scope_device: str | None
    torch_name: str | None
    call: Any = None
    parenthesize: bool = False
    visible: int | None = None
    chosen: tuple[str, str] | None = None

    @property
    def is_out_of_range(self) -> bool:
        """Whether no machine has the device, because the program hides it from itself."""
        return self.visible is not None and self.index is not None and self.index >= self.visible


@dataclass(frozen=True, slots=True)
class DeviceMisuse:
    """A device object, name or index is used as something that it is not.

    `form` is `comparison` (a `torch.device` with a string), `text` (as if it were a string itself), `truth` (of an index that
    may be 0), `call` (`x.is_cuda()`), `name` (a device string that PyTorch does not know), `context` (`torch.cuda.device(...)`,
    a context manager, as a device), `container` (`.to(device)` of a list or a tuple: `other`), `module` (`torch.cuda(0)`), `legacy`
    (`torch.FloatTensor(..., device=device)`) or `negative-index` (`get_device()` of a tensor that may be on the CPU). `text` is the
    source of the thing misused, `other` of what it is used with. `replaced` is the node that `replacement` may be written for
    (None: what was meant is not known). `always`: a comparison's result.
    """

    node: Any
    form: str
    text: str
    other: str = ""
    replaced: Any = None
    replacement: str | None = None
    always: bool | None = None


@dataclass(frozen=True, slots=True)
class CurrentDeviceKept:
    """A name holds `cuda` without an index, and another device becomes the current one.

    `node` is what `text` was assigned, `literal` the `"cuda"` in it, for which `pinned` may be written (None: not here); `how` is
    `changed` (by `set_device`, after something was put there) or `thread` (used in another thread), at `change`.
    """

    node: Any
    text: str
    how: str
    change: Any
    literal: Any
    pinned: str | None = None


@dataclass(frozen=True, slots=True)
class LostIndex:
    """Something goes to the current device of a type (or to a global rank's) where another thing's very device is meant.

    `form` is `guarded` (under a test of the other's type), `chosen` (a conditional expression), `round-trip` (to the CPU and
    back), `type` (`x.device.type` as a device), `typename` (`y.type(x.type())`), `convention` (the function puts its other tensors on
    the other's device), `rank` (a global rank as an index) or `positional` (`.cuda(True)`). `other` is the expression whose device is
    meant, `edits` are (node, text) replacements that put things there. `alone`: nothing in the program is on a second GPU.
    """

    node: Any
    form: str
    text: str
    other: str
    edits: tuple[tuple[Any, str], ...] = ()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Revealed:
    """`reveal_device(expression)`: what is known of the expression, in words.

    `within` is the function whose call led here, empty for code that is read by itself. `leaves` are the devices it may be on.
    """

    node: Any
    expression: str
    text: str
    within: str = ""
    leaves: tuple[Leaf, ...] = ()


Event: TypeAlias = (
    ModelCall
    | OutputMoved
    | MixedOperation
    | ReturnedFactory
    | UnstatedDevice
    | DoubtfulDevice
    | PlainState
    | DeviceNotPassed
    | UnmovedModule
    | HostRead
    | UnregisteredTensor
    | UnregisteredModule
    | LateSubmodule
    | DiscardedTransfer
    | DeviceLiteral
    | Revealed
    | CheckpointLoad
    | DeviceNotForwarded
    | GeneratorMismatch
    | UnstatedGenerator
    | HostArgument
    | StateBeforeMove
    | DeviceMisuse
    | LostIndex
    | CurrentDeviceKept
    | AmbientDevice
)
