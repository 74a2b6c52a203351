"""Idioms of scripts that users write, each right and wrong: found when whole programs were written without looking at the linter."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
there, here = torch.rand(4, 3, device=device), torch.rand(4, 3).cpu()
"""

CHOSEN_IN_A_LOOP = """
def pick(wanted=("cuda", "mps")):
    for name in wanted:
        if name == "cuda" and torch.cuda.is_available():
            return torch.device("cuda")
        if name == "mps" and torch.backends.mps.is_available():
            return torch.device("mps")
    return torch.device("cpu")
x = torch.rand(4, 3, device=pick())
x @ here.T%s
"""

QUEUE = """
class Queue(nn.Module):
    def __init__(self):
        super().__init__()
        %s
        self.queue = nn.functional.normalize(self.queue, dim=0)
    def forward(self, x):
        return x @ self.queue
Queue().to(device)(there)
"""

TWO = """
class Two(nn.Module):
    def __init__(self, first="cuda:0", second="cuda:1"):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3).to(first), nn.Linear(3, 3).to(second)
if torch.cuda.device_count() > %d:
    Two()
"""

TRANSLATOR = """
class Translator(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
    def translate(self, words):
        ids = torch.tensor([words], device=device)
        return self.encoder(ids, torch.tensor(%s))
"""

LABELS = """
data = [(torch.rand(3), n %% 2) for n in range(9)]
net, loss = nn.Linear(3, 2).to(device), nn.CrossEntropyLoss()
for x, y in torch.utils.data.DataLoader(data, 3):
    y = y%s
    loss(net(x.to(device)), y)
"""

ADVANTAGES = """
def advantages(steps, last_done):
    dones = torch.zeros(8, 3%s)
    values = torch.zeros(8, 3, device=device)
    last_done = last_done.to(device)
    total = 0
    for t in %s:
        if t == %s:
            going = 1.0 - last_done
        else:
            going = 1.0 - dones[t + 1]
        total = total + values[t] * going
    return total
advantages(int(input()), torch.zeros(3))
"""

FIRST_TURN = """
state = torch.zeros(4, 3)
for i in range(int(input())):
    if i == 0:
        state = state.to(device)
    %s
    state = state + there
"""

PAIRS: dict[str, tuple[str, str]] = {
    "numbers beside tensors in a list that is loaded": (
        LABELS % ".to(device)",
        LABELS % ".long()",
    ),
    "what all turns but the first choose": (
        ADVANTAGES % (", device=device", "reversed(range(steps))", "steps - 1"),
        ADVANTAGES % ("", "reversed(range(steps))", "steps - 1"),
    ),
    "what all turns but the first choose, counted down by hand": (
        ADVANTAGES % (", device=device", "range(steps - 1, -1, -1)", "steps-1"),
        ADVANTAGES % ("", "range(steps - 1, -1, -1)", "steps-1"),
    ),
    "what a first turn moves": (
        FIRST_TURN % "pass",
        FIRST_TURN % "state = state.cpu()",
    ),
    "default devices that only a guarded call uses": (TWO % 1, TWO % 0),
    "lengths that an encoder packs": (
        TRANSLATOR % "[ids.size(1)]",
        TRANSLATOR % "[words]",
    ),
    "a device chosen in a loop over names": (
        CHOSEN_IN_A_LOOP % ".to(x.device)",
        CHOSEN_IN_A_LOOP % "",
    ),
    "a buffer that is assigned again": (
        QUEUE % 'self.register_buffer("queue", torch.rand(3, 5))',
        QUEUE % "self.queue = torch.rand(3, 5)",
    ),
}

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)


def _codes(code: str) -> list[str]:
    return [found.code for found in findings(HEAD + textwrap.dedent(code), "program.py", DEFAULT)]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS.keys())
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS.keys())
def test_wrong(_right: str, wrong: str) -> None:
    assert len(_codes(wrong)) == 1


REPORTED = {
    "what is moved at another use": """
        data, names = torch.rand(4, 3), ["a", "b"]
        net = nn.Linear(3, 3).to(device)
        out = net(data.to(device))
        error = out - data  # here
        """,
    "what is moved at a later use": """
        data = torch.rand(4, 3)
        error = there - data[:4]  # here
        nn.Linear(3, 3).to(device)(data.to(device))
        """,
    "what a method moves for itself": """
        class Model:
            def __init__(self):
                self.net = nn.Linear(3, 3).to(device)
            def fit(self, x, y):
                x, y = x.to(device), y.to(device)
                return ((self.net(x) - y) ** 2).mean()
            def predict(self, x):
                return self.net(x.to(device))
        x, y = torch.randn(4, 3), torch.randn(4, 3)
        model = Model()
        model.fit(x, y)
        error = model.predict(x) - y  # here
        """,
    "what is made for this": """
        start = torch.zeros(4, 3)  # here
        error = there - start
        """,
    "what is moved afterwards": """
        def run(out):
            out = out.to(device)
            total = torch.zeros(4, 3)  # here
            late = out + total
            total = total.to(device)
            return total, late
        run(here)
        """,
    "the output of a layer on another GPU": """
        if torch.cuda.device_count() > 1:
            first = nn.Linear(3, 3).to("cuda:0")
            second = nn.Linear(3, 3).to("cuda:1")
            x = first(torch.rand(4, 3, device="cuda:0"))
            second(x)  # here
        """,
}


@pytest.mark.parametrize("code", REPORTED.values(), ids=REPORTED.keys())
def test_where(code: str) -> None:
    text = HEAD + textwrap.dedent(code)
    marked = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# here")]
    assert [found.range.start.row for found in findings(text, "program.py", DEFAULT)] == marked
