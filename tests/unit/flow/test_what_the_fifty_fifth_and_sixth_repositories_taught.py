"""What a fifty-fifth and a fifty-sixth batch of repositories taught: look-alikes beside mistakes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "a loader of the rows of a tensor": (
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        data = torch.randn(10, 2){0}
        model = nn.Linear(2, 2).to(device)
        for x in DataLoader(data, batch_size=2):
            model(x)
        """,
        [(".to(device)", []), ("", ["TDV001"])],
    ),
    "a device that has a name": (
        """
        import torch
        from lib import prepare

        GPU = "cuda:0"
        {0}
        prepare(gpu=GPU, seed=1)
        x = torch.zeros(2, device=device)
        {1}
        """,
        [
            (("device = torch.device(GPU if torch.cuda.is_available() else 'cpu')", ""), []),
            (("device = 'cpu' if not torch.cuda.is_available() else GPU", ""), []),
            (
                (
                    "if torch.cuda.is_available():\\n    device = torch.device(GPU)\\nelse:\\n    device = torch.device('cpu')",
                    "",
                ),
                [],
            ),
            (
                ("device = torch.device(GPU if torch.cuda.is_available() else 'cpu')", "y = x.to(GPU)"),
                ["TDV002"],
            ),
            (("device = torch.device(GPU)", ""), ["TDV002"]),
        ],
    ),
    "a dataset that places its items": (
        """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        class Poses(Dataset):
            def __init__(self, file):
                self.poses = torch.from_numpy(np.load(file)).float(){0}
            def __len__(self):
                return len(self.poses)
            def __getitem__(self, i):
                return {"x": self.poses[i], "y": self.poses[i]}

        model = torch.nn.Linear(2, 2).to(device)

        def train(loader):
            batches = iter(loader)
            for step in range(3):
                batch = next(batches)
                x = batch["x"].to(device)
                model(x)
                for again in range(2):
                    batch = next(batches)
                    x = batch["x"]
                    y = batch["y"]
                    model(y)

        train(DataLoader(Poses("a.npy"), batch_size=3))
        """,
        [(".to(device)", []), ("", ["TDV001"])],
    ),
    "losses of a library that bring the labels": (
        """
        import torch
        from torch import nn
        from pytorch_metric_learning import losses

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(2, 2)
                self.criterion = {0}
            def forward(self, x):
                embeddings = self.net(x)
                labels = torch.arange(len(embeddings))
                return self.criterion(embeddings, labels)
        """,
        [("losses.NTXentLoss(temperature=0.1)", []), ("nn.CrossEntropyLoss()", ["TDV005"])],
    ),
    "a type's name, and a transfer behind it": (
        """
        import torch

        def noise(like: torch.Tensor, device):
            made = torch.zeros(2).type(like.type()){0}
            return made, torch.ones(2, device=device)
        """,
        [("", ["TDV016"]), (".to(device)", []), (".detach().to(device)", []), (".detach()", ["TDV016"])],
    ),
    "a module that is made to be counted": (
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.lin = nn.Linear(n, n)
            def parameter_count(self):
                return sum(p.numel() for p in self.parameters())

        def main(x):
            large = Net(200)
            print({0})
            small = Net(2).cuda()
            return small(x.cuda())
        """,
        [("large.parameter_count()", []), ("large.lin(x)", ["TDV021"])],
    ),
    "a module beside one that is moved, run on the host": (
        """
        import torch
        from torch import nn

        def main(device):
            x = torch.randn(4, 2){0}
            net = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).to(device)
            net(x.to(device))
            kept = {k: v.cpu() for k, v in net.state_dict().items()}
            reference = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            reference.load_state_dict(kept)
            print(reference(x))
        """,
        [("", []), (".to(device)", ["TDV001"])],
    ),
    "a density that may be made of numbers, within a model that is moved": (
        """
        import torch
        from torch import nn
        from densities import TwoModes

        class Flow(nn.Module):
            def __init__(self, p):
                super().__init__()
                self.p = p

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        prior = TwoModes(2.0, 0.2)
        Flow(prior).to(device)
        z = torch.zeros(3, 2)
        prior.{0}(z)
        """,
        [("log_prob", []), ("forward", ["TDV001"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])


@pytest.mark.parametrize(
    ("otherwise", "there"),
    [("assert False", True), ('assert False, "no such method"', True), ("print(method)", False)],
)
def test_what_asserts_that_it_is_not_reached_leaves(otherwise: str, there: bool) -> None:
    text = textwrap.dedent(
        f"""
        import sys
        import torch

        method = sys.argv[1]
        x = torch.zeros(2)
        if method == "a":
            x = x.to("cuda")
        elif method == "b":
            x = x.cuda()
        else:
            {otherwise}
        reveal_device(x)
        """
    )
    (told,) = check_source(text, "program.py", Config(off_by_default=OFF_BY_DEFAULT))
    assert (told.message == "`x` is a tensor on `cuda`") == there
