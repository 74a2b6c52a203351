"""Is this exception about devices? Decided from its type and message; no torch.

The simulator marks its own errors (`DEVICE_ERROR_MARK`), but marks get lost: PyTorch re-raises what happened
in a DataLoader worker as a new exception with the old text, and errors of the plain CPU and of a real GPU
never had one. So the text decides, by the patterns of `torch_api.error_messages`.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator

from torchdev_lint.harness.verdict import Kind
from torchdev_lint.torch_api.error_messages import (
    CALLED_FLAG,
    CALLED_MODULE,
    MODULE_NOT_CALLABLE,
    NO_STORAGE,
    NO_TRANSFER,
    NOT_CALLABLE,
    NOT_CALLED,
    NOT_CALLED_TRANSFER,
    is_device_message,
)

DEVICE_ERROR_MARK = "_torchdev_lint_device_error"
"""An attribute that the simulator sets on the exceptions it raises."""

UNSUPPORTED_MARK = "_torchdev_lint_unsupported"
"""An attribute on exceptions that say: the simulator cannot do this."""

_BASES = (
    RuntimeError,
    TypeError,
    AssertionError,
    ValueError,
    AttributeError,
    NotImplementedError,
    IndexError,
)


_CALLED = {NOT_CALLABLE: CALLED_FLAG, MODULE_NOT_CALLABLE: CALLED_MODULE}
"""What the line that was called has to look like, by the message, which does not say it."""


def is_device_error(exception: BaseException) -> bool:
    """Whether the exception itself is a device error (its causes are not looked at)."""
    if getattr(exception, DEVICE_ERROR_MARK, False):
        return True
    if isinstance(exception, TypeError) and (called := _CALLED.get(str(exception))) is not None:
        last = traceback.extract_tb(exception.__traceback__)[-1:]
        return bool(last and last[0].line and called.search(last[0].line))
    if isinstance(exception, AttributeError) and NO_TRANSFER.search(str(exception)):
        return True
    if isinstance(exception, TypeError) and _follows_from_a_transfer(exception):
        return True
    return isinstance(exception, _BASES) and is_device_message(str(exception))


def _follows_from_a_transfer(exception: TypeError) -> bool:
    """Whether a method that moves tensors stands where a tensor is wanted, or a device's name where a storage is."""
    message = str(exception)
    if NO_STORAGE in message:
        return any(
            "map_location" in (one.line or "") for one in traceback.extract_tb(exception.__traceback__)
        )
    if NOT_CALLED.search(message) is None:
        return False
    *_, (frame, _) = traceback.walk_tb(exception.__traceback__)
    try:
        source = inspect.getsource(frame.f_code)
    except OSError:
        return False
    return NOT_CALLED_TRANSFER.search(source) is not None


def device_cause(exception: BaseException) -> BaseException | None:
    """The device error that ended the program: the exception itself or the one it was raised from.

    `raise X from error` declares the cause. A handler that leaves by `sys.exit` does the same in effect; any
    other exception that merely happened in a handler of a device error does not.
    """
    for candidate in _causes(exception):
        if is_device_error(candidate):
            return candidate
    return None


def classify(exception: BaseException | None) -> Kind:
    """The kind of verdict for a program that ended with this exception (None: by itself)."""
    if exception is None:
        return Kind.PASSED
    if isinstance(exception, SystemExit) and exception.code in (None, 0):
        return Kind.PASSED
    if any(getattr(candidate, UNSUPPORTED_MARK, False) for candidate in _causes(exception)):
        return Kind.UNSUPPORTED
    return Kind.OTHER_ERROR if device_cause(exception) is None else Kind.DEVICE_ERROR


def _causes(exception: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = exception
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        if current.__cause__ is not None:
            current = current.__cause__
        elif isinstance(current, SystemExit) and not current.__suppress_context__:
            current = current.__context__
        else:
            current = None
