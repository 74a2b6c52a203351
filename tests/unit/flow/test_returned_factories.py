"""What a function makes on the CPU for a tensor that it is given, and returns."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

TOLD = Config(off_by_default=OFF_BY_DEFAULT - {"TDV105"})
HEAD = "import torch\nfrom torch import nn\nfrom lib import helper\n\ndevice = helper()\n"

PAIRS: dict[str, tuple[str, str]] = {
    "of its size": (
        """
        def causal(n):
            return torch.triu(torch.ones(n, n)) == 1
        """,
        """
        def causal(x: torch.Tensor):
            n = x.shape[1]
            return torch.triu(torch.ones(n, n)) == 1
        """,
    ),
    "filled with what is computed from it": (
        """
        def pairs(loss, x: torch.Tensor):
            out = torch.zeros(3, device=x.device)
            for i, row in enumerate(x.unbind()):
                out[i] = row.exp()
            return out

        def total(loss, x):
            return loss(pairs(loss, x))
        """,
        """
        def pairs(loss, x: torch.Tensor):
            out = torch.zeros(3)
            for i, row in enumerate(x.unbind()):
                out[i] = row.exp()
            return out

        def total(loss, x):
            return loss(pairs(loss, x))
        """,
    ),
    "filled with what is computed from it, and kept": (
        """
        def means(x: torch.Tensor):
            out = torch.zeros(x.shape[0], x.shape[2])
            for i in range(x.shape[0]):
                out[i] = x[i].mean(dim=0)
            return out

        def pooled(x):
            found = {}
            result = means(x)
            found["pooled"] = result
            return found
        """,
        """
        def means(x: torch.Tensor):
            out = torch.zeros(x.shape[0], x.shape[2])
            for i in range(x.shape[0]):
                out[i] = x[i].mean(dim=0)
            return out

        def pooled(x):
            result = means(x)
            return result - x
        """,
    ),
    "the caller moves it": (
        """
        def ones(x: torch.Tensor):
            return x, torch.ones(x.size(0))

        def scaled(y):
            x, w = ones(y)
            w = w.to(y.device)
            return x * w
        """,
        """
        def ones(x: torch.Tensor):
            return x, torch.ones(x.size(0))

        def scaled(y):
            x, w = ones(y)
            return x * w
        """,
    ),
    "the size may be anything's": (
        """
        class Head(nn.Module):
            def weights(self, x: torch.Tensor, table):
                return torch.zeros(len(table), 3)
        """,
        """
        class Head(nn.Module):
            def weights(self, x: torch.Tensor, table):
                return torch.zeros(len(x), 3)
        """,
    ),
    "an order may stay on the CPU": (
        """
        def order(x: torch.Tensor):
            return torch.randperm(x.size(0))
        """,
        """
        def noise(x: torch.Tensor):
            return torch.rand(x.size(0))
        """,
    ),
    "the function reads on the CPU": (
        """
        def table(x: torch.Tensor):
            rows = x.cpu()
            return torch.zeros(rows.size(0), x.size(1))
        """,
        """
        def table(x: torch.Tensor):
            rows = x.clone()
            return torch.zeros(rows.size(0), x.size(1))
        """,
    ),
    "another way returns what is there": (
        """
        def masked(x: torch.Tensor, mask: torch.Tensor):
            if not mask.any():
                return torch.zeros((), device=x.device)
            return (x * mask).mean()
        """,
        """
        def masked(x: torch.Tensor, mask: torch.Tensor):
            if not mask.any():
                return torch.tensor(0.0)
            return (x * mask).mean()
        """,
    ),
    "one of several results": (
        """
        def fitted(x: torch.Tensor, known):
            if known is helper:
                return x.new_ones(3), None
            return x * 2, known
        """,
        """
        def fitted(x: torch.Tensor, known):
            if known is helper:
                return torch.ones(3), None
            return x * 2, known
        """,
    ),
    "in the place of what was computed": (
        """
        def clipped(x: torch.Tensor):
            loss = x.mean()
            if loss.item() > 1:
                loss = torch.ones_like(loss)
            return loss
        """,
        """
        def clipped(x: torch.Tensor):
            loss = x.mean()
            if loss.item() > 1:
                loss = torch.tensor([1.0])
            return loss
        """,
    ),
    "one way brings everything over": (
        """
        def clipped(x: torch.Tensor, kept):
            if not kept:
                return torch.zeros(3)
            return x.mean().cpu()
        """,
        """
        def clipped(x: torch.Tensor, kept):
            if not kept:
                return torch.zeros(3)
            return x.mean()
        """,
    ),
    "nothing is computed with indices": (
        """
        def order(x: torch.Tensor, random):
            return torch.randperm(5) if random else x.argsort()
        """,
        """
        def order(x: torch.Tensor, random):
            return torch.full((5,), 3) if random else x.argsort()
        """,
    ),
    "what stands in for an argument that was left out": (
        """
        def flattened(mask: torch.Tensor | None) -> torch.Tensor:
            if mask is None:
                return torch.tensor([True])
            return mask.view(-1)
        """,
        """
        def flattened(mask: torch.Tensor, whole: bool) -> torch.Tensor:
            if whole:
                return torch.tensor([True])
            return mask.view(-1)
        """,
    ),
}


def _codes(text: str) -> list[str]:
    return [finding.code for finding in findings(HEAD + textwrap.dedent(text), "run.py", TOLD)]


@pytest.mark.parametrize("name", PAIRS)
def test_only_the_second_of_a_pair_is_at_fault(name: str) -> None:
    good, bad = PAIRS[name]
    assert _codes(good) == []
    assert _codes(bad) in (["TDV005"], ["TDV105"])


def test_what_no_caller_meets_is_left_to_the_rule_for_libraries() -> None:
    function = "def mask(x: torch.Tensor):\n    return torch.ones(x.size(0), 1)\n"
    assert findings(HEAD + function, "run.py", Config(off_by_default=OFF_BY_DEFAULT)) == []
    assert _codes(function) == ["TDV105"]
    caller = "def masked(x: torch.Tensor):\n    return x * mask(x)\n"
    assert _codes(function + caller) == ["TDV005"]


def test_what_a_caller_meets_is_told_once_where_it_is_made() -> None:
    program = """
    def mask(x: torch.Tensor):
        return torch.ones(x.size(0), 1)

    class Head(nn.Module):
        def forward(self, x):
            return x * mask(x)
    """
    (found,) = findings(HEAD + textwrap.dedent(program), "run.py", Config())
    assert (found.code, found.range.start.row) == ("TDV005", 8)
    assert found.fix is not None
    assert found.fix.edits[0].content == ", device=x.device"


@pytest.mark.parametrize(
    ("told", "is_tensor"),
    [
        ("x (torch.Tensor): the input", True),
        ("x : tensor", True),
        ("x: torch.Tensor of shape (n, 3)", True),
        (":type x: torch.LongTensor", True),
        ("x (:class:`torch.Tensor`, optional): the input", True),
        ("x (list of torch.Tensor): the inputs", False),
        ("x (torch.Tensor or np.ndarray): the input", False),
        ("x : array", False),
    ],
)
def test_a_parameter_is_what_the_documentation_calls_it(told: str, *, is_tensor: bool) -> None:
    program = f'def f(x):\n    """Do.\n\n    {told}\n    """\n    return x * torch.ones(3)\n'
    assert _codes(program) == ["TDV005"] * is_tensor


@pytest.mark.parametrize(
    ("use", "is_wrong"),
    [
        ("memory.append(action)\nactions = torch.cat(memory.actions)\n", True),
        ("memory.append(action.item())\nactions = torch.cat(memory.rewards)\n", False),
        ("print(action.item())\n", False),
    ],
)
def test_two_ways_are_told_where_what_they_return_is_joined(use: str, *, is_wrong: bool) -> None:
    """The action that is drawn by chance, of an agent that keeps its actions as tensors."""
    program = (
        'import random\nimport torch\nfrom torch import nn\nfrom lib import memory\nnet = nn.Linear(4, 2).to("cuda")\n'
        "def act(state):\n    if random.random() > 0.1:\n        return net(state).argmax(1, keepdim=True)\n"
        "    return torch.tensor([[random.randrange(2)]])\n"
        'action = act(torch.rand(1, 4, device="cuda"))\n'
    )
    assert ("TDV005" in _codes(program + use)) == is_wrong
