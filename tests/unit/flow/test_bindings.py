"""Where a tensor is reported that fails further down than where it is handed over: `# here`."""

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
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
    def start(self, n):
        return torch.zeros(n, 3){in_start}
    def forward(self, x, state=None):
        return self.inner(x) if state is None else self.inner(x) + state
net = Net().to(device)
"""

WHERE = {
    "what has one use": """
        noise = torch.randn(2, 3)  # here
        for _ in range(2):
            net(noise)
        """,
    "what is given by keyword": """
        state = torch.randn(2, 3)  # here
        net(torch.randn(2, 3, device=device), state=state)
        """,
    "what is also used by the host": """
        noise = torch.randn(2, 3)
        net(noise)  # here
        print(noise.tolist())
        """,
    "what another use of moves": """
        noise = torch.randn(2, 3)
        net(noise.to(device))
        net(noise)  # here
        """,
    "beside what is moved in the same call": """
        x, state = torch.randn(2, 3), torch.zeros(2, 3)
        net(x.to(device), state)  # here
        """,
    "what is measured besides": """
        x = torch.randn(4, 2, 3)  # here
        for i in range(x.size(0)):
            net(x[i])
        """,
    "what is bound again later": """
        state = torch.zeros(2, 3)  # here
        for _ in range(2):
            state = net(torch.rand(2, 3, device=device), state)
            print(state.tolist())
        """,
    "what is moved where it is bound again": """
        seen = torch.zeros(4, 2, 3, device=device)
        x = torch.randn(2, 3)  # here
        for i in range(4):
            seen[i] = x
            net(x)
            x = torch.randn(2, 3).to(device)
        """,
    "one of two that one statement binds": """
        def batches():
            yield torch.rand(2, 3), torch.rand(2, 3)
        for x, state in batches():
            x, state = x.to(device), state  # here
            net(x, state)
        """,
    "what came together with what is moved": """
        def batches():
            yield torch.rand(2, 3), torch.rand(2, 3)
        for x, state in batches():
            x = x.to(device)  # here
            print(x.shape)
            net(x, state)
        """,
    "what came together with others that are not moved": """
        def batches():
            yield torch.rand(2, 3), torch.rand(2, 3)
        for x, state in batches():
            net(x)  # here
        """,
    "what a function gives": """
        def sample(n, where=None):
            x, y = torch.rand(n, 3), torch.rand(n, 3)
            return (x, y) if where is None else (x.to(where), y.to(where))
        x, y = sample(2)  # here
        net(x)
        """,
    "what a function forgets": """
        def sample(n):
            x = torch.rand(n, 3)  # here
            y = torch.rand(n, 3)
            y = y.to(device)
            return x, y
        x, y = sample(2)
        net(y, x)
        """,
    "what a module's own helper makes": """
        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net()
            def start(self, n):
                return torch.arange(n)[:, None] * 1.0  # here
            def forward(self, x):
                state = self.start(len(x))
                return self.net(x, state)
        Outer().to(device)(torch.rand(2, 3, device=device))
        """,
    "one attribute of three": """
        class Job:
            def __init__(self):
                self.a = torch.rand(2, 3).to(device)
                self.b = torch.rand(2, 3)  # here
                self.c = torch.rand(2, 3).to(device)
            def run(self):
                return net(self.a), net(self.b), net(self.c)
        Job().run()
        """,
    "an entry of a dict": """
        batch = dict(x=torch.rand(2, 3), n=2)
        net(batch["x"])  # here
        """,
    "a name for another": """
        noise = torch.randn(2, 3)
        x = noise
        net(x)  # here
        """,
}


@pytest.mark.parametrize("name", WHERE)
def test_a_tensor_is_reported_where_it_got_its_name(name: str) -> None:
    source = HEAD.format(in_start=".to(self.inner.weight.device)") + textwrap.dedent(WHERE[name])
    rows = [row for row, line in enumerate(source.splitlines(), 1) if "# here" in line]
    assert [one.range.start.row for one in _findings(source)] == rows


def test_what_a_module_makes_for_itself_is_reported_there() -> None:
    run = "net(torch.rand(2, 3, device=device), net.start(2))\n"
    wrong, right = HEAD.format(in_start=""), HEAD.format(in_start=".to(self.inner.weight.device)")
    assert [one.range.start.row for one in _findings(wrong + run)] == [9]
    assert _findings(right + run) == []


def _findings(source: str) -> list[object]:
    return list(findings(source, "program.py", Config(off_by_default=OFF_BY_DEFAULT)))


@pytest.mark.parametrize(
    ("label", "is_number"),
    [
        ("i % 3", True),
        ("i", True),
        ("int(self.y[i])", True),
        ("self.name % i", False),
        ("self.name[i]", False),
    ],
)
def test_what_a_dataset_computes_of_the_index_is_a_number(label: str, *, is_number: bool) -> None:
    source = (
        "import torch\nfrom torch.utils.data import DataLoader, Dataset\n"
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "def move(x):\n    if torch.is_tensor(x):\n        return x.to(device)\n"
        "    return {k: move(v) for k, v in x.items()} if isinstance(x, dict) else x\n"
        "class Data(Dataset):\n    def __init__(self, y):\n        self.y, self.name = y, 'a'\n"
        f"    def __getitem__(self, i):\n        return {{'x': torch.rand(3), 'y': {label}}}\n"
        "weight = torch.rand(3)\nfor batch in DataLoader(Data([1, 2]), batch_size=2):\n    print(weight[move(batch)['y']])\n"
    )
    assert bool(_findings(source)) == is_number
