from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchdev_lint.harness.probes.base import Device, probe


@probe("torch/utils/data")
def dataloader_pin(c: Tensor, d: Device) -> None:
    ds = torch.utils.data.TensorDataset(c, torch.arange(3))
    for a, _b in torch.utils.data.DataLoader(ds, batch_size=2, pin_memory=True, shuffle=True):
        assert a.is_cpu
        assert a.is_pinned()
        assert a.to(d, non_blocking=True).is_cuda


@probe("torch/utils/data", raises="cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
def dataloader_cuda_dataset_pin(x: Tensor) -> None:
    ds = torch.utils.data.TensorDataset(x)
    list(torch.utils.data.DataLoader(ds, pin_memory=True))


@probe("torch/utils/data", raises="cannot pin")
def pin_cuda(x: Tensor) -> None:
    x.pin_memory()


@probe("torch/utils/data")
def dataloader_workers(c: Tensor) -> None:
    ds = torch.utils.data.TensorDataset(c, torch.arange(3))
    assert len(list(torch.utils.data.DataLoader(ds, batch_size=2, num_workers=1))) == 2


@probe("_lazy_init", raises="Cannot re-initialize CUDA in forked subprocess")
def workers_using_cuda() -> None:
    class D(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            return torch.ones(2).to("cuda")

    torch.zeros(1, device="cuda")
    list(torch.utils.data.DataLoader(D(), num_workers=1))
