from __future__ import annotations

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe("device_check ExactSame", raises=SAME)
def matmul(x: Tensor, c: Tensor) -> None:
    x @ c.t()


@probe("the generated check of the CUDA kernel", raises=SAME)
def mm_0dim(x: Tensor) -> None:
    torch.mv(x, torch.ones(4))


@probe("the generated check of the CUDA kernel", raises=SAME + ".*wrapper_CUDA_bmm")
def bmm(x: Tensor, c: Tensor) -> None:
    torch.bmm(x[None], c.t()[None])


@probe("the generated check of the CUDA kernel", raises=SAME)
def einsum(x: Tensor, c: Tensor) -> None:
    torch.einsum("ij,kj->ik", x, c)


@probe(
    "c10::impl::common_device_check_failure",
    raises=SAME + ".*mat1.*wrapper_CUDA_addmm",
)
def linear(c: Tensor, d: Device) -> None:
    nn.functional.linear(c, torch.ones(2, 4, device=d), torch.ones(2, device=d))


@probe("the generated check of the CUDA kernel", raises=SAME)
def linear_no_bias(c: Tensor, d: Device) -> None:
    nn.functional.linear(c, torch.ones(2, 4, device=d))


@probe("the generated check of the CUDA kernel", raises=SAME)
def linear_weight_cpu(x: Tensor) -> None:
    nn.Linear(4, 2)(x)


@probe("the generated check of the CUDA kernel", raises=SAME + ".*index.*wrapper_CUDA__index_select")
def embedding(x: Tensor) -> None:
    nn.functional.embedding(torch.tensor([0, 1]), x)


@probe("the generated check of the CUDA kernel", raises=SAME)
def embedding_rev(c: Tensor, i: Tensor) -> None:
    nn.functional.embedding(i, c)


@probe("the generated check of the CUDA kernel", raises=SAME)
def embedding_bag(d: Device) -> None:
    nn.EmbeddingBag(3, 4).to(d)(torch.tensor([[0, 1]]))


@probe(
    "check_input_same_type_as_parameters",
    raises=r"Input type \(torch.FloatTensor\) and weight type \(torch.cuda.FloatTensor\)",
)
def conv2d_input_cpu(d: Device) -> None:
    nn.Conv2d(1, 2, 1).to(d)(torch.ones(1, 1, 2, 2))


@probe(
    "the generated check of the CUDA kernel",
    raises=r"Input type \(torch.cuda.FloatTensor\) and weight type \(torch.FloatTensor\)",
)
def conv2d_weight_cpu(d: Device) -> None:
    nn.Conv2d(1, 2, 1)(torch.ones(1, 1, 2, 2, device=d))


@probe("the generated check of the CUDA kernel", raises="Input type")
def conv1d(d: Device) -> None:
    nn.Conv1d(4, 2, 1).to(d)(torch.ones(1, 4, 2))


@probe("the generated check of the CUDA kernel")
def conv_ok_bwd(d: Device) -> None:
    m = nn.Conv2d(1, 2, 1).to(d)
    m(torch.ones(1, 1, 2, 2, device=d)).sum().backward()
    assert m.weight.grad.is_cuda


@probe("the generated check of the CUDA kernel", raises=SAME)
def batchnorm(c: Tensor, d: Device) -> None:
    nn.BatchNorm1d(4).to(d)(c)


@probe("the generated check of the CUDA kernel")
def batchnorm_stats(x: Tensor, d: Device) -> None:
    m = nn.BatchNorm1d(4).to(d)
    m(x)
    assert m.running_mean.is_cuda
    assert m.num_batches_tracked.is_cuda


@probe("the generated check of the CUDA kernel", raises=SAME)
def layernorm(c: Tensor, d: Device) -> None:
    nn.LayerNorm(4).to(d)(c)


@probe("the generated check of the CUDA kernel", raises=SAME, confidence="M")
def prelu(c: Tensor, d: Device) -> None:
    nn.PReLU().to(d)(c)


@probe(
    "the generated check of the CUDA kernel",
    raises=SAME + ".*target.*wrapper_CUDA_nll_loss_forward",
)
def cross_entropy_target_cpu(x: Tensor) -> None:
    nn.functional.cross_entropy(x, torch.tensor([0, 1, 2]))


@probe("the generated check of the CUDA kernel", raises=SAME)
def cross_entropy_weight(x: Tensor, i: Tensor) -> None:
    nn.CrossEntropyLoss(weight=torch.ones(4))(x, i)


@probe("weight is a buffer")
def ce_module_to(x: Tensor, i: Tensor, d: Device) -> None:
    loss = nn.CrossEntropyLoss(weight=torch.ones(4)).to(d)
    assert loss.weight.is_cuda
    loss(x, i)


@probe("the generated check of the CUDA kernel", raises=SAME)
def ce_soft_target(x: Tensor) -> None:
    nn.functional.cross_entropy(x, torch.ones(3, 4) / 4)


@probe("the generated check of the CUDA kernel", raises=SAME)
def mse(x: Tensor, c: Tensor) -> None:
    nn.functional.mse_loss(x, c)


@probe("the generated check of the CUDA kernel", raises=SAME)
def bce_logits(x: Tensor, c: Tensor) -> None:
    nn.functional.binary_cross_entropy_with_logits(x, (c > 0).float())


@probe("the generated check of the CUDA kernel", raises=SAME)
def bce_pos_weight(x: Tensor) -> None:
    nn.BCEWithLogitsLoss(pos_weight=torch.ones(4))(x, (x > 0).float())


@probe("the generated check of the CUDA kernel", raises=SAME)
def kl_div(x: Tensor, c: Tensor) -> None:
    nn.functional.kl_div(x, c)


@probe("the generated check of the CUDA kernel", raises=SAME)
def smooth_l1(x: Tensor, c: Tensor) -> None:
    nn.functional.smooth_l1_loss(x, c)


@probe("the generated check of the CUDA kernel")
def one_hot(i: Tensor) -> None:
    assert nn.functional.one_hot(i, 5).is_cuda
    assert nn.functional.one_hot(torch.tensor([0, 1]), 3).is_cpu


@probe("the generated check of the CUDA kernel")
def dropout_etc(x: Tensor) -> None:
    assert nn.functional.dropout(x).is_cuda
    assert nn.functional.gelu(x).is_cuda
    assert nn.functional.softmax(x, 1).is_cuda
    assert nn.functional.pad(x, (1, 1)).is_cuda


@probe("the generated check of the CUDA kernel")
def interpolate(x: Tensor) -> None:
    assert nn.functional.interpolate(x[None, None], scale_factor=2).is_cuda


@probe(
    "the generated check of the CUDA kernel",
    raises="to be on the same device|Expected all tensors to be on the same device",
)
def grid_sample(x: Tensor) -> None:
    nn.functional.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2))
