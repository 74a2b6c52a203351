"""What the fifty-third round of unseen repositories taught: look-alikes that were told, beside mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "a trainer of a library that is derived from moves the model": (
        """
        import torch
        from torch import nn
        from {0} import {1}

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.classifier = nn.Linear(4, 2)
            def forward(self, ids):
                return self.classifier(ids)

        class Mine({1}):
            {2}

        net = Net()
        trainer = Mine(model=net, args=None)
        trainer.train()
        print(net(torch.zeros(1, 4, device="cuda")))
        """,
        [
            (("transformers", "Trainer", "epochs = 3"), []),
            (
                (
                    "transformers",
                    "Trainer",
                    "def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)",
                ),
                [],
            ),
            (
                (
                    "transformers",
                    "Trainer",
                    "def __init__(self, *args, **kwargs):\n        self.args = args",
                ),
                ["TDV001"],
            ),
            (("threading", "Thread", "epochs = 3"), ["TDV001"]),
        ],
    ),
    "what a function makes for NumPy is made on the CPU": (
        """
        import torch

        def picture_of(label):
            colored = torch.zeros(3, label.size(1), label.size(2)).byte()
            for i in range(4):
                mask = label.eq(i)
                colored[0].masked_fill_(mask, i)
            return {0}
        """,
        [("colored.numpy()", []), ("colored.double().sum()", ["TDV005"])],
    ),
    "a parameter that is a string by default only": (
        """
        import torch
        from torch import nn

        class Layer(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.register_buffer("w", torch.zeros(n))
                self.grid = self.grids((13, 13))

            def grids(self, ng=(13, 13), device="cpu"):
                if self.w.device != device:
                    self.w = self.w.to(device)
                return torch.arange(ng[0], device=device)

            def forward(self, x):
                self.grid = self.grids({0})
                return x * self.grid
        """,
        [("(13, 13), x.device", []), ("(13, 13)", ["TDV012"])],
    ),
    "the default tensor type where the program chooses its device": (
        """
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def train():
            net = nn.Linear(3, 3).to(device)
            return net(torch.zeros(2, 3))

        if __name__ == "__main__":
            {0}
            train()
        """,
        [
            ('torch.set_default_tensor_type("torch.cuda.FloatTensor")', ["TDV018"]),
            ("torch.set_default_tensor_type(torch.cuda.FloatTensor)", ["TDV018"]),
            (
                "if torch.cuda.is_available():\n        torch.set_default_tensor_type(torch.cuda.FloatTensor)",
                [],
            ),
            ("torch.set_default_tensor_type(torch.FloatTensor)", ["TDV001"]),
            ("torch.manual_seed(0)", ["TDV001"]),
        ],
    ),
    "an accelerator that a call hands over": (
        """
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.reset(1, {0})
            def reset(self, batch, where):
                self.state = (torch.zeros(batch, 3).to(where), None)

        net = Net().to(device)
        """,
        [('"cuda"', ["TDV018"]), ("device", []), ('where="cuda"', ["TDV018"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])
