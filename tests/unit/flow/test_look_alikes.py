"""Pairs of programs met in real code: one that looks like a bug and is none, and the bug that it looks like."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

CUDA = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

UNGUARDED = "TDV101"
"""Is said of every `.cuda()` here, and beside the point."""

PAIRS: dict[str, tuple[str, str]] = {
    "a number that a condition chooses is no tensor": (
        """
        def f(x: torch.Tensor, size=None):
            if size is None:
                size = f.size
            return torch.arange(6) // size + len(x)
        """,
        """
        def f(x: torch.Tensor, size=None):
            if size is None:
                size = x.sum(0)
            return torch.arange(6) // size
        """,
    ),
    "a parameter that is a number by default": (
        """
        def rope(length, theta=10000):
            return torch.outer(torch.arange(length), 1.0 / torch.pow(theta, torch.arange(4) / 4))
        """,
        """
        def rope(length, theta: torch.Tensor):
            return torch.outer(torch.arange(length), 1.0 / torch.pow(theta, torch.arange(4) / 4))
        """,
    ),
    "sizes of a split": (
        """
        def f(x: torch.Tensor):
            x = x.cpu()
            n = torch.tensor([1, 2])
            return torch.split(torch.zeros(3), n.cuda().tolist()), torch.split(x, [m for m in n])
        """,
        """
        def f(x: torch.Tensor):
            return torch.cat([x, torch.zeros(3)])
        """,
    ),
    "a trace is a 0-dim tensor": (
        """
        def f(a: torch.Tensor, table):
            return a.dot(a) - 2 * torch.trace(torch.from_numpy(table))
        """,
        """
        def f(a: torch.Tensor, table):
            return a - 2 * torch.diagonal(torch.from_numpy(table))
        """,
    ),
    "complex numbers are where their parts are": (
        """
        def f(x: torch.Tensor):
            return x * torch.complex(torch.zeros(2, device=x.device), torch.zeros(2, device=x.device))
        """,
        """
        def f(x: torch.Tensor):
            return x * torch.complex(torch.zeros(2), torch.zeros(2))
        """,
    ),
    "moved to a vendor's accelerator": (
        """
        def f(x: torch.Tensor):
            index = torch.IntTensor([0, 1]).npu()
            return x.npu().index_select(0, index)
        """,
        """
        def f(x: torch.Tensor):
            index = torch.IntTensor([0, 1])
            return x.npu().index_select(0, index)
        """,
    ),
    "the context of an autograd function": (
        """
        class Op(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.device = x.device.type
                if ctx.device == "cuda":
                    return x
                return -x
        """,
        """
        class Op(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x: torch.Tensor):
                if x.device == "cuda":
                    return x
                return -x
        """,
    ),
    "a word of the program's own": (
        """
        def f(device: torch.device):
            return 1 if device == "pinned" else 2
        """,
        """
        def f(device: torch.device):
            return 1 if device == "cpu" else 2
        """,
    ),
    "what a model gives may be arrays": (
        """
        import numpy as np
        import zoo
        model = zoo.detector().cuda()
        for image in [1, 2]:
            out = model(torch.zeros(1, device="cuda"))
            for boxes in out["boxes"]:
                np.asarray(boxes[0]), np.concatenate((boxes[:, 0].min(axis=1), boxes[0]))
        """,
        """
        import numpy as np
        model = nn.Linear(1, 1).cuda()
        for image in [1, 2]:
            out = model(torch.zeros(1, device="cuda"))
            for boxes in out:
                np.asarray(boxes[0])
        """,
    ),
    "a method defined where there is a GPU": (
        """
        class A:
            if torch.cuda.is_available():
                def f(self):
                    torch.zeros(1, device="cuda:0")
        """,
        """
        class A:
            if A_NAME:
                def f(self):
                    torch.zeros(1, device="cuda:0")
        """,
    ),
    "only some parts of a graph move": (
        """
        from torch_geometric.datasets import Planetoid
        from sklearn.linear_model import LogisticRegression
        data = Planetoid("data")[0].to("cuda", "x", "edge_index")
        LogisticRegression().fit(data.y, data.y)
        """,
        """
        from torch_geometric.datasets import Planetoid
        from sklearn.linear_model import LogisticRegression
        data = Planetoid("data")[0].to("cuda")
        LogisticRegression().fit(data.y, data.y)
        """,
    ),
    "a dataset's transform may move what it gives": (
        """
        from torch_geometric.datasets import Planetoid
        from torch_geometric.transforms import ToDevice
        model = nn.Linear(2, 2).cuda()
        model(Planetoid("data", transform=ToDevice("cuda"))[0].x)
        """,
        """
        from torch_geometric.datasets import Planetoid
        model = nn.Linear(2, 2).cuda()
        model(Planetoid("data")[0].x)
        """,
    ),
    "a loader over a graph that was moved": (
        """
        from torch_geometric.datasets import Planetoid
        from torch_geometric.loader import NeighborLoader
        model = nn.Linear(2, 2).cuda()
        for batch in NeighborLoader(Planetoid("data")[0].to("cuda")):
            model(batch.x)
        """,
        """
        from torch_geometric.datasets import Planetoid
        from torch_geometric.loader import NeighborLoader
        model = nn.Linear(2, 2).cuda()
        for batch in NeighborLoader(Planetoid("data")[0]):
            model(batch.x)
        """,
    ),
    "a private helper that only gets CPU tensors": (
        """
        class Weights:
            def _padded(self, w, n):
                return torch.cat([w.flatten(), torch.zeros(n)])

            def get(self, n):
                return self._padded(torch.linspace(0, 1, n), n).cuda()
        """,
        """
        class Weights:
            def _padded(self, w, n):
                return torch.cat([w.flatten(), torch.zeros(n)])

            def get(self, w, n):
                return self._padded(w, n)
        """,
    ),
    "an input that is a mapping": (
        """
        class Net(nn.Module):
            def forward(self, batch):
                batch["x"] = batch["x"].to(torch.float16)
                return self.mask(batch["size"]), batch.mean()

            def mask(self, size):
                return torch.arange(4) // size
        """,
        """
        class Net(nn.Module):
            def forward(self, batch):
                return torch.arange(4) // batch.mean(1)
        """,
    ),
    "a number or something else": (
        """
        def get(index, offsets: torch.Tensor):
            if isinstance(index, int):
                index -= torch.zeros(3)[torch.searchsorted(offsets.cpu(), index)]
            return index.unsqueeze(0)
        """,
        """
        def get(index, offsets: torch.Tensor):
            index -= torch.zeros(3)[index.long()]
            return index.unsqueeze(0)
        """,
    ),
    "a result copied to the host only to wait for it": (
        """
        def warm_up(vae, x):
            vae.cuda()
            vae.decode(x)[0].cpu()
        """,
        """
        def f():
            parts = {"x": torch.zeros(2)}
            parts["x"].cuda()
            return parts["x"].sum()
        """,
    ),
    "a test's helper": (
        """
        import pytest
        def moments(x):
            return x.mean(0, keepdim=True) - torch.tensor([1.0, 2.0])
        """,
        """
        def moments(x):
            return x.mean(0, keepdim=True) - torch.tensor([1.0, 2.0])
        """,
    ),
    "written into a tensor that is there already": (
        """
        def f(x: torch.Tensor):
            return x + torch.arange(len(x), out=x.new_empty(len(x)))
        """,
        """
        def f(x: torch.Tensor):
            return x + torch.arange(len(x), out=torch.empty(len(x)))
        """,
    ),
    "a device is never the word auto": (
        """
        def pick(device):
            if device == "auto":
                device = "cuda"
            return torch.device(device)

        device = torch.device("cuda" if torch.cuda.is_available() and FLAG else "cpu")
        nn.Linear(1, 1).to(device)(torch.zeros(1, 1, device=pick(device)))
        """,
        """
        def pick(device):
            if device == "cpu":
                device = "cuda"
            return torch.device(device)

        device = torch.device("cpu")
        nn.Linear(1, 1).to(device)(torch.zeros(1, 1, device=pick("cpu")))
        """,
    ),
    "called while the module is built": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("table", torch.zeros(4))
                self._fill(4)

            def _fill(self, n):
                self.register_buffer("cache", torch.outer(torch.arange(n), self.table))
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("table", torch.zeros(4))
                self._fill(4)

            def forward(self, x):
                self._fill(len(x))

            def _fill(self, n):
                self.register_buffer("cache", torch.outer(torch.arange(n), self.table))
        """,
    ),
    "a test speaks of devices": (
        """
        import pytest
        def test_pool(pool):
            pool.set([torch.device("cuda:0"), "cuda:1"])
        """,
        """
        import pytest
        def test_pool(pool):
            pool.set(torch.zeros(2).to("cuda:0"))
        """,
    ),
    "a dataset's own tensors": (
        """
        def add_features(dataset, rows):
            for g, row in zip(dataset.graphs, rows):
                g.feat = torch.cat((g.feat.unsqueeze(0), torch.tensor([row])))
        """,
        """
        def add_features(g, row):
            g = g.unsqueeze(0)
            return torch.cat((g, torch.tensor([row])))
        """,
    ),
}


def _codes(program: str) -> list[str]:
    found = findings(
        CUDA + textwrap.dedent(program), "program.py", Config(off_by_default=frozenset({"TDV106"}))
    )
    return [finding.code for finding in found if finding.code != UNGUARDED]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []
