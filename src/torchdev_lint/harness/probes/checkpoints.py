from __future__ import annotations

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import probe


@probe("location tag")
def save_load(x: Tensor, c: Tensor) -> None:
    import io

    b = io.BytesIO()
    torch.save({"w": x, "c": c}, b)
    b.seek(0)
    r = torch.load(b)
    assert r["w"].is_cuda
    assert r["c"].is_cpu


@probe("docs")
def map_location(x: Tensor) -> None:
    import io

    b = io.BytesIO()
    torch.save(x, b)
    b.seek(0)
    assert torch.load(b, map_location="cpu").is_cpu
    b.seek(0)
    assert torch.load(b, map_location="cuda:1").device.index == 1
    b.seek(0)
    assert torch.load(b, map_location=torch.device("cuda")).is_cuda
    b.seek(0)
    assert torch.load(b, map_location={"cuda:0": "cpu"}).is_cpu
    b.seek(0)
    assert torch.load(b, map_location=lambda storage, location: storage).is_cpu


@probe("torch/serialization.py")
def load_cpu_to_cuda() -> None:
    import io

    b = io.BytesIO()
    torch.save(nn.Linear(2, 2).state_dict(), b)
    b.seek(0)
    assert torch.load(b, map_location="cuda")["weight"].is_cuda
