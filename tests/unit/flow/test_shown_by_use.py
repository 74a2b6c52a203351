"""Where things are that no file shows being moved: what the methods of a class, the inputs of a call, a sum tell about it."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nfrom torch import nn\nfrom lib import Base, Metric, build\n"

PAIRS: dict[str, tuple[str, str]] = {
    "the model is moved in another method": (
        """
        class Runner(Base):
            def setup(self):
                self.model = build()
                self.model.to(self.device)

            def export(self):
                self.model.cpu()

            def predict(self, rows):
                return self.model(torch.tensor(rows))
        """,
        """
        class Runner(Base):
            def setup(self):
                self.model = build()
                self.model.to(self.device)

            def predict(self, rows):
                return self.model(torch.tensor(rows))
        """,
    ),
    "the model is moved where it is made": (
        """
        class Agent:
            def __init__(self, device):
                self.device = torch.device(device)
                self.q_net = None

            def make(self, n):
                self.q_net = build(n).to(self.device)

            def act(self, state):
                return self.q_net(torch.from_numpy(state).unsqueeze(0).to(self.device))
        """,
        """
        class Agent:
            def __init__(self, device):
                self.device = torch.device(device)
                self.q_net = None

            def make(self, n):
                self.q_net = build(n).to(self.device)

            def act(self, state):
                return self.q_net(torch.from_numpy(state).unsqueeze(0))
        """,
    ),
    "the model gets inputs on the device in another method": (
        """
        class Runner(Base):
            def fit(self, rows):
                device = self._device
                return self._model(torch.from_numpy(rows).float().to(device))

            def compare(self, x):
                return self._model(x.cpu())

            def predict(self, rows):
                return self._model(torch.from_numpy(rows))
        """,
        """
        class Runner(Base):
            def fit(self, rows):
                device = self._device
                return self._model(torch.from_numpy(rows).float().to(device))

            def predict(self, rows):
                return self._model(torch.from_numpy(rows))
        """,
    ),
    "what is no model may get anything": (
        """
        class Runner(Base):
            def fit(self, rows):
                return self.writer(torch.from_numpy(rows).to(self.device))

            def predict(self, rows):
                return self.writer(torch.from_numpy(rows))
        """,
        """
        class Runner(Base):
            def fit(self, rows):
                return self.estimator.model(torch.from_numpy(rows).to(self.estimator.device))

            def predict(self, rows):
                return self.estimator.model(torch.from_numpy(rows))
        """,
    ),
    "`def to(self, device)` moves the class's device along": (
        """
        class Runner(Base):
            def to(self, device):
                self.model.to(device)
                return self

            def predict(self, rows):
                return self.model(torch.tensor(rows))
        """,
        """
        class Runner(Base):
            def to(self, device):
                self.device = device
                self.model.to(device)
                return self

            def fit(self, x):
                return self.model(x.to(self.device))

            def predict(self, rows):
                return self.model(torch.tensor(rows))
        """,
    ),
    "lengths may stay on the CPU": (
        """
        def run(model, x, device):
            lengths = torch.tensor([3, 4])
            return model(x.to(device), lengths)
        """,
        """
        def run(model, x, device):
            ids = torch.tensor([3, 4])
            return model(x.to(device), ids)
        """,
    ),
    "a 0-dim input may stay on the CPU": (
        """
        def run(model, x: torch.Tensor):
            return model(x, torch.tensor(3))
        """,
        """
        def run(model, x: torch.Tensor):
            return model(x, torch.tensor([3]))
        """,
    ),
    "a function that builds a model does not run it": (
        """
        class Runner(Base):
            def fit(self, rows, device):
                return self.build_model(torch.from_numpy(rows).to(device), torch.zeros(3))
        """,
        """
        class Runner(Base):
            def fit(self, rows, device):
                return self.model(torch.from_numpy(rows).to(device), torch.zeros(3))
        """,
    ),
    "the loss gets the target on the device": (
        """
        class Runner(Base):
            def fit(self, x, y):
                out = self.model(torch.from_numpy(x).to(self.device))
                return self.criterion(out, torch.from_numpy(y).to(self.device))
        """,
        """
        class Runner(Base):
            def fit(self, x, y):
                out = self.model(torch.from_numpy(x).to(self.device))
                return self.criterion(out, torch.from_numpy(y))
        """,
    ),
    "a metric of whatever it is given": (
        """
        def score(model, seeds: torch.Tensor, indexes: torch.Tensor):
            metric = Metric()
            return metric(torch.empty(seeds.shape[0], device=seeds.device), indexes)
        """,
        """
        def score(model, seeds: torch.Tensor, indexes: torch.Tensor):
            metric = Metric()
            return metric(torch.empty(seeds.shape[0]), indexes)
        """,
    ),
    "a number or a parameter": (
        """
        class Gate(nn.Module):
            def __init__(self, biased, n):
                super().__init__()
                self.bias = nn.Parameter(torch.ones(n)) if biased else 1.0

            def forward(self, x):
                return x.relu() * self.bias
        """,
        """
        class Gate(nn.Module):
            def __init__(self, biased, n):
                super().__init__()
                self.bias = torch.ones(n) if biased else 1.0

            def forward(self, x):
                return x.relu() * self.bias
        """,
    ),
    "a sum that starts from a number": (
        """
        def rank(trace, n):
            total = 0
            for site in trace.values():
                if site["kind"]:
                    total = total + site["log_prob"].reshape(n, -1)
            order = torch.argsort(total)
            return torch.index_select(torch.arange(n, device=order.device), -1, order)
        """,
        """
        def rank(trace, n):
            total = 0
            for site in trace.values():
                if site["kind"]:
                    total = total + site["log_prob"].reshape(n, -1)
            order = torch.argsort(total)
            return torch.index_select(torch.arange(n), -1, order)
        """,
    ),
    "a mask of a scatter": (
        """
        def fill(species: torch.Tensor, values):
            out = torch.full((4,), 0.0)
            return out.masked_scatter_(species.cpu() == 3, values.cpu())
        """,
        """
        def fill(species: torch.Tensor, values):
            out = torch.full((4,), 0.0)
            return out.masked_scatter_(species == 3, values)
        """,
    ),
    "a seed of the backward pass": (
        """
        def penalty(real: torch.Tensor):
            out = real.sum(1)
            out.mean().backward(torch.tensor(1.0))
            return torch.autograd.grad(out, real, grad_outputs=torch.ones_like(out))[0]
        """,
        """
        def penalty(real: torch.Tensor):
            out = real.sum(1)
            return torch.autograd.grad(out, real, grad_outputs=torch.ones(out.size()))[0]
        """,
    ),
    "a seed of each output": (
        """
        def penalty(a: torch.Tensor):
            torch.autograd.backward([a.sum(1)], [torch.ones(3, device=a.device)])
        """,
        """
        def penalty(a: torch.Tensor):
            torch.autograd.backward([a.sum(1)], [torch.ones(3)])
        """,
    ),
    "a gradient is where the input is": (
        """
        def forces(energy, positions, device):
            positions = positions.to(device)
            return torch.autograd.grad(energy(positions), positions)[0].cpu().numpy()
        """,
        """
        def forces(energy, positions, device):
            positions = positions.to(device)
            return torch.autograd.grad(energy(positions), positions)[0].numpy()
        """,
    ),
}


def _codes(program: str) -> list[str]:
    return [found.code for found in findings(HEAD + textwrap.dedent(program), "program.py", Config())]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


def test_the_fix_names_the_device_of_what_is_held() -> None:
    program = PAIRS["what is no model may get anything"][1]
    (found,) = findings(HEAD + textwrap.dedent(program), "program.py", Config())
    assert found.fix is not None
    assert "self.estimator.device" in found.fix.edits[-1].content
