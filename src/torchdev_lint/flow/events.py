"""What the visitor publishes and rules subscribe to. Nodes are LibCST nodes, opaque to the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from torchdev_lint.flow.lattice import Leaf


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operand of a conflict stands: its node, its source text and how to bring it elsewhere.

    `node` is the place to report; `value_node` the expression inside it (they differ for `idx=f(x)`); `star` is "", "*"
    or "**"; `mapping`: the value is a mapping with `.to`; `container`: it is a plain `list` or `dict` of tensors;
    `needs_parentheses`: a method cannot be called on the text as it stands; `unsure`: it may be a container.
    """

    node: Any
    value_node: Any
    text: str = ""
    keyword: str = ""
    star: str = ""
    mapping: bool = False
    container: str = ""
    needs_parentheses: bool = False
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Transfer:
    """`receiver.to(argument)`: the call's node, the receiver's text, the node of the device given (None: `.cuda()`)."""

    node: Any
    receiver: str
    argument: Any
    method: str


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
    built: Any = None
    """The expression that built the module, if it was never moved and `target` can be used there."""


@dataclass(frozen=True, slots=True)
class MixedOperation:
    """Operands of one operation are on different devices.

    `right` is where the operand at fault is, at `place`; `left` where the other one is, known as `other`. `certain`: on
    every machine with an accelerator; else only once the parameter or module that the other follows is moved.
    `factory` is the call that made the operand at fault, when that happened in this very activation and
    `device=target` can be written there.
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
    factory: Any = None


@dataclass(frozen=True, slots=True)
class DiscardedTransfer:
    """`x.to(device)` of a tensor as a statement: the copy is thrown away. `device` is what to call the target."""

    node: Any
    receiver: Any
    receiver_text: str
    device: str
    assignable: bool


@dataclass(frozen=True, slots=True)
class DeviceLiteral:
    """An accelerator with a literal index.

    `node` is the literal; `form` is `string`, `call` (`torch.device("cuda", 0)`), `cuda-method` (`.cuda(0)`) or
    `integer` (`device=0`). `scope_device` is an expression already in scope that may be used instead; `torch_name` is
    the name under which torch is imported here, None when it is not. `parenthesize`: a conditional expression in its place
    needs parentheses.
    """

    node: Any
    form: str
    type: str
    index: int
    text: str
    guarded: bool
    inlined: bool
    scope_device: str | None
    torch_name: str | None
    call: Any = None
    parenthesize: bool = False


Event: TypeAlias = ModelCall | MixedOperation | DiscardedTransfer | DeviceLiteral
