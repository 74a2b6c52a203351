"""The operator table, row by row: a tiny program raises on the simulated accelerator exactly where the table says, and
the static half says the same of it.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

pytest.importorskip("torch", reason="the runtime half needs torch")

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.harness import simulator
from torchdev_lint.harness.classify import is_device_error
from torchdev_lint.torch_api.operators import operator

MADE = {
    "f": "torch.rand(3)",
    "m": "torch.rand(3, 3)",
    "c": "torch.rand(2, 3, 3)",
    "p": "torch.rand(1, 2, 4, 4)",
    "i": "torch.tensor([0, 2])",
    "j": "torch.tensor([[0, 1, 2]])",
    "b": "torch.tensor([True, False, True])",
    "l": "torch.tensor([3, 2])",
    "t": "torch.tensor([0, 1, 2])",
    "z": "torch.tensor(0.5)",
}
"""What a name stands for, by its first letter."""

CALLS = """
torch.add(f, f1) | torch.add(f, z) | torch.sub(f, f1) | torch.mul(m, f) | torch.div(f, z) | torch.pow(f, z)
torch.maximum(f, f1) | torch.maximum(f, z) | torch.fmod(f, z) | torch.atan2(f, f1) | torch.eq(f, f1) | torch.lt(f, z)
torch.clamp(f, f1) | torch.clamp(f, z) | torch.lerp(f, f1, f2) | torch.lerp(f, f1, z) | torch.addcmul(f, f1, f2)
torch.addcdiv(f, f1, z) | torch.logical_and(f, f1) | torch.isclose(f, f1) | torch.where(b, f, f1) | torch.where(b, f, z)
torch.matmul(m, f) | torch.mm(m, m1) | torch.mv(m, f) | torch.dot(f, f1) | torch.outer(f, f1) | torch.bmm(c, c1)
torch.addmm(f, m, m1) | torch.baddbmm(c, c1, c2) | torch.einsum("ij,j->i", m, f) | torch.tensordot(m, m1) | torch.cdist(m, m1)
torch.cat([f, f1]) | torch.stack([f, f1]) | torch.hstack([f, f1]) | torch.cross(f, f1) | torch.kron(f, f1)
torch.gather(m, 0, j) | torch.scatter(m, 0, j, m1) | torch.scatter_add(m, 0, j, m1) | torch.index_select(m, 0, i)
torch.index_add(m, 0, t, m1) | torch.index_copy(m, 0, t, m1) | torch.take(f, i) | torch.take_along_dim(m, j, 0)
torch.masked_select(f, b) | torch.masked_fill(f, b, z) | torch.bucketize(f, f1) | torch.searchsorted(f, f1)
torch.bincount(t, f) | torch.isin(f, f1) | torch.allclose(f, f1) | torch.equal(f, f1) | torch.dist(f, f1)
torch.sparse_coo_tensor(j, f) | torch.linalg.solve(m, f) | torch.linalg.vecdot(f, f1) | torch.special.xlogy(f, f1)
torch.nn.functional.linear(f, m) | torch.nn.functional.linear(f, m, f1) | torch.nn.functional.embedding(i, m)
torch.nn.functional.mse_loss(f, f1) | torch.nn.functional.cross_entropy(m, t) | torch.nn.functional.cross_entropy(m, t, f)
torch.nn.functional.nll_loss(m, t) | torch.nn.functional.layer_norm(f, (3,), f1, f2) | torch.nn.functional.one_hot(t, 3)
torch.nn.functional.binary_cross_entropy_with_logits(f, f1) | torch.nn.functional.cosine_similarity(m, m1)
torch.nn.functional.scaled_dot_product_attention(c, c1, c2) | torch.nn.functional.interpolate(p, 8)
torch.nn.functional.l1_loss(f, f1) | torch.nn.functional.triplet_margin_loss(m, m1, m2)
torch.nn.utils.rnn.pad_sequence([f, f1]) | torch.nn.utils.rnn.pack_padded_sequence(c, l, batch_first=True)
torch.Tensor.add_(f, f1) | torch.Tensor.add_(f, z) | torch.Tensor.add_(z, z1) | torch.Tensor.mul_(f, z)
torch.Tensor.lerp_(f, f1, z) | torch.Tensor.addcmul_(f, f1, z) | torch.Tensor.copy_(f, f1) | torch.Tensor.expand_as(f, f1)
torch.Tensor.masked_fill_(f, b, z) | torch.Tensor.masked_scatter_(f, b, f1) | torch.Tensor.where(f, b, f1)
torch.Tensor.scatter_(m, 0, j, m1) | torch.Tensor.scatter_add_(m, 0, j, m1) | torch.Tensor.index_add_(m, 0, t, m1)
torch.Tensor.index_copy_(m, 0, t, m1) | torch.Tensor.index_fill_(f, 0, i, 1.0) | torch.Tensor.type_as(f, f1)
torch.Tensor.index_put_(f, (i,), f1[:2]) | torch.Tensor.index_put_(f, (i,), z)
"""

PROGRAMS = [
    (call, on_cpu)
    for call in re.split(r" \| |\n", CALLS.strip())
    for on_cpu in sorted(set(re.findall(r"(?<![\w.\"])[a-z]\d?(?=[,\[\])])", call)))
]


def program(call: str, on_cpu: str) -> str:
    """The call with one of its tensors left on the CPU; methods are called as such."""
    names = sorted(set(re.findall(r"(?<![\w.\"])[a-z]\d?(?=[,\[\])])", call)))
    lines = ["import torch", 'device = torch.device("cuda")']
    lines += [f"{name} = {MADE[name[0]]}" + ("" if name == on_cpu else ".to(device)") for name in names]
    method = re.match(r"torch\.Tensor\.(\w+)\((\w+), (.*)\)$", call)
    lines.append(f"{method[2]}.{method[1]}({method[3]})" if method else call)
    return "\n".join(lines) + "\n"


def raises(text: str) -> bool:
    """Whether the program ends with a device error; any other error is a mistake in this file."""
    names: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sparse tensors are in beta
            exec(compile(text, "program.py", "exec"), names)
    except Exception as error:
        if not is_device_error(error):
            raise
        return True
    return False


def expected(call: str, on_cpu: str) -> bool:
    """What the table says of the call with this tensor on the CPU and the others on the accelerator."""
    path, arguments = re.fullmatch(r"([\w.]+)\((.*)\)", call).groups()
    row = operator(path)
    assert row is not None, f"{path} is not in the table"
    given: dict[str, list[str]] = {}
    for position, argument in enumerate(re.findall(r"\[[a-z][^\]]*\]|\([^)]*\)|[^,\s][^,]*", arguments)):
        keyword, _, value = argument.rpartition("=")
        parameter = row.named(keyword) if keyword else row.parameter(position)
        assert parameter is not None
        for name in re.findall(r"(?<![\w.\"])[a-z]\d?(?![\w\"])", value):
            given.setdefault(name, []).append(parameter.role)
    (role,) = given[on_cpu]
    others = [
        name
        for name in given
        if name != on_cpu and set(given[name]) & set("tsz") and (given[name], name[0]) != (["z"], "z")
    ]  # a 0-dim value may be anywhere
    if any(given[name] == ["h"] for name in given if name != on_cpu):
        return True  # what must be on the CPU is on the accelerator
    if not others:
        # whatever indexes it is on the accelerator
        return role in "tsz" and any(given[name] == ["i"] for name in given)
    if role in ("s", "z") and on_cpu[0] == "z":
        return False
    return role in "tsz"


@pytest.fixture(scope="module", autouse=True)
def accelerator():
    with simulator.simulate_accelerator():
        yield


@pytest.mark.parametrize(("call", "on_cpu"), PROGRAMS, ids=[f"{call} {name}" for call, name in PROGRAMS])
def test_raises_where_the_table_says(call: str, on_cpu: str) -> None:
    assert raises(program(call, on_cpu)) == expected(call, on_cpu)


@pytest.mark.parametrize(("call", "on_cpu"), PROGRAMS, ids=[f"{call} {name}" for call, name in PROGRAMS])
def test_the_static_half_agrees(call: str, on_cpu: str) -> None:
    text = program(call, on_cpu)
    config = Config(select=("TDV001", "TDV004", "TDV005", "TDV013"))
    assert bool(check_source(text, "program.py", config)) == raises(text)


def test_everything_on_the_accelerator_works() -> None:
    for call in {call for call, _ in PROGRAMS if "pack_padded" not in call}:
        assert not raises(program(call, "")), call
