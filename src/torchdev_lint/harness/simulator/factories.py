"""Functions that make tensors: `torch.zeros` and its like, `torch.tensor`, `new_*`, the legacy
constructors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.dispatch import SimulationMode, user_factory
from torchdev_lint.harness.simulator.errors import raise_device_error
from torchdev_lint.harness.simulator.machine import CPU, is_simulated, resolve
from torchdev_lint.harness.simulator.moves import LEGACY_DTYPES, move, to
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.tags import device_of, set_tag, tag_for

PLAIN = (
    "arange",
    "bartlett_window",
    "blackman_window",
    "complex",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_quantized",
    "empty_strided",
    "eye",
    "frombuffer",
    "from_file",
    "full",
    "full_like",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "linspace",
    "logspace",
    "normal",
    "ones",
    "ones_like",
    "polar",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "range",
    "scalar_tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
)
"""Factories of `torch` whose `device=` reaches the dispatcher: they are only marked as called by the
program.
"""

_METHODS = ("new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")

_number_of_modes = torch._C._len_torch_dispatch_stack


def called_by_program(factory: Callable[..., Any]) -> Callable[..., Any]:
    """Mark the tensors that the factory makes as the program's own; integer devices are the simulated
    ones.
    """

    @functools.wraps(factory)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not machine.active():
            return factory(*args, **kwargs)
        if type(kwargs.get("device")) is int:
            kwargs["device"] = torch.device(machine.machine().type, kwargs["device"])
        with user_factory():
            if not _number_of_modes():
                # In a Python kernel below the mode (torch.library.custom_op), where PyTorch has switched it
                # off.
                with SimulationMode():
                    return factory(*args, **kwargs)
            return factory(*args, **kwargs)

    return wrapper


def default_device() -> torch.device:
    """The device of `with torch.device(...)` or `torch.set_default_device`.

    Not torch.get_default_device(): that makes a tensor to find out.
    """
    for mode in reversed(_get_current_function_mode_stack()):
        if isinstance(mode, DeviceContext):
            return mode.device
    return CPU


def install(patches: Patches) -> None:
    """Replace the factories."""
    # `DeviceContext` recognises factories by identity, from a cached set: it must hold the originals, which
    # ours call.
    torch.utils._device._device_constructors()
    for name in PLAIN:
        if hasattr(torch, name):
            patches.set(torch, name, called_by_program(getattr(torch, name)))
    for name in ("fftfreq", "rfftfreq"):
        patches.set(torch.fft, name, called_by_program(getattr(torch.fft, name)))
    for name in _METHODS:
        patches.set(Tensor, name, called_by_program(getattr(Tensor, name)))
    _install_data_factories(patches)
    _install_sparse_factories(patches)
    _install_legacy(patches)


def _install_data_factories(patches: Patches) -> None:
    """Those that read Python data. Their C++ builds the tensor out of the dispatcher's sight and then moves
    it.
    """
    make_tensor, make_as_tensor, make_asarray = torch.tensor, torch.as_tensor, torch.asarray
    new = Tensor.new

    def tensor(
        data: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        if device is None:
            device = device_of(data) if isinstance(data, Tensor) else default_device()
        target = resolve(device)
        if target.type == "meta":
            return make_tensor(data, dtype=dtype, device=target, requires_grad=requires_grad)
        with user_factory(), torch._C.DisableTorchFunction():
            made = make_tensor(data, dtype=dtype)
        if target.type == "mps" and made.dtype is torch.float64:
            raise_device_error(machine.FLOAT64_ON_MPS, TypeError)
        set_tag(made, tag_for(target))
        if pin_memory:
            made = made.pin_memory()
        return made.requires_grad_() if requires_grad else made

    def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
        if isinstance(data, Tensor):
            target = device_of(data) if device is None else resolve(device)
            return to(data, target) if dtype is None else to(data, target, dtype)
        with user_factory(), torch._C.DisableTorchFunction():
            made = make_as_tensor(data, dtype=dtype)
        return to(made, default_device() if device is None else device)

    def asarray(
        obj: Any, *, dtype: Any = None, device: Any = None, copy: Any = None, requires_grad: bool = False
    ) -> Tensor:
        if isinstance(obj, Tensor):
            made = as_tensor(obj, dtype, device)
            made = made.clone() if copy and made is obj else made
        else:
            with user_factory(), torch._C.DisableTorchFunction():
                made = make_asarray(obj, dtype=dtype, copy=copy)
            made = to(made, default_device() if device is None else device)
        return made.requires_grad_() if requires_grad else made

    def new_tensor(
        self: Tensor,
        data: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **_: Any,
    ) -> Tensor:
        # dtype and device of self, whatever the data's (docs of Tensor.new_tensor)
        return tensor(
            data,
            dtype=self.dtype if dtype is None else dtype,
            device=device_of(self) if device is None else device,
            requires_grad=requires_grad,
        )

    def legacy_new(self: Tensor, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        if device is not None and resolve(device).type != device_of(self).type:
            _refuse(device_of(self).type, resolve(device).type)
        with user_factory():
            made = new(self, *args, **kwargs)
        set_tag(made, tag_for(device_of(self) if device is None else resolve(device)))
        return made

    patches.function(torch, "tensor", tensor)
    patches.function(torch, "as_tensor", as_tensor)
    patches.function(torch, "asarray", asarray)
    patches.set(Tensor, "new_tensor", new_tensor)
    patches.set(Tensor, "new", legacy_new)


def _install_sparse_factories(patches: Patches) -> None:
    for name in (
        "sparse_coo_tensor",
        "sparse_csr_tensor",
        "sparse_csc_tensor",
        "sparse_bsr_tensor",
        "sparse_bsc_tensor",
        "sparse_compressed_tensor",
    ):
        patches.function(torch, name, _sparse(getattr(torch, name)))


def _sparse(factory: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
        if device is None:
            device = device_of(tensors[-1]) if tensors else default_device()  # where the values are
        target = resolve(device)
        if target.type == "meta":
            return factory(*args, device=target, **kwargs)
        with user_factory(), torch._C.DisableTorchFunction():
            # Their indices are moved to the values by C++, which sees the CPU everywhere.
            args = tuple(move(value, target) if isinstance(value, Tensor) else value for value in args)
            made = factory(*args, **kwargs)
        set_tag(made, tag_for(target))
        return made

    return wrapper


def _refuse(expected: str, given: str) -> NoReturn:
    raise_device_error(
        f"legacy constructor expects device type: {expected} but device type: {given} was passed"
    )


def _install_legacy(patches: Patches) -> None:
    construct = torch._C.TensorBase.__new__

    def tensor_new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        # torch.Tensor(2, 3): the type itself cannot be replaced
        if device is not None and is_simulated(resolve(device)):
            _refuse("cpu", resolve(device).type)
        with user_factory(), torch._C.DisableTorchFunction():
            return construct(cls, *args, **kwargs)

    patches.set(Tensor, "__new__", staticmethod(tensor_new))
    for name, dtype in LEGACY_DTYPES.items():
        construct_cpu = getattr(torch, f"{name}Tensor")
        patches.set(torch, f"{name}Tensor", _legacy_type("torch", name, dtype, "cpu", construct_cpu))
        if machine.machine().type == "cuda":
            patches.set(
                torch.cuda, f"{name}Tensor", _legacy_type("torch.cuda", name, dtype, "cuda", construct_cpu)
            )


class _LegacyType(type):
    """The type of our `torch.FloatTensor`: a class, so that `FloatTensor | None` and isinstance work."""

    dtype: Any
    _construct: Callable[..., Any]
    _device: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        with user_factory():
            made = cls._construct(*args, **kwargs)
        if cls._device == "cpu" or not machine.active():
            return made
        return move(made, resolve(cls._device))

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype == cls.dtype
            and device_of(instance).type == cls._device
        )

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    __str__ = __repr__


def _legacy_type(module: str, name: str, dtype: Any, device: str, construct: Callable[..., Any]) -> type:
    return _LegacyType(
        f"{name}Tensor",
        (),
        {"__module__": module, "dtype": dtype, "_construct": staticmethod(construct), "_device": device},
    )
