from __future__ import annotations

import torch
from torch import Tensor

from torchdev_lint.harness.probes.base import Device, probe


@probe("API")
def is_available() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 2
    assert torch.cuda.current_device() == 0


@probe("API")
def device_idiom() -> None:
    dd = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert dd.type == "cuda"


@probe("to() fills the current index")
def to_cuda_index(c: Tensor) -> None:
    assert (
        c.to("cuda").device == torch.device("cuda:0") and c.to("cuda") is not None
        if False
        else c.to("cuda").device == torch.device("cuda", 0)
    )


@probe("torch.device('cuda') has index None")
def device_eq_unindexed(c: Tensor) -> None:
    assert c.to("cuda").device != torch.device("cuda")


@probe("cudaErrorInvalidDevice", raises="invalid device ordinal")
def bad_ordinal(c: Tensor) -> None:
    c.to("cuda:7")


@probe("docs")
def cuda_1(c: Tensor) -> None:
    assert c.cuda(1).device.index == 1
    assert c.to(1).device.index == 1


@probe("docs")
def set_device() -> None:
    torch.cuda.set_device(1)
    try:
        assert torch.zeros(1, device="cuda").device.index == 1
    finally:
        torch.cuda.set_device(0)


@probe("docs")
def with_cuda_device() -> None:
    with torch.cuda.device(1):
        assert torch.zeros(1, device="cuda").device.index == 1
        assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0


@probe("docs")
def is_cuda_get_device(x: Tensor, c: Tensor) -> None:
    assert x.is_cuda
    assert not x.is_cpu
    assert x.get_device() == 0
    assert c.get_device() == -1


@probe("docs of Tensor.to")
def to_same_is_self(x: Tensor, c: Tensor) -> None:
    assert x.to("cuda") is x
    assert c.to("cpu") is c
    assert x.cuda() is x
    assert c.cpu() is c


@probe("a cross-device to() copies")
def to_copy(c: Tensor, d: Device) -> None:
    y = c.to(d)
    y.zero_()
    assert c.abs().sum() > 0


@probe("docs")
def to_not_in_place(d: Device) -> None:
    c2 = torch.ones(2)
    c2.to(d)
    assert c2.device.type == "cpu"
