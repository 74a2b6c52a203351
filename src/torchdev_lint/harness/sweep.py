"""Every operator of PyTorch's own database: all inputs on an accelerator, then one left behind.

All on the accelerator, forward and backward: a device error is a false alarm of the simulator (or, on a real
GPU, a fact). One non-scalar input on the CPU: silence is a missed alarm, unless the operator admits the mix.
The database (torch.testing._internal) is what PyTorch tests its operators with; it is private, and may move.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import itertools
import sys
import types
import unittest
import unittest.mock
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from torchdev_lint.harness.classify import is_device_error


@dataclass(slots=True)
class Swept:
    """What happened to one operator; each text is the first of its kind."""

    name: str
    samples: int = 0
    alarm: str | None = None
    """A device error although all inputs were on the accelerator."""
    other_error: str | None = None
    outputs_elsewhere: bool = False
    """A result was not on the accelerator."""
    detected: bool | None = None
    """Whether an input left on the CPU raised a device error; None when there was nothing to leave."""
    messages: list[str] = field(default_factory=list)


def operators() -> list[Any]:
    """PyTorch's operator database; ImportError when this torch has none."""
    if importlib.util.find_spec("expecttest") is None:
        # torch.testing's module of utilities derives its test case from it, and needs no more of it here.
        stand_in = types.ModuleType("expecttest")
        stand_in.__spec__ = importlib.machinery.ModuleSpec("expecttest", None)
        vars(stand_in)["TestCase"] = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


@contextlib.contextmanager
def _without_looking_for_the_test() -> Iterator[None]:
    """For every sample the database reads the text of all frames up the stack, to find the test that asks: two thirds of the time."""
    from torch.testing._internal import common_utils
    from torch.testing._internal.opinfo import core

    with contextlib.ExitStack() as stack:
        for module in (common_utils, core):
            if hasattr(module, "extract_test_fn"):
                stack.enter_context(unittest.mock.patch.object(module, "extract_test_fn", return_value=None))
        yield


def sweep(device: str, *, samples: int = 4, inference: bool = False) -> Iterator[Swept]:
    """Try every operator that takes float32 with its first few sample inputs on `device`."""
    with _without_looking_for_the_test():
        yield from _sweep(device, samples, inference=inference)


def _sweep(device: str, samples: int, *, inference: bool) -> Iterator[Swept]:
    for operator in operators():
        if torch.float32 not in operator.dtypes:
            continue
        variant = operator.variant_test_name
        result = Swept(operator.name + (f".{variant}" if variant else ""))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for sample in _samples(operator, samples, with_gradients=not inference):
                with torch.inference_mode(inference):
                    _try(operator, sample, torch.device(device), result)
        if result.samples:
            yield result


def _samples(operator: Any, number: int, *, with_gradients: bool) -> list[Any]:
    torch.manual_seed(0)
    requires_grad = with_gradients and operator.supports_autograd
    try:
        made = operator.sample_inputs("cpu", torch.float32, requires_grad=requires_grad)
        return list(itertools.islice(made, number))
    except Exception:  # some need what is not installed here
        return []


def _try(operator: Any, sample: Any, device: torch.device, result: Swept) -> None:
    def move(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.detach().to(device).requires_grad_(value.requires_grad)
        return device if isinstance(value, torch.device) or value == "cpu" else value

    result.samples += 1
    try:
        first, args, kwargs = tree_map(move, (sample.input, sample.args, sample.kwargs))
        out = operator(first, *args, **kwargs)
        _backward(operator, out)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        if is_device_error(error):
            result.alarm = result.alarm or text
        else:
            result.other_error = result.other_error or text
        return
    if any(isinstance(leaf, Tensor) and leaf.device != device for leaf in tree_leaves(out)):
        result.outputs_elsewhere = True
    _leave_one_behind(operator, (first, args, kwargs), result)


def _backward(operator: Any, out: Any) -> None:
    if not operator.supports_autograd:
        return
    for leaf in tree_leaves(out):
        if isinstance(leaf, Tensor) and leaf.requires_grad:
            real = leaf.real if leaf.is_complex() else leaf
            (real if real.layout is torch.strided else real.to_dense()).sum().backward()
            return


def _leave_one_behind(operator: Any, inputs: Any, result: Swept) -> None:
    tensors = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, Tensor) and leaf.dim() > 0]
    if len(tensors) < 2 or result.detected:
        return
    left = tensors[1]

    def leave(value: Any) -> Any:
        return value.detach().cpu() if value is left else value

    first, args, kwargs = tree_map(leave, inputs)
    try:
        operator(first, *args, **kwargs)
    except Exception as error:
        result.detected = is_device_error(error)
        result.messages.append(str(error))
        return
    result.detected = False
