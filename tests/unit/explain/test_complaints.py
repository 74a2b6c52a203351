"""What PyTorch's messages say of devices."""

from __future__ import annotations

import pytest

from torchdev_lint.explain.complaints import complaint_about, complaint_of, stranger
from torchdev_lint.explain.tracebacks import parse
from torchdev_lint.rules.registry import all_rules
from torchdev_lint.torch_api.error_messages import KINDS, MESSAGES, is_device_message

SAME = "Expected all tensors to be on the same device, but"


@pytest.mark.parametrize(
    ("message", "kind", "devices"),
    [
        (f"{SAME} found at least two devices, cuda:0 and cpu!", "mix", [("", "cuda:0"), ("", "cpu")]),
        (
            f"{SAME} got mat1 is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)",
            "mix",
            [("mat1", "cpu"), ("other tensors", "cuda:0")],
        ),
        (
            "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or input should be",
            "model",
            [("input", "cpu"), ("weight", "cuda")],
        ),
        (
            "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
            "host",
            [("", "cuda:0")],
        ),
        (
            "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
            "index",
            [("indexed tensor", "cpu")],
        ),
        (
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running "
            "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu')",
            "load",
            [("", "cuda")],
        ),
        (
            "Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1.",
            "load",
            [("", "cuda:1")],
        ),
        (
            "Expected a 'cuda' device type for generator but found 'cpu'",
            "generator",
            [("", "cuda"), ("generator", "cpu")],
        ),
        ("Expected a 'cpu' generator device but found 'cuda'", "generator", [("", "cpu"), ("", "cuda")]),
        (
            "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
            "host-argument",
            [("'lengths' argument", "cuda:0"), ("", "cpu")],
        ),
        ("Torch not compiled with CUDA enabled", "absent", [("", "cuda")]),
        (
            "slow_conv2d_forward_mps: input(device='cpu') and weight(device=mps:0')  must be on the same device",
            "model",
            [("input", "cpu"), ("weight", "mps:0")],
        ),
        ("Placeholder storage has not been allocated on MPS device!", "model", [("", "mps")]),
        (
            "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
            "model",
            [("input", "cuda:0"), ("hidden", "cpu")],
        ),
        (
            "torch.cat(): all input tensors must be on the same device. Received cuda:0 and cpu",
            "mix",
            [("", "cuda:0"), ("", "cpu")],
        ),
        (
            "Tensor for argument #1 'self' is on CPU, but expected them to be on GPU (while checking arguments for addmm)",
            "mix",
            [("", "cpu"), ("", "cuda")],
        ),
        ("CUDA error: invalid device ordinal\nCUDA kernel errors might be reported later", "ordinal", []),
    ],
)
def test_what_a_message_says(message: str, kind: str, devices: list[tuple[str, str]]) -> None:
    said = complaint_of(message)
    assert said is not None
    assert (said.kind, list(said.devices)) == (kind, devices)
    assert is_device_message(message)


def test_the_operation() -> None:
    said = complaint_of(
        f"{SAME} found at least two devices, cuda:0 and cpu! (when checking argument for argument index in method "
        "wrapper_CUDA__index_select)"
    )
    assert said is not None
    assert (said.operation, said.argument) == ("index_select", "index")


def test_line_breaks_do_not_matter() -> None:
    said = complaint_of(
        "Expected all tensors\n to be on the same\ndevice, but found at least two devices, mps:0\nand cpu!"
    )
    assert said is not None
    assert [device for _, device in said.devices] == ["mps:0", "cpu"]


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("CUDA error: device-side assert triggered", "out of range"),
        ("CUDA out of memory. Tried to allocate 2.00 GiB", "memory"),
        (
            "Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same",
            "types",
        ),
        ("Input type (float) and bias type (c10::Half) should be the same", "types"),
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", "shapes"),
    ],
)
def test_what_only_looks_like_it(message: str, word: str) -> None:
    assert complaint_of(message) is None
    assert word in (stranger(message) or "")


def test_others() -> None:
    assert complaint_of("No module named 'apex'") is None
    assert stranger("No module named 'apex'") is None


def test_every_message_has_a_kind_and_every_kind_s_rules_exist() -> None:
    assert {kind for _, kind, _ in MESSAGES} == set(KINDS)
    codes = {rule.code for rule in all_rules()}
    assert {code for kind in KINDS.values() for code in kind.rules} <= codes


@pytest.mark.parametrize(("code", "kind"), [("if x.is_cuda():", "misuse"), ("if ready():", None)])
def test_the_line_says_what_the_message_does_not(code: str, kind: str | None) -> None:
    (error,) = parse(f"  File \"a.py\", line 3, in f\n    {code}\nTypeError: 'bool' object is not callable\n")
    said = complaint_about(error)
    assert (said.kind if said else None) == kind
