"""How the simulator speaks: device errors that look like PyTorch's, and two errors of its own."""

from __future__ import annotations

from typing import NoReturn

from torchdev_lint.harness.classify import DEVICE_ERROR_MARK, UNSUPPORTED_MARK


class SimulatorUnavailableError(RuntimeError):
    """The simulator does not work with this torch, or with the state of this process; the text says why."""


class UnsupportedError(NotImplementedError):
    """The program asked for what is not simulated. It says nothing about the program."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the simulated accelerator does not support {what}")
        setattr(self, UNSUPPORTED_MARK, True)


def raise_device_error(message: str, kind: type[Exception] = RuntimeError) -> NoReturn:
    """Raise what PyTorch raises.

    The builtin type itself, not a subclass: programs compare `type(error)`, and a class of our own would not
    be unpickled out of a DataLoader worker by name (the parent then waits for ever).
    """
    error = kind(message)
    setattr(error, DEVICE_ERROR_MARK, True)
    raise error


def raise_two_devices(first: object, second: object) -> NoReturn:
    """TensorIterator's error (ATen/TensorIterator.cpp, compute_types)."""
    raise_device_error(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and "
        f"{second}!"
    )
