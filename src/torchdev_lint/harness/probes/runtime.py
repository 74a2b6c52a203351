from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe("the documentation")
def autocast_scaler(x: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2).to(d)
    o = torch.optim.SGD(m.parameters(), 0.1)
    s = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.mse_loss(m(x), torch.zeros(3, 2, device=d))
    s.scale(loss).backward()
    s.unscale_(o)
    s.step(o)
    s.update()
    assert s.get_scale() > 0


@probe("the documentation")
def autocast_dtype(x: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2).to(d)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert m(x).dtype == torch.bfloat16


@probe("the documentation")
def cuda_amp_legacy(x: Tensor) -> None:
    import warnings

    warnings.simplefilter("ignore")
    torch.cuda.amp.GradScaler()
    with torch.cuda.amp.autocast():
        x @ x.t()


@probe("the documentation", raises=SAME)
def autocast_mixed(c: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2).to(d)
    with torch.autocast("cuda"):
        m(c)


@probe("the documentation")
def streams_events(x: Tensor) -> None:
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        x * 2
    s.synchronize()
    e = torch.cuda.Event(enable_timing=True)
    e.record()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.memory_allocated()
    torch.cuda.current_stream().wait_stream(s)
    torch.cuda.get_device_name(0)
    assert torch.cuda.get_device_properties(0).total_memory > 0
    torch.cuda.max_memory_allocated()


@probe("the documentation", since=(2, 6))
def accelerator() -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator().type == "cuda"


@probe("the documentation")
def no_grad_inference(x: Tensor, c: Tensor, d: Device) -> None:
    with torch.no_grad():
        assert (x * 2).is_cuda
    with torch.inference_mode():
        assert (x * 2).is_cuda
        assert c.to(d).is_cuda


@probe("the documentation", raises=SAME)
def no_grad_mixed(x: Tensor, c: Tensor) -> None:
    with torch.no_grad():
        x + c


@probe("modes are per thread")
def thread(x: Tensor, c: Tensor) -> None:
    import threading

    r = []

    def f() -> None:
        try:
            x + c
        except RuntimeError as e:
            r.append(e)

    t = threading.Thread(target=f)
    t.start()
    t.join()
    assert r


@probe("scatter moves inputs")
def dataparallel(c: Tensor, d: Device) -> None:
    m = nn.DataParallel(nn.Linear(4, 2)).to(d)
    assert m(c).is_cuda


@probe("the documentation", raises="module must have its parameters and buffers on device cuda:0")
def dataparallel_cpu_module(x: Tensor) -> None:
    nn.DataParallel(nn.Linear(4, 2))(x)


@probe("the documentation", raises=SAME + "|device")
def distributions(c: Tensor, d: Device) -> None:
    dd = torch.distributions.Normal(torch.zeros(4, device=d), torch.ones(4, device=d))
    s = dd.rsample()
    assert s.is_cuda
    dd.log_prob(c[0])


@probe("the documentation")
def categorical(x: Tensor) -> None:
    dd = torch.distributions.Categorical(logits=x)
    a = dd.sample()
    assert a.is_cuda
    dd.log_prob(a)
    dd.entropy()


@probe("the documentation", raises=SAME + "|device", confidence="M")
def sparse(d: Device) -> None:
    s = torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(2), (4,)).to(d)
    assert s.is_cuda
    s * torch.ones(4).to_sparse()


@probe("the documentation")
def vmap_grad(x: Tensor) -> None:
    from torch.func import grad, vmap

    assert vmap(lambda r: r.sum())(x).is_cuda
    assert grad(lambda t: (t**2).sum())(x).is_cuda


@probe("the documentation")
def checkpoint(x: Tensor, d: Device) -> None:
    from torch.utils.checkpoint import checkpoint

    m = nn.Linear(4, 2).to(d)
    y = x.clone().requires_grad_()
    checkpoint(m, y, use_reentrant=False).sum().backward()
    assert y.grad.is_cuda


@probe("error inside backward", raises=SAME)
def custom_function(x: Tensor) -> None:
    class E(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            assert a.is_cuda
            assert g.is_cuda
            return g * torch.ones(4)

    y = x.clone().requires_grad_()
    E.apply(y).sum().backward()


@probe("C++ formulas make tensors from options()")
def bwd_formulas_with_factories(x: Tensor, i: Tensor) -> None:
    y = (x.abs() + 1).requires_grad_()
    (
        y.prod()
        + y.cumprod(0).sum()
        + y.std()
        + y.norm()
        + y[:, 0].sum()
        + y.gather(1, i[:, None]).sum()
        + y.max()
        + y.median()
        + y.logsumexp(1).sum()
        + torch.where(y > 1, y, 0.0).sum()
        + y.unfold(0, 2, 1).sum()
        + y.cummax(0)[0].sum()
    ).backward()
    assert y.grad.is_cuda


@probe("the documentation")
def linalg(x: Tensor, d: Device) -> None:
    a = x @ x.t() + torch.eye(3, device=d)
    torch.linalg.cholesky(a)
    torch.linalg.solve(a, x)
    torch.linalg.svd(a)
    assert torch.linalg.inv(a).is_cuda
    assert torch.linalg.norm(a).is_cuda


@probe("the documentation", raises=SAME + "|to be on the same device")
def linalg_mixed(c: Tensor, d: Device) -> None:
    torch.linalg.solve(torch.eye(3, device=d), c)


@probe(
    "string in libtorch",
    raises="stft input and window must be on the same device|Expected all tensors to be on the same device",
)
def fft_stft(x: Tensor, d: Device) -> None:
    assert torch.fft.fft(x).is_cuda
    torch.stft(torch.randn(400, device=d), 64, window=torch.hann_window(64), return_complex=True)


@probe("the documentation")
def meshgrid_tri_cart(x: Tensor, i: Tensor) -> None:
    assert torch.triu(x).is_cuda
    assert torch.meshgrid(i, i, indexing="ij")[0].is_cuda
    assert torch.cartesian_prod(i, i).is_cuda
    assert torch.block_diag(x, x).is_cuda


@probe("the documentation")
def shared_data(d: Device) -> None:
    w = nn.Parameter(torch.ones(4))
    w.data = w.data.to(d)
    assert w.is_cuda


@probe("the documentation")
def requires_grad_factory(d: Device) -> None:
    w = torch.zeros(4, device=d, requires_grad=True)
    assert w.is_leaf
    assert w.requires_grad


@probe("the documentation")
def w_zeros_requires_grad_to_d(d: Device) -> None:
    w = torch.zeros(4, requires_grad=True).to(d)
    assert not w.is_leaf


@probe("the documentation")
def setstate_pickle(x: Tensor) -> None:
    import pickle

    y = pickle.loads(pickle.dumps(x))
    assert y.is_cuda


@probe("operators reach a dispatch mode whole in inference mode", raises=SAME + ".*wrapper_CUDA_addmm")
def inference_mode_linear(c: Tensor, d: Device) -> None:
    layer = nn.Linear(4, 2).to(d)
    with torch.inference_mode():
        layer(c)


@probe("the same in inference mode", raises=r"Input type \(torch.FloatTensor\) and weight type \(torch.cuda")
def inference_mode_convolution(d: Device) -> None:
    layer = nn.Conv2d(1, 2, 1).to(d)
    with torch.inference_mode():
        layer(torch.ones(1, 1, 2, 2))


@probe("the same in inference mode", raises=SAME + ".*wrapper_CUDA_nll_loss_forward")
def inference_mode_loss(x: Tensor) -> None:
    with torch.inference_mode():
        nn.functional.cross_entropy(x, torch.tensor([0, 1, 2]))


@probe("nn.Module.to asks torch._has_compatible_shallow_copy_type")
def inference_mode_modules(d: Device) -> None:
    with torch.inference_mode():
        model = nn.Sequential(nn.Linear(4, 4), nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)).to(d)
        assert model(torch.ones(1, 3, 4, device=d)).is_cuda
        assert nn.functional.one_hot(torch.tensor([0, 1], device=d), 3).is_cuda
        q = torch.ones(1, 2, 3, 4, device=d)
        assert nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).is_cuda
        assert torch.einsum("bhij,bhkj->bhik", q, q).is_cuda


@probe("0-dim CPU tensors are admitted in inference mode too")
def inference_mode_scalars(x: Tensor) -> None:
    with torch.inference_mode():
        assert (x * torch.tensor(2.0)).is_cuda
        assert torch.where(x > 0, x, torch.tensor(0.0)).is_cuda
        assert x[torch.tensor([0, 1])].is_cuda


@probe("torch.library: a Python body is ordinary code", raises=SAME)
def custom_op_with_a_mistake(x: Tensor) -> None:
    _custom_op("mistaken", lambda tensor: tensor + torch.ones(4))(x)


@probe("torch.library")
def custom_op(x: Tensor, c: Tensor) -> None:
    fine = _custom_op("fine", lambda tensor: tensor * 2 + torch.ones(4, device=tensor.device))
    assert fine(x).is_cuda
    assert fine(c).is_cpu


def _custom_op(name: str, function: Any) -> Any:
    def body(tensor: Tensor) -> Tensor:
        return function(tensor)

    body.__annotations__ = {"tensor": Tensor, "return": Tensor}
    return torch.library.custom_op(f"torchdev_lint_probes::{name}", body, mutates_args=())
