"""Nested tensors of the strided layout."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe("torch.nested")
def nested_tensor(x: Tensor, c: Tensor, d: Device) -> None:
    nested = torch.nested.nested_tensor([x, x[:1]])
    assert nested.is_cuda
    assert (nested * 2).is_cuda
    assert torch.nested.to_padded_tensor(nested, 0.0).is_cuda
    assert torch.nested.nested_tensor([c, c[:1]], device=d).is_cuda
    assert torch.nested.nested_tensor([c, c[:1]]).is_cpu


@probe("torch.nested", raises=SAME, confidence="M")
def nested_tensors_mixed(x: Tensor, c: Tensor) -> None:
    torch.nested.nested_tensor([x, x]) + torch.nested.nested_tensor([c, c])


@probe("nn.TransformerEncoder takes the nested path for padded input in evaluation")
def padded_transformer_encoder(d: Device) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1).to(d).eval()
    mask = torch.tensor([[False, False, False], [False, False, True]], device=d)
    with torch.no_grad():
        assert encoder(torch.ones(2, 3, 8, device=d), src_key_padding_mask=mask).is_cuda
