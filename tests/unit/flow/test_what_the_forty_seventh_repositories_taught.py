"""What the forty-seventh and the forty-eighth batch of repositories taught: look-alikes that were told, beside mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "a program that wants no GPU": (
        """
        import torch

        class Tuner:
            def __init__(self, model, optimizer, path=None):
                self.model, self.optimizer = model, optimizer
                self.resources = {0}
                if path is not None:
                    checkpoint = torch.load(path)
                    self.model.load_state_dict(checkpoint["model"])
                    self.optimizer.load_state_dict(checkpoint["optimizer"])

            def save(self, path):
                torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, path)
        """,
        [
            ('{"cpu": 1, "gpu": 0}', []),
            ("dict(num_gpus=0)", []),
            ('{"cpu": 1, "gpu": 1}', ["TDV009"]),
            ('{"cpu": 1, "gpu": 0.5}', ["TDV009"]),
        ],
    ),
    "a module that is made of a copy of another": (
        """
        from copy import deepcopy
        import torch
        from torch import nn

        class Averaged(nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model
                self.register_buffer("seen", torch.zeros(1))

            def forward(self, x):
                return self.model(x)

        class Engine:
            def __init__(self, config, graph):
                self.graph, self.use_gpu = graph, config.gpu
                self.averaged = Averaged({0})

            def evaluate(self, loader):
                for images in loader:
                    yield self.averaged(images.cuda() if self.use_gpu else images)
        """,
        [("deepcopy(self.graph.model)", []), ("config.sizes", ["TDV021"])],
    ),
    "what calls a function for each element": (
        """
        import torch

        def points(heat):
            best = heat.flatten(2).max(2)[1].unsqueeze(2).repeat(1, 1, 2).float()
            best[..., 0].{0}
            for i in range(best.size(0)):
                shift = torch.FloatTensor([heat[i, 0, 1], heat[i, 0, 2]])
                best[i, 0].add_(shift.sign_().mul_(0.25))
            return best
        """,
        [("apply_(lambda x: x % 64)", []), ("remainder_(64)", ["TDV005"])],
    ),
    "a function that exports": (
        """
        import torch

        class Graph:
            def {0}(self, shape, model: torch.nn.Module):
                x = torch.rand(shape)
                traced = torch.jit.trace(model.eval(), (x,))
                traced.save("model.zip")
        """,
        [("to_torchscript", []), ("finish", ["TDV005"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])
