from __future__ import annotations

import torch
from torch import Tensor

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe("the generated check of the CUDA kernel", raises=SAME)
def cat(x: Tensor, c: Tensor) -> None:
    torch.cat([x, c])


@probe("the generated check of the CUDA kernel", raises=SAME)
def cat_rev(x: Tensor, c: Tensor) -> None:
    torch.cat([c, x])


@probe("the generated check of the CUDA kernel", raises=SAME)
def stack(x: Tensor, c: Tensor) -> None:
    torch.stack([x, c])


@probe("cat is ExactSame: no CPU-scalar exemption", raises=SAME, confidence="M")
def stack_0_dim(x: Tensor) -> None:
    torch.stack([x.sum(), torch.tensor(1.0)])


@probe("indices on cpu allowed")
def index_cpu_idx(x: Tensor) -> None:
    assert x[torch.tensor([0, 1])].is_cuda


@probe("expandTensors moves the nonzero")
def index_cpu_mask(x: Tensor, c: Tensor) -> None:
    assert x[c > 0].is_cuda


@probe(
    "the generated check of the CUDA kernel",
    raises="indices should be either on cpu or on the same device as the indexed tensor \\(cpu\\)",
)
def index_cuda_idx_on_cpu(c: Tensor, i: Tensor) -> None:
    c[i]


@probe(
    "the generated check of the CUDA kernel",
    raises="indices should be either on cpu or on the same device as the indexed tensor \\(cpu\\)",
)
def index_cuda_mask_on_cpu(x: Tensor, c: Tensor) -> None:
    c[x > 0]


@probe("0-dim integral index is item()ed in applySlicing", confidence="M")
def index_0_dim_cuda_int_on_cpu(c: Tensor, d: Device) -> None:
    assert c[torch.tensor(1, device=d)].is_cpu


@probe(
    "the generated check of the CUDA kernel",
    raises="indices should be either on cpu or on the same device as the indexed tensor \\(cuda:0\\)",
)
def index_cuda_1_idx(x: Tensor, i: Tensor) -> None:
    x[i.to("cuda:1")]


@probe("copy_to = copy_")
def setitem_slice_cross(x: Tensor) -> None:
    x2 = x.clone()
    x2[0] = torch.ones(4)
    assert x2[0].sum() == 4


@probe("the generated check of the CUDA kernel")
def setitem_cpu_cuda(x: Tensor, c: Tensor) -> None:
    c2 = c.clone()
    c2[0] = x[0]
    assert c2.is_cpu


@probe("CopyBackward moves the grad")
def setitem_grad(d: Device) -> None:
    w = torch.ones(4, requires_grad=True)
    x2 = torch.zeros(3, 4, device=d)
    x2[0] = w
    x2.sum().backward()
    assert w.grad.is_cpu


@probe("index_put_ TensorIterator", raises=SAME)
def setitem_adv_value_cpu(x: Tensor, i: Tensor) -> None:
    x2 = x.clone()
    x2[i] = torch.ones(3, 4)


@probe("the generated check of the CUDA kernel")
def setitem_adv_scalar(x: Tensor, i: Tensor) -> None:
    x2 = x.clone()
    x2[i] = torch.tensor(1.0)
    x2[x2 > 0] = 0.0
    x2[i] = 3


@probe("make_info moves the indices; canDispatchToMaskedFill asks for a mask beside x")
def setitem_cuda_mask_on_cpu(x: Tensor, c: Tensor) -> None:
    c2 = c.clone()
    c2[x > 0] = 0.0


@probe(
    "the generated check of the CUDA kernel",
    raises="expected device|Expected all tensors to be on the same device",
)
def index_put_accumulate(i: Tensor, d: Device) -> None:
    torch.zeros(4, device=d).index_put_((i,), torch.ones(3), accumulate=True)


@probe("the generated check of the CUDA kernel", raises=SAME + ".*wrapper_CUDA__index_select")
def index_select(x: Tensor) -> None:
    x.index_select(0, torch.tensor([0]))


@probe("the generated check of the CUDA kernel", raises=SAME + ".*wrapper_CUDA_gather")
def gather(x: Tensor) -> None:
    x.gather(1, torch.zeros(3, 1, dtype=torch.long))


@probe("the generated check of the CUDA kernel", raises=SAME)
def scatter(d: Device) -> None:
    torch.zeros(3, 4, device=d).scatter_(1, torch.zeros(3, 1, dtype=torch.long), 1.0)


@probe("the generated check of the CUDA kernel", raises=SAME)
def scatter_add(d: Device) -> None:
    torch.zeros(3, 4, device=d).scatter_add_(
        0, torch.zeros(1, 4, dtype=torch.long, device=d), torch.ones(1, 4)
    )


@probe("the generated check of the CUDA kernel", raises=SAME, confidence="M")
def take_along_dim(x: Tensor) -> None:
    torch.take_along_dim(x, torch.zeros(3, 1, dtype=torch.long), 1)


@probe("the generated check of the CUDA kernel", raises=SAME + "|expected self and mask")
def masked_select(x: Tensor, c: Tensor) -> None:
    x.masked_select(c > 0)


@probe("the generated check of the CUDA kernel", raises=SAME)
def index_add(x: Tensor, d: Device) -> None:
    x.clone().index_add_(0, torch.tensor([0]), torch.ones(1, 4, device=d))


@probe("the generated check of the CUDA kernel", raises=SAME, confidence="M")
def index_fill(x: Tensor) -> None:
    x.clone().index_fill_(0, torch.tensor([0]), 0.0)


@probe(
    "the generated check of the CUDA kernel",
    raises="same device|Expected all tensors to be on the same device",
)
def searchsorted(d: Device) -> None:
    torch.searchsorted(torch.arange(3.0, device=d), torch.ones(1))


@probe("the generated check of the CUDA kernel", raises=SAME + "|different devices")
def equal(x: Tensor, c: Tensor) -> None:
    torch.equal(x, c)


@probe("the generated check of the CUDA kernel", raises=SAME)
def allclose(x: Tensor, c: Tensor) -> None:
    torch.allclose(x, c)


@probe("index_select inside", raises=SAME, confidence="M")
def repeat_interleave(x: Tensor) -> None:
    torch.repeat_interleave(x, torch.tensor([1, 2, 1]), dim=0)


@probe("the generated check of the CUDA kernel")
def unique_nonzero_topk_sort(x: Tensor, i: Tensor) -> None:
    assert x.unique().is_cuda
    assert x.nonzero().is_cuda
    assert x.topk(2).indices.is_cuda
    assert x.sort().values.is_cuda
    assert torch.bincount(i).is_cuda


@probe("the generated check of the CUDA kernel", raises=SAME, confidence="M")
def bincount_weights(i: Tensor) -> None:
    torch.bincount(i, weights=torch.ones(3))


@probe("the generated check of the CUDA kernel", raises=SAME + "|device")
def cdist(x: Tensor, c: Tensor) -> None:
    torch.cdist(x, c)


@probe("copy_ crosses devices")
def copy__both_ways(x: Tensor, c: Tensor) -> None:
    x.clone().copy_(c)
    c.clone().copy_(x)


@probe("the generated check of the CUDA kernel", raises=SAME)
def out_wrong_device(x: Tensor) -> None:
    torch.add(x, x, out=torch.empty(3, 4))


@probe("fill_ item()s", confidence="M")
def fill__0_dim(x: Tensor) -> None:
    x.clone().fill_(torch.tensor(1.0))


@probe("iterating a CPU tensor gives 0-dim CPU tensors")
def mul_out_of_place_list(x: Tensor) -> None:
    [x * w for w in torch.tensor([1.0, 2.0])]


@probe("string in libtorch", raises="to be on cpu, but it's on")
def tensor_split(x: Tensor, d: Device) -> None:
    torch.tensor_split(x, torch.tensor([1], device=d))
