"""What was moved, and is not known to be a tensor but for what is done with it: it stays where it is through whatever a tensor goes."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)

STEPS = (
    "x.float(); x.half(); x.long(); x.bool(); x.type(torch.float32); x.to(torch.float16); x.view(-1); x.data; x.T; x.real; "
    "x.detach(); x.mean(dim=0); x.sum(1); x.max(1)[0]; x.max(dim=1).values; x.topk(3)[1]; x.sort()[0]; x.log(); x.abs(); x.sqrt(); "
    "-x; ~x; x + 1; 1 - x; x / x.sum(); x ** 2; x // 2; x @ x; x > 0; x != 0; x[0]; x[:, 0]; x.repeat(2, 1); x.chunk(2)[0]; "
    "x.split(2)[0]; x.nonzero(); x.norm(dim=1); x.any(); x.gather(1, i); x.scatter(1, i, 1); x.flip(0); x.roll(1); x.std(0); "
    "x.min(1)[0]; x.prod(); x.zero_(); x.copy_(w); x.fill_(0); x.round(); x.narrow(0, 0, 1); x.tile(2); x.triu(1); x.multinomial(1); "
    "x.isnan(); x.take(i); torch.log(x + 1e-8); torch.where(x > 0, 1.0, 0.0); torch.as_tensor(x); torch.zeros(3).to(x); "
    "(lambda v: v + 1)(x); list(map(lambda v: v * 2, [x, x]))[0]; checkpoint(lambda v: v * 2, x); torch.vmap(lambda v: v * 2)(x); "
    "rearrange(x, 'b c -> (b c)'); einsum(x, x, 'i, i ->'); Categorical(logits=x).sample(); Normal(x, 1.0).rsample()"
).split("; ")

HEADER = """\
import torch
from einops import einsum, rearrange
from torch.distributions import Categorical, Normal
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
device = torch.device("cuda")
"""
USES = {
    "an argument": "def use(x, i, w):\n    x = x.to(device)\n    y = {step}\n    reveal_device(y)\n",
    "an item of a batch": (
        "def use(loader, i, w):\n    for batch in loader:\n        x = batch['x'].to(device)\n"
        "        y = {step}\n        reveal_device(y)\n"
    ),
}


def _revealed(text: str) -> list[str]:
    return [one.message for one in findings(text, "a.py", DEFAULT) if one.code == "TDV000"]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("step", STEPS)
def test_a_step_leaves_it_there(step: str, use: str) -> None:
    told = _revealed(HEADER + use.format(step=step))
    assert len(told) == 1
    assert "`cuda`" in told[0]


@pytest.mark.parametrize(
    "step", ["x.shape", "x.keys()", "x.size(0)", "x.tolist()", "x.name", "len(x)", "x is None"]
)
def test_what_is_no_tensor_any_more(step: str) -> None:
    told = _revealed(HEADER + USES["an argument"].format(step=step))
    assert "a tensor on `cuda`" not in told[0]


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("x * 2 + y", ["TDV005"]),
        ("torch.cat([x.mean(1), y])", ["TDV005"]),
        ("F.mse_loss(x.float() / 255, y)", ["TDV005"]),
        ("(x - x.min()) * y", ["TDV005"]),
        ("x * 2 + y.to(device)", []),
        ("x.shape[0] * y", []),
        ("x.sum().item() * y", []),
    ],
)
def test_where_it_meets_what_stayed(step: str, found: list[str]) -> None:
    text = HEADER + f"def use(x):\n    x, y = x.to(device), torch.rand(3, 3)\n    return {step}\n"
    assert [one.code for one in findings(text, "a.py", DEFAULT)] == found


ROUNDS = """\
def use(items, often):
    total = None
    for item in items:
        item = item.to(device)
        {step}
    reveal_device(total)
"""


@pytest.mark.parametrize(
    "step",
    [
        "total = item if total is None else total + item",
        "total = item if total is None else torch.cat([total, item])",
        "if total is None:\n            total = item\n        else:\n            total = 0.9 * total + 0.1 * item",
    ],
)
def test_what_grows_in_a_loop(step: str) -> None:
    told = _revealed(HEADER + ROUNDS.format(step=step))
    assert len(told) == 1
    assert "a tensor on `cuda`" in told[0]


def test_a_module_is_none() -> None:
    """A model of which nothing else is known is moved as well, and what it is called with may be anywhere for all that shows."""
    text = HEADER + "def use(net, x):\n    net = net.to(device)\n    net.double()\n    return net(x)\n"
    assert [one.code for one in findings(text, "a.py", DEFAULT)] == []
