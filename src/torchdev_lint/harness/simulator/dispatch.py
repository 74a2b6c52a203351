"""Sees every ATen operator: checks the devices of its operands, runs it on the CPU, tags what comes out.

A TorchDispatchMode sits below autograd, so backward formulas pass here as well: CPU autograd runs them in the
calling thread. This is the hot path (about 2 µs per operator are PyTorch's own for any mode); keep it lean.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch._library.custom_ops
from torch import Tensor
from torch._C import DispatchKey
from torch.utils._python_dispatch import TorchDispatchMode

from torchdev_lint.harness.simulator import generators, machine, rules
from torchdev_lint.harness.simulator.autograd_home import send_home
from torchdev_lint.harness.simulator.errors import raise_device_error
from torchdev_lint.harness.simulator.machine import CPU
from torchdev_lint.harness.simulator.native import Declaration
from torchdev_lint.harness.simulator.tags import TAG, WILD, set_tag, tag_of, untyped_storage


class _Thread(threading.local):
    """What the user-level functions tell the dispatcher about the call under way in this thread."""

    user_factory = 0
    """How many user-level factories are on the stack: what they make without a device is on the CPU, not
    WILD.
    """
    moving = False
    """A transfer is being carried out; it tags its result itself."""


thread = _Thread()

declarations: Mapping[str, Declaration] = {}
"""native_functions.yaml, filled at installation."""


class Plan:
    """What is known of one operator overload, worked out at its first call."""

    __slots__ = (
        "always_check",
        "call",
        "composite",
        "copies",
        "cpu_only",
        "cpu_output",
        "decompose",
        "foreign",
        "makes",
        "names",
        "operator",
        "plain",
        "qualified_name",
        "rule",
        "tensors",
    )

    def __init__(self, func: Any) -> None:
        schema = func._schema
        name, overload = schema.name.split("::")[-1], schema.overload_name
        arguments = [(argument.name, str(argument.type)) for argument in schema.arguments]
        kinds = [kind for _, kind in arguments if "Tensor" in kind]
        self.call = func._op
        self.names = tuple(argument for argument, _ in arguments)
        self.operator = rules.Operator(
            name, overload, declarations.get(name + (f".{overload}" if overload else ""))
        )
        self.rule = rules.rule_for(self.operator)
        self.tensors = bool(kinds)
        self.makes = any(argument == "device" for argument, _ in arguments)
        self.copies = name in ("_to_copy", "clone")
        self.always_check = name in rules.CHECKED_EVEN_IF_EQUAL
        self.cpu_only = name in rules.CPU_ONLY
        self.cpu_output = rules.CPU_OUTPUTS.get(name)
        self.decompose = func.decompose
        self.foreign = func.namespace not in _OWN_NAMESPACES
        self.composite = bool(func.has_kernel_for_dispatch_key(DispatchKey.CompositeImplicitAutograd))
        # No device argument, no generator, no odd outputs: the common case, and the fast one.
        self.plain = (
            self.tensors
            and not self.makes
            and not any("Generator" in kind for _, kind in arguments)
            and not self.always_check
            and not self.cpu_only
            and self.cpu_output is None
            and not self.composite
            and not self.foreign
            and name != "set_"
        )
        self.qualified_name = schema.name


_OWN_NAMESPACES = frozenset({"aten", "prim", "prims"})

plans: dict[Any, Plan] = {}


def plan_for(func: Any) -> Plan:
    """The operator's plan, made at its first call."""
    plan = plans[func] = Plan(func)
    return plan


class SimulationMode(TorchDispatchMode):  # type: ignore[misc]
    """The mode of one thread."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # The default wraps __torch_dispatch__ so that its first call imports torch._dynamo (seconds), and
        # each call pays.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        plan = plans.get(func) or plan_for(func)
        if plan.plain and not kwargs:
            common: Any = None
            known = mixed = False
            for argument in args:
                if isinstance(argument, Tensor):
                    try:
                        tag = untyped_storage(argument).__dict__.get(TAG)
                    except Exception:
                        tag = tag_of(argument)
                    if not known:
                        common, known = tag, True
                    elif tag is not common:
                        mixed = True
                elif type(argument) is list or type(argument) is tuple:
                    for item in argument:
                        if isinstance(item, Tensor):
                            tag = tag_of(item)
                            if not known:
                                common, known = tag, True
                            elif tag is not common:
                                mixed = True
            if not mixed:
                out = plan.call(*args)
                if common is not None and not thread.moving:
                    if isinstance(out, Tensor):
                        try:
                            untyped_storage(out).__dict__[TAG] = common
                        except Exception:
                            set_tag(out, common)
                    elif out is not None:
                        tag_outputs(out, common, plan)
                return out
        return dispatch(plan, args, kwargs or {})


def dispatch(plan: Plan, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The general way: mixed devices, factories, generators."""
    call = plan.call
    name = plan.operator.name
    if thread.moving or not machine.active():
        return call(*args, **kwargs)
    if plan.composite:
        # Seen whole in inference mode only, where the keys that take it apart are off. Its parts are to be
        # checked.
        with SimulationMode():
            return plan.decompose(*args, **kwargs)
    if plan.foreign:
        return _foreign(plan, args, kwargs)
    if name == "set_" and len(args) > 1:
        return call(*args, **kwargs)  # the tensor takes the storage's own tag
    operands = list(_operands(plan, args, kwargs)) if plan.tensors else []
    tagged = any(operand.device is not CPU for operand in operands)
    device: Any = None
    if plan.makes:
        device, kwargs = _requested_device(plan, kwargs, bool(operands))
        if device is _ELSEWHERE:
            return call(*args, **kwargs)
    if device is None:
        device = _common_device(plan, operands, tagged)
    generator = kwargs.get("generator")
    if generator is None:
        generator = next((argument for argument in args if generators.is_generator(argument)), None)
    if generator is not None:
        generators.check(generator, device)
    if device is not None and device.type == "mps" and kwargs.get("dtype") is torch.float64:
        raise_device_error(machine.FLOAT64_ON_MPS, TypeError)
    if plan.cpu_only and device is not None and device.type != "cpu":
        raise_device_error(
            f"Could not run 'aten::{name}' with arguments from the '{device.type.upper()}' backend. "
            "This could be because the operator doesn't exist for this backend, or was omitted during the "
            "selective/custom build process (if using custom build).",
            NotImplementedError,
        )
    if tagged and device is not None and device is not WILD and device.type != "cpu":
        for operand in operands:
            if operand.device is CPU and operand.tensor.requires_grad and operand.tensor.dim() == 0:
                send_home(operand.tensor)
    out = call(*args, **kwargs)
    if device is None or out is None:
        return out
    if device is not WILD and device.type == "cpu":
        if tagged:
            _settle_on_cpu(out)
        return out
    tag_outputs(out, device, plan)
    return out


def _foreign(plan: Plan, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """An operator that is not PyTorch's own (torch.library, extensions, torch.distributed).

    Python bodies run with the mode on, so that their operators are checked. A C++ kernel writes past the
    dispatcher: what it returns without a tag is where its operands are.
    """
    definition = torch._library.custom_ops.OPDEFS.get(plan.qualified_name)
    if definition is not None:
        # The function itself: with the mode on, the operator would come here again.
        with SimulationMode():
            return _body(definition, plan, args, kwargs)(*args, **kwargs)
    out = plan.call(*args, **kwargs)
    operands = list(_operands(plan, args, kwargs))
    device = rules.lenient(plan.operator, operands) if operands else CPU
    if device is not WILD and device.type != "cpu":
        _tag_untagged(out, device)
    return out


def _body(definition: Any, plan: Plan, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The function of a `torch.library.custom_op` for the devices of these operands."""
    functions: Mapping[Any, Any] = definition._backend_fns
    for operand in _operands(plan, args, kwargs):
        if operand.device is not WILD and operand.device.type in functions:
            return functions[operand.device.type]
    return functions.get(None, definition._init_fn)


def _tag_untagged(out: Any, device: Any) -> None:
    if isinstance(out, Tensor):
        if tag_of(out) is None:
            set_tag(out, device)
    elif isinstance(out, (list, tuple)):
        for item in out:
            _tag_untagged(item, device)


_ELSEWHERE: Any = object()
"""The operator makes a tensor on a device that is not ours (meta)."""


def _requested_device(
    plan: Plan, kwargs: Mapping[str, Any], has_operands: bool
) -> tuple[Any, Mapping[str, Any]]:
    """The device that a `device=` argument asks for, None if it leaves it to the operands; the arguments for
    the CPU.
    """
    requested = kwargs.get("device")
    if requested is not None and requested.type == "meta":
        return _ELSEWHERE, kwargs
    if kwargs.get("pin_memory"):
        kwargs = {**kwargs, "pin_memory": False}
    if requested is not None and requested.type != "cpu":
        resolved = machine.resolve(requested)
        if not machine.is_simulated(resolved):
            return _ELSEWHERE, kwargs
        return resolved, {**kwargs, "device": CPU}
    if has_operands:
        if requested is None or plan.copies or not thread.user_factory:
            # Inside C++ this is `x.to(options)` or `new_zeros(options)`, and the options came from a tagged
            # tensor.
            return None, kwargs
        return CPU, kwargs
    return (CPU if thread.user_factory else WILD), kwargs


def _common_device(plan: Plan, operands: Sequence[rules.Operand], tagged: bool) -> Any:
    if not operands or not tagged:
        return None
    first = operands[0].device
    if len(operands) == 1 and not plan.always_check:
        return first
    if first is not WILD and not plan.always_check and all(operand.device == first for operand in operands):
        return first
    return plan.rule(plan.operator, operands)


def _operands(plan: Plan, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[rules.Operand]:
    for name, value in (*zip(plan.names, args, strict=False), *kwargs.items()):
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(tensor, Tensor):
                tag = tag_of(tensor)
                yield rules.Operand(name, tensor, CPU if tag is None else tag)


def tag_outputs(out: Any, device: Any, plan: Plan | None = None) -> None:
    """Tag the tensors in an operator's result."""
    if isinstance(out, Tensor):
        set_tag(out, device)
    elif isinstance(out, (list, tuple)):
        for position, item in enumerate(out):
            if item is not None and (plan is None or plan.cpu_output != position):
                tag_outputs(item, device)


def _settle_on_cpu(out: Any) -> None:
    """A WILD tensor that was written to with CPU tensors is a CPU tensor."""
    if isinstance(out, Tensor):
        if tag_of(out) is WILD:
            set_tag(out, None)
    elif isinstance(out, (list, tuple)):
        for item in out:
            _settle_on_cpu(item)


class user_factory:  # noqa: N801 - used like a function
    """`with user_factory():` the program itself asks for a new tensor (see `_Thread.user_factory`)."""

    __slots__ = ()

    def __enter__(self) -> None:
        thread.user_factory += 1

    def __exit__(self, *exc_info: object) -> None:
        thread.user_factory -= 1


class moving:  # noqa: N801 - used like a function
    """`with moving():` operators run untouched (see `_Thread.moving`)."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = thread.moving
        thread.moving = True

    def __exit__(self, *exc_info: object) -> None:
        thread.moving = self._before
