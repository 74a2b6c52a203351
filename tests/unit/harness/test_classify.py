"""Device errors are told from others by their text."""

from __future__ import annotations

import runpy

import pytest
import torch

from torchdev_lint.harness import Kind
from torchdev_lint.harness.classify import classify, device_cause, is_device_error
from torchdev_lint.torch_api.error_messages import is_device_message

DEVICE_MESSAGES = [
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "Expected all tensors to be on the same device, but got mat1 is on cpu, different from other tensors on cuda:0",
    "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
    "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    "Expected a 'cuda' device type for generator but found 'cpu'",
    "Torch not compiled with CUDA enabled",
    "Cannot access accelerator device when none is available.",
    "torch.UntypedStorage(): Storage device not recognized: mps",
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
    "module 'torch._C' has no attribute '_cuda_setDevice'",
    "torch.cuda.Stream requires CUDA support",
    "Tried to instantiate dummy base class Event",
    "PyTorch was compiled without CUDA support",
    "CUDA error: invalid device ordinal",
    "Found no NVIDIA driver on your system.",
    "Placeholder storage has not been allocated on MPS device!",
    "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    "Function MulBackward0 returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
    "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
]

OTHER_MESSAGES = [
    "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
    "CUDA out of memory. Tried to allocate 2.00 GiB",
    "expected scalar type Float but found Half",
    "index 5 is out of bounds for dimension 0 with size 3",
    "No module named 'apex'",
    "Expected input batch_size (3) to match target batch_size (2).",
    "one of the variables needed for gradient computation has been modified by an inplace operation",
]


@pytest.mark.parametrize("message", DEVICE_MESSAGES)
def test_device_errors(message):
    assert is_device_message(message)
    assert classify(RuntimeError(message)) is Kind.DEVICE_ERROR


@pytest.mark.parametrize("message", OTHER_MESSAGES)
def test_other_errors(message):
    assert not is_device_message(message)
    assert classify(RuntimeError(message)) is Kind.OTHER_ERROR


def test_the_type_counts_too():
    assert not is_device_error(KeyError("Torch not compiled with CUDA enabled"))
    assert is_device_error(AssertionError("Torch not compiled with CUDA enabled"))


def test_the_declared_cause_counts_and_the_mere_context_does_not():
    device_error = RuntimeError("Torch not compiled with CUDA enabled")
    declared, merely = ValueError("x"), ValueError("y")
    declared.__cause__ = device_error
    merely.__context__ = device_error
    assert device_cause(declared) is device_error
    assert device_cause(merely) is None


def test_an_exit_in_a_handler_is_the_errors_doing():
    leaving = SystemExit(1)
    leaving.__context__ = RuntimeError("Torch not compiled with CUDA enabled")
    assert classify(leaving) is Kind.DEVICE_ERROR
    assert classify(SystemExit(1)) is Kind.OTHER_ERROR
    assert classify(SystemExit(0)) is Kind.PASSED


def test_a_cycle_of_causes_ends():
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert device_cause(one) is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("x.cuda if x.is_cpu else x", Kind.DEVICE_ERROR),
        ("x.cpu", Kind.DEVICE_ERROR),
        ("x.relu if x.cpu() is x else x", Kind.OTHER_ERROR),
    ],
)
def test_a_transfer_that_is_not_called(tmp_path, line, kind):
    path = tmp_path / "program.py"
    path.write_text(f"import torch\n\ndef run(x):\n    return torch.cat([{line}])\n", encoding="utf-8")
    names = runpy.run_path(str(path))
    with pytest.raises(TypeError) as raised:
        names["run"](torch.zeros(2))
    assert classify(raised.value) is kind


@pytest.mark.parametrize(
    ("given", "kind"),
    [("map_location=lambda storage, place: 'cpu'", Kind.DEVICE_ERROR), ("**options", Kind.OTHER_ERROR)],
)
def test_a_name_for_a_storage(tmp_path, given, kind):
    torch.save({"a": torch.zeros(2)}, tmp_path / "state.pt")
    path = tmp_path / "program.py"
    text = f"import torch\n\ndef run(path, options):\n    return torch.load(path, {given})\n"
    path.write_text(text, encoding="utf-8")
    names = runpy.run_path(str(path))
    with pytest.raises(TypeError) as raised:
        names["run"](tmp_path / "state.pt", {"map_location": 3})
    assert classify(raised.value) is kind
