"""What a nineteenth batch of fresh programs, by writers who knew no tests, showed: correct idioms, each beside the nearest wrong one."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

LOSS = """
import torch
from torch import nn


class Focal(nn.Module):
    def __init__(self, alpha=None):
        super().__init__()
        self.alpha = {first}
        if isinstance(alpha, (float, int)):
            self.alpha = torch.tensor([{given}, 1 - alpha])
        if isinstance(alpha, (list, tuple)):
            self.alpha = torch.tensor({given})

    def forward(self, scores, target):
        picked = scores.log_softmax(1).gather(1, target.view(-1, 1)).view(-1)
        if self.alpha is not None:
            picked = picked * self.alpha{moved}.gather(0, target)
        return -picked.mean()


scores, target = torch.randn(4, 3).cuda(), torch.zeros(4).long().cuda()
print(Focal([0.2, 0.3, 0.5])(scores, target), Focal(0.3)(scores[:, :2], target))
"""


@pytest.mark.parametrize(
    ("first", "given", "moved", "found"),
    [
        ("alpha", "alpha", "", [(11, ".to(target.device)"), (13, ".to(target.device)")]),
        ("None", "alpha", "", [(9, 'self.register_buffer("alpha", None, persistent=False)')]),
        ("alpha", "alpha", ".to(target.device)", []),
    ],
)
def test_numbers_that_become_a_tensor(
    first: str, given: str, moved: str, found: list[tuple[int, str]]
) -> None:
    """What is assigned first is no tensor, and no buffer: the lines that make one are at fault, and it is moved where it is used."""
    code = LOSS.format(first=first, given=given, moved=moved)
    told = check_source(code, "loss.py", Config(off_by_default=frozenset({"TDV101"})))
    fixes = [
        (one.range.start.row, one.fix.edits[0].content)
        for one in told
        if one.code == "TDV006" and one.fix is not None
    ]
    assert fixes == found


GENERATE = """
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 8)

    def forward(self, ids):
        return self.emb(ids)


def generate(model):
    ids = torch.tensor([[1]]){moved}
    for _ in range(4):
        token = model(ids{there})[:, -1].argmax(-1, keepdim=True){back}
        ids = torch.cat([ids, {more}], dim=1)
    return ids


print(generate(LM().to(device)))
"""


@pytest.mark.parametrize(
    ("moved", "there", "back", "more", "found"),
    [
        ("", "", ".item()", "torch.full((1, 1), token, device=ids.device)", [18]),
        (".to(device)", "", ".item()", "torch.full((1, 1), token, device=ids.device)", []),
        ("", ".to(device)", ".cpu()", "token", []),
    ],
)
def test_what_grows_in_a_loop(moved: str, there: str, back: str, more: str, found: list[int]) -> None:
    """What is put behind it has to be where it is: it is at fault where it began."""
    code = GENERATE.format(moved=moved, there=there, back=back, more=more)
    told = check_source(code, "generate.py", Config(off_by_default=frozenset({"TDV101"})))
    assert [one.range.start.row for one in told] == found


CELL = """
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(6, 3)

    def forward(self, state, x):
        return torch.tanh(self.mix(torch.cat([state, x], 1)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()

    def begin(self, x):
        return torch.zeros(x.shape[0], 3{device})

    def forward(self, xs):
        state = self.begin(xs)
        for x in xs.unbind(1):
            state = self.cell(state, x)
        return state


print(Net().cuda()(torch.ones(2, 5, 3).cuda()))
"""


@pytest.mark.parametrize(("device", "found"), [("", [21]), (", device=x.device", [])])
def test_a_state_that_a_method_begins(device: str, found: list[int]) -> None:
    """It is at fault where the method makes it, also where a loop binds the name anew."""
    told = check_source(
        CELL.format(device=device), "cell.py", Config(off_by_default=frozenset({"TDV101", "TDV106"}))
    )
    assert [one.range.start.row for one in told] == found
