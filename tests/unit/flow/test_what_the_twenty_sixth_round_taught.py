"""What a twenty-sixth round of programs taught: NumPy's indices, metrics in dicts, lists of lists, what is computed of a loop's count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "an array that a tensor indexes": (
        """
        import numpy as np
        import torch

        class Pool:
            def __init__(self, count, rng: np.random.Generator):
                order = rng.permutation(count)
                self.left = order[3:]

            def take(self, chosen):
                self.left = np.setdiff1d(self.left, chosen)

        class Learner:
            def __init__(self, rng, device):
                self.device = device
                self.pool = Pool(10, rng)

            def query(self, k):
                scores = torch.rand(7, device=self.device).log().{0}
                return self.pool.left[{1}]

        Learner(np.random.default_rng(0), torch.device("cuda")).query(3)
        """,
        [
            (("topk(k).indices", "scores"), ["TDV010"]),
            (("topk(k).indices", "scores.cpu()"), []),
            (("argsort()", "scores"), ["TDV010"]),
            (("argmax()", "scores"), []),  # one number, of which `__index__` is asked
            (("argmax()", "0"), []),
            (("argsort()", "scores[2:3]"), []),  # one element, of which it is asked, too
        ],
    ),
    "a list that a tensor indexes": (
        """
        import torch

        def named(names: list, k):
            best = torch.rand(7, device="cuda").topk(k).indices
            return names[best[0]]
        """,
        [("", [])],
    ),
    "the largest few of what may have no dimensions": (
        """
        import numpy as np
        import torch

        def best(scores: torch.Tensor, k):
            names = np.arange(10)
            found = (scores.to("cuda") * 2).sum(-1)
            return names[found{0}]
        """,
        [(".topk(k).indices", ["TDV010"]), (".topk(1).indices", []), (".argmax()", []), ("", [])],
    ),
    "metrics in a dict": (
        """
        import lightning as L
        from torch import nn
        from torchmetrics import MeanSquaredError, MetricCollection
        from torchmetrics.classification import MulticlassAccuracy

        class Task(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 3)
                self.kept = {0}

            def validation_step(self, batch, index):
                x, y = batch
                self.kept["a"].update(self.net(x), y)

            {1}
        """,
        [
            (('{"a": MulticlassAccuracy(num_classes=3)}', ""), ["TDV007"]),
            (('{"a": MetricCollection({"b": MulticlassAccuracy(num_classes=3)})}', ""), ["TDV007"]),
            (('{"a": MetricCollection([MeanSquaredError(), MeanSquaredError()])}', ""), ["TDV007"]),
            (('nn.ModuleDict({"a": MulticlassAccuracy(num_classes=3)})', ""), []),
            (('{"a": dict(b=1)}', ""), []),
            (
                (
                    '{"a": MeanSquaredError()}',
                    "def on_fit_start(self):\n                self.kept['a'] = self.kept['a'].to(self.device)",
                ),
                [],
            ),
        ],
    ),
    "a collection of metrics": (
        """
        import torch
        from torch import nn
        from torchmetrics import MetricCollection
        from torchmetrics.classification import MulticlassAccuracy

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(3, 3).to(device)
        metrics = {0}
        metrics.update(net(torch.randn(4, 3, device=device)), torch.zeros(4, device=device))
        """,
        [
            ('MetricCollection({"a": MulticlassAccuracy(num_classes=3)})', ["TDV001"]),
            ("MetricCollection([MulticlassAccuracy(num_classes=3)]).to(device)", []),
            ("MetricCollection([MulticlassAccuracy(num_classes=3).to(device)])", []),
            ("MetricCollection(chosen(3))", []),
        ],
    ),
    "tensors of the lists in a list": (
        """
        import torch
        from transformers import StoppingCriteria

        class Stop(StoppingCriteria):
            def __init__(self, ids: {0}):
                self.stops = [torch.tensor(one) for one in ids]

            def __call__(self, input_ids, scores, **kwargs):
                done = torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)
                for stop in self.stops:
                    done |= (input_ids[:, -1:] == stop{1}).all(-1)
                return done
        """,
        [
            (("list[list[int]]", ""), ["TDV004"]),
            (("List[Sequence[int]]", ""), ["TDV004"]),
            (("list[list[int]]", ".to(input_ids.device)"), []),
            (("list[int]", ""), []),
        ],
    ),
    "what is computed of a loop's count": (
        """
        import numpy as np
        import torch
        from torch import nn

        class Finder:
            def __init__(self, model, device):
                self.model, self.device = model, device
                self.history = dict(loss=[])

            def run(self, loader, beta=0.9):
                mean = 0.0
                for i in range(20):
                    x = next(loader).to(self.device)
                    mean = beta * mean + (1 - beta) * self.model(x).mean().detach()
                    self.history["loss"].append((mean / (1 - beta ** ({0}))){1})

            def suggested(self):
                return np.array(self.history["loss"])

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        finder = Finder(nn.Linear(2, 2).to(device), device)
        finder.run(iter([torch.zeros(2, 2)]))
        finder.suggested()
        """,
        [(("i + 1", ""), ["TDV010"]), (("i + 1", ".item()"), []), (("next(other)", ""), [])],
    ),
    "what PyTorch Geometric computes of a graph before it is moved": (
        """
        import torch
        from torch_geometric.data import Data
        from torch_geometric.nn.conv.gcn_conv import gcn_norm

        class Propagate(torch.nn.Module):
            def __init__(self, edges, count):
                super().__init__()
                self.edges, self.weights = gcn_norm(edges, None, count)

            def forward(self, h):
                return self.weights.view(-1, 1) * h[self.edges[0]]

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        graph = Data(x=torch.randn(4, 4), edge_index=torch.tensor([[0, 1], [1, 0]])){0}
        model = Propagate(graph.edge_index, 4).to(device)
        model(graph.to(device).x)
        """,
        [("", ["TDV006"]), (".to(device)", [])],
    ),
    "a device that is set from outside": (
        """
        import torch

        class Mesh:
            def __init__(self, device=None):
                self.device = torch.device("cpu") if device is None else device

            def points(self):
                return torch.zeros(3, device=self.device)

        class Scene:
            def __init__(self, device):
                self.device = device
                self.light = torch.ones(3, device=self.device)

            def loaded(self):
                mesh = Mesh()
                {0}
                return mesh.points(), self.light * 2
        """,
        [("mesh.color = self.light", ["TDV020"]), ("mesh.device = self.device", [])],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_look_alikes_beside_mistakes(what: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way("", *CASES[what])
