"""How many dimensions results have at least, as the static half infers them, beside those that they have."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from torchdev_lint.flow.activation.analysis import Options
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.values import Items, Many, Tensor, Value
from torchdev_lint.flow.execution.interpreter import read_module
from torchdev_lint.flow.torch_calls.dimensions import least
from torchdev_lint.torch_api import dimensions as facts

torch = pytest.importorskip("torch", reason="the runtime half needs torch")

HEAD = """
import torch
import torch.nn.functional as F

s = torch.tensor(2.0)
v = torch.rand(4)
m = torch.rand(3, 4)
z = torch.rand(2, 3, 4)
i = torch.tensor([0, 2, 1])
k = torch.tensor([[True, False, True, False]] * 3)
"""

EXACT = """
v.unsqueeze(0)  m.unsqueeze(-1)  torch.unsqueeze(v, 1)  s.unsqueeze(0)  v[None]  m[:, None]  m[0]  z[0]  z[0, 1]  z[:, 0]
m[:, :2]  z[..., 0]  z[1:]  z[0][0]  torch.stack([v, v])  torch.stack([m, m], 1)  torch.stack([s, s])  torch.stack([v, v])[0]
torch.stack([v, v]).mean(0)  torch.cat([v, v])  torch.cat([m, m], dim=1)  torch.hstack([v, v])  torch.vstack([v, v])
torch.dstack([v, v])  v.view(2, 2)  m.view(-1)  m.reshape(2, 6)  m.reshape((2, 2, 3))  torch.reshape(m, (12,))  z.flatten(1)
z.flatten()  torch.flatten(z, 1)  m.mean(0)  m.mean(dim=1)  z.sum((0, 1))  z.sum(dim=-1)  m.mean(0, keepdim=True)
m.mean(dim=1, keepdim=True)  m.std(1)  z.norm(dim=-1)  m.max(1)[0]  m.max(dim=1).values  m.argmax(1)
m.argmax(dim=-1, keepdim=True)  z.any(0)  z.logsumexp(1)  m.cumsum(0)  v + m  s * m  m - s  m ** 2  torch.add(v, m)
torch.mul(s, v)  torch.maximum(m, v)  torch.where(m > 0, v, s)  torch.where(v > 0, v, 0.0)  m > 0  v == v  torch.eq(m, m)  ~k  -m
m.neg()  m.lt(0.5)  m.clamp(0, 1)  m.abs().sqrt().exp()  F.relu(m)  torch.sigmoid(z)  F.gelu(v)  m.softmax(-1)
F.softmax(m, dim=1)  F.log_softmax(z, -1)  F.normalize(m, dim=1)  F.dropout(m)  F.layer_norm(m, (4,))  m.t()  m.T
z.transpose(1, 2)  z.permute(0, 2, 1)  torch.transpose(m, 0, 1)  z.mT  m.tril()  torch.triu(m)  m.flip(0)  torch.roll(v, 1)
v.repeat(3, 1)  v.repeat(2)  v.expand(3, 4)  v[None].expand(3, -1)  v.expand_as(m)  v.view_as(v)  m.view_as(m)  v.tile(2, 1)
m @ m.T  m @ v  v @ m.T  z @ z.transpose(1, 2)  torch.mm(m, m.T)  torch.matmul(m, v)  torch.bmm(z, z.transpose(1, 2))
torch.outer(v, v)  z[:1].squeeze(0)  z.unbind(0)[0]  torch.unbind(m)[0]  z.chunk(2)[0]  m.split(1)[0]
torch.chunk(m, 2, dim=-1)[1]  m.gather(1, i[:, None])  m.index_select(0, i)  torch.gather(m, 0, i[None])  v.sort()[0]
m.topk(2)[1]  v.argsort()  torch.sort(m, dim=1).indices  m[k]  m.masked_select(k)  m.masked_fill(k, 0.0)  m.nonzero()  m[i][:, 0]
m[[0, 1]]  F.one_hot(i)  F.one_hot(i, 5)  F.embedding(i, m)  F.linear(v, m)  F.linear(m, m)  torch.cdist(m, m)
F.pad(m, (1, 1))  m.float()  m.double().long()  m.to(torch.float64)  m.clone().detach()  m.data  m.contiguous()  m.type_as(v)
m.cpu()  m.half()  torch.zeros_like(m)  torch.rand_like(z)  m.new_zeros(3, 4)  m.new_ones((2, 3, 4))  m.new_full((2,), 1.0)
torch.full_like(m, 2.0)  torch.zeros(2, 3)[0]  torch.rand((2, 3)).sum(1)  torch.eye(3)[0]  torch.arange(6).view(2, 3)
torch.arange(3)[None, :]  torch.linspace(0, 1, 4)  torch.cumprod(v, 0)  torch.lerp(m, m, 0.5)  torch.clamp(v, min=0)
torch.min(v, v)  torch.max(m, v)  m.sub(v)  m.div_(2)  v.mul_(2.0)  torch.fft.fft(m)  F.interpolate(z, 8)  z.narrow(1, 0, 2)
m.scatter(1, i[:, None], 1.0)  torch.square(m).sum(-1).sqrt()
"""
"""Of these all dimensions are known."""

LOOSE = """
v.sum()  m.mean()  v[0]  m[0, 0]  v.max()  s  s * s  s + 1  v.argmax()  v.norm()
m.max()  v.unbind(0)[0]  v.mean(0)  v.sum(dim=0)  m.sum((0, 1))  torch.dot(v, v)  torch.stack([s, s])[0]
torch.stack([s, s]).mean(0)  v.max(0)[0]  v.topk(2)[0][0]  F.mse_loss(m, m)  F.cross_entropy(m, i)  torch.where(s > 0, s, s)
torch.add(s, s)  s.clamp(0)  s.exp()  s.view(())  torch.trace(m[:, :3])  torch.det(torch.eye(3))  z.sum((0, 1, 2))  v.std(0)
v.min(dim=0).values  m.view(-1)[0]  s.to(torch.float64)  torch.maximum(s, s)  torch.prod(v)
m[0].sum()  torch.einsum("i,i->", v, v)  s.clone().detach()  F.relu(s)  v.var()  m.min()  m.amax()  v.amax(0)
torch.linalg.norm(v)  v.count_nonzero()  (v > 0).sum()  k.any()  torch.median(v)  v.median(0)[0]  v.all()
m.index_select(0, i)[0][0]  m.select(0, 1)[0]  z.unbind()[0][0][0]  m[k][0]  m.flatten()[0]  v.repeat(2)[0]  v.sort()[0][0]
v.cumsum(0)[-1]
"""
"""These are numbers, or may be."""


OPTIONS = Options(frozenset())


class _Ends:
    def __init__(self) -> None:
        self.names: dict[str, Value] = {}

    def executed(self, frame: Frame, node: cst.CSTNode) -> None:
        pass

    def ended(self, frame: Frame, value: Value | None, env: Environment | None) -> None:
        self.names = dict(frame.env.names)

    def evaluated(self, frame: Frame, node: cst.CSTNode, value: Value) -> None:
        pass

    def assigned(self, frame: Frame, target: cst.CSTNode, value: Value) -> None:
        pass


def _spelled(text: str) -> list[str]:
    return [one for line in text.strip().splitlines() for one in line.split("  ") if one]


def _inferred(expression: str) -> Value:
    ends = _Ends()
    read_module(cst.parse_module(f"{HEAD}\nr = {expression}\n"), OPTIONS, ends)
    return ends.names["r"]


def _run(expression: str) -> Any:
    names: dict[str, Any] = {}
    exec(f"{HEAD}\nr = {expression}\n", names)
    return names["r"]


@pytest.mark.parametrize("expression", _spelled(EXACT))
def test_all_dimensions_are_known(expression: str) -> None:
    assert least(_inferred(expression)) == _run(expression).dim()


@pytest.mark.parametrize("expression", _spelled(LOOSE))
def test_what_may_be_a_number_is_taken_for_one(expression: str) -> None:
    assert _run(expression).dim() == 0
    assert least(_inferred(expression)) == 0


FEWER = """
m.squeeze(0)  m[:, i]  torch.vmap(torch.sum)(m)  v.squeeze()  m.squeeze()  v.squeeze(0)  torch.where(z)[0]
F.pad(z, (1, 1))  i.bincount()  F.batch_norm(m, torch.zeros(4), torch.ones(4))  F.conv1d(z, torch.rand(1, 3, 2))
F.conv2d(z, torch.rand(1, 2, 1, 1))  torch.fft.rfft(v)  torch.fft.fft2(m)  torch.fft.fftshift(m)  torch.fft.irfft2(m)  m.flip(0, 1)
m.index_add(0, i, m)  m.index_fill(0, i, 0.0)  m.index_copy(0, i, m)  F.layer_norm(z, (3, 4))  F.rms_norm(m, (4,))  z.narrow(0, 0, 1)
m.renorm(2, 0, 1.0)  F.scaled_dot_product_attention(z, z, z)  m.scatter_add(0, i[:, None], m)  F.softmin(m, 1)  m.movedim(0, 1)
torch.addcmul(v, m, m)  torch.addcdiv(s, v, m)  k & k  torch.bitwise_or(k, k)  torch.baddbmm(z[:, :2, :2], z[:, :2], z[:, :2].mT)
F.embedding(i, m)[0]  F.one_hot(i)[0]  F.max_pool1d(z, 2)  F.avg_pool1d(z, 2)  F.adaptive_avg_pool2d(z, 1)  m.split_with_sizes([1, 2])[0]
torch.clamp_min(v, 0.1)  F.gumbel_softmax(m)  torch.tensor([v.tolist(), v.tolist()])  torch.tensor([[1, 2], [3, 4]]).float()  m.var(0)
m.requires_grad_()  torch.linalg.norm(m, dim=1)  m.quantile(0.5, dim=1)  m.amax((0, 1))  m.nanmean(0)  torch.logsumexp(z, 1)  z.prod(2)
"""
"""Of these at most so many are known."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", _spelled(FEWER))
def test_no_more_are_known_than_there_are(expression: str) -> None:
    try:
        result = _run(expression)
    except RuntimeError as error:
        pytest.fail(str(error))
    assert least(_inferred(expression)) <= result.dim()


FUNCTIONS = sorted(
    facts.KEEPS | facts.BROADCASTS | facts.ADDS_ONE | set(facts.AT_LEAST) | facts.PAIRS_OF_SAME
)
ARGUMENTS = [
    "{x}",
    "{x}, 0",
    "{x}, 1",
    "{x}, {x}",
    "[{x}, {x}]",
    "{x}, {x}, 0.5",
    "{x}, {x}.T",
    "{x}, 0, 1",
    "{x}, 1, 2",
    "{x} > 0.5",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_gives_fewer(name: str) -> None:
    """Whatever a function takes of these: there are never fewer dimensions than was inferred."""
    for place in ("torch", "F"):
        for arguments in ARGUMENTS:
            for given in ("s", "v", "m", "z"):
                expression = f"{place}.{name}({arguments.format(x=given)})"
                try:
                    results = _run(expression)
                except (RuntimeError, TypeError, ValueError, AttributeError, IndexError, NotImplementedError):
                    continue
                results = results if isinstance(results, (list, tuple)) else [results]
                if (name == "linear" and given == "v") or not all(
                    isinstance(result, torch.Tensor) for result in results
                ):
                    continue
                value = _inferred(expression)
                found = (
                    value.items
                    if isinstance(value, Items)
                    else (value.element,)
                    if isinstance(value, Many)
                    else (value,)
                )
                pair = isinstance(value, Tensor) and len(results) > 1
                assert max(map(least, found)) - pair <= min(result.dim() for result in results), expression


LAYERS = """
nn.Linear(4, 1).bias[0]  nn.Linear(4, 1).weight[0, 0]  nn.LayerNorm(4).weight[1]  nn.PReLU().weight.mean()
nn.ReLU()(s)  nn.Sigmoid()(v.mean())  nn.Tanh()(v[0])  nn.Identity()(s)
"""


@pytest.mark.parametrize("expression", _spelled(LAYERS))
def test_layers_without_parameters_give_numbers_for_numbers(expression: str) -> None:
    assert least(_inferred(f"torch.{expression}")) == 0


@pytest.mark.parametrize(
    "expression",
    [
        "nn.ReLU()(m)",
        "nn.Sequential(torch.nn.Tanh(), torch.nn.Dropout())(z)",
        "nn.Softmax(-1)(v)",
        "nn.Linear(4, 3).weight",
        "nn.Embedding(4, 3).weight.data[0]",
        "nn.LayerNorm(4).bias",
    ],
)
def test_layers_without_parameters_keep_dimensions(expression: str) -> None:
    assert least(_inferred(f"torch.{expression}")) == _run(f"torch.{expression}").dim()
