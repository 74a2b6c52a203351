"""Storages, shared memory and pickles."""

from __future__ import annotations

import io

import torch
from torch import Tensor

from torchdev_lint.harness.probes.base import Device, probe


@probe("torch/storage.py")
def storage_device(x: Tensor, c: Tensor) -> None:
    assert x.untyped_storage().device == x.device
    assert x.untyped_storage().is_cuda
    assert not c.untyped_storage().is_cuda
    assert x.storage().device == x.device


@probe("torch/storage.py")
def new_storage(d: Device) -> None:
    storage = torch.UntypedStorage(8, device=d)
    assert storage.device == d
    assert storage.clone().device == d
    assert storage.cpu().device.type == "cpu"


@probe("torch/storage.py")
def storage_to_cuda() -> None:
    storage = torch.ones(4).untyped_storage().cuda()
    assert storage.is_cuda
    assert torch.empty(0, device="cuda").set_(storage).is_cuda


@probe("torch/_tensor.py, __deepcopy__")
def deep_copies(x: Tensor) -> None:
    import copy

    assert copy.deepcopy({"x": x, "y": x[0]})["y"].is_cuda
    assert copy.copy(x).is_cuda


@probe("torch/serialization.py")
def legacy_save_format(x: Tensor) -> None:
    buffer = io.BytesIO()
    torch.save(x, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert torch.load(buffer).is_cuda
    buffer.seek(0)
    assert torch.load(buffer, map_location="cpu").is_cpu


@probe("a generator's state is a CPU tensor", raises="RNG state must be a torch.ByteTensor")
def rng_state_loaded_onto_the_gpu(d: Device) -> None:
    buffer = io.BytesIO()
    torch.save(torch.get_rng_state(), buffer)
    buffer.seek(0)
    torch.set_rng_state(torch.load(buffer, map_location=d))
