"""What is handed on: modules that a function builds or is given, results of calls that cannot be read, arguments of helpers."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = "import torch\nfrom torch import Tensor, nn\nfrom torch.nn import functional as F\nfrom lib import draw, measure, pad\n\n"

NET = """
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.register_buffer("shift", torch.ones(width))
                self.lin = nn.Linear(width, 3)

            def forward(self, x):
                return self.lin(x - self.shift)
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a class of the file is built for an image": (
        NET
        + """
        def score(image: Tensor):
            net = Net(3).to(image.device)
            return net(image)
        """,
        NET
        + """
        def score(image: Tensor):
            net = Net(3)
            return net(image)
        """,
    ),
    "it is run by a helper": (
        NET
        + """
        def run(net: nn.Module, image: Tensor):
            return net(image), image.shape[0]

        def score(image: Tensor):
            net = Net(3).to(image.device)
            return run(net, image)
        """,
        NET
        + """
        def run(net: nn.Module, image: Tensor):
            return net(image), image.shape[0]

        def score(image: Tensor):
            net = Net(3)
            return run(net, image)
        """,
    ),
    "it is moved by a helper": (
        NET
        + """
        def run(net: nn.Module, image: Tensor):
            return net.to(image.device)(image)

        def score(image: Tensor):
            return run(Net(3), image)
        """,
        NET
        + """
        def run(net: nn.Module, image: Tensor):
            return net.eval()(image)

        def score(image: Tensor):
            return run(Net(3), image)
        """,
    ),
    "it brings its input itself": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x):
                return self.lin(x.to(self.lin.weight.device))

        def score(image: Tensor):
            return Net()(image)
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x):
                return self.lin(x.to(self.lin.weight.dtype))

        def score(image: Tensor):
            return Net()(image)
        """,
    ),
    "a part of a module is moved with it": (
        NET
        + """
        class Whole(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net(3)

            def forward(self, image: Tensor):
                return self.net(image)
        """,
        NET
        + """
        class Whole(nn.Module):
            def forward(self, image: Tensor):
                return Net(3)(image)
        """,
    ),
    "one of two ways makes the kernel": (
        """
        def smooth(x: Tensor, blurred: bool):
            volume = len(x.shape) == 5
            x = pad(x) if volume else F.pad(x, (1, 1))
            kernel = torch.ones(1, 1, 3, 3, device=x.device)
            if blurred:
                kernel = draw(x.device)
            both = torch.cat((x, x * x))
            return F.conv3d(both, kernel) if volume else F.conv2d(both, kernel)
        """,
        """
        def smooth(x: Tensor, blurred: bool):
            volume = len(x.shape) == 5
            x = pad(x) if volume else F.pad(x, (1, 1))
            kernel = torch.ones(1, 1, 3, 3)
            if blurred:
                kernel = draw(x.device)
            both = torch.cat((x, x * x))
            return F.conv3d(both, kernel) if volume else F.conv2d(both, kernel)
        """,
    ),
    "a sum begins on the CPU": (
        """
        class Loss(nn.Module):
            def forward(self, views: list[Tensor]):
                loss = views[0].new_zeros(())
                for view in views:
                    loss += measure(view, views[0])
                return loss
        """,
        """
        class Loss(nn.Module):
            def forward(self, views: list[Tensor]):
                loss = torch.tensor(0.0)
                for view in views:
                    loss += measure(view, views[0])
                return loss
        """,
    ),
    "a number counts for nothing": (
        """
        class Loss(nn.Module):
            def forward(self, x: Tensor, size: int):
                return torch.zeros(3) * measure(size)
        """,
        """
        class Loss(nn.Module):
            def forward(self, x: Tensor, size: int):
                return torch.zeros(3) * measure(x, size)
        """,
    ),
    "a model is given": (
        """
        def trace(model: nn.Module, size: int):
            x = torch.zeros(1, 3, size, device=next(model.parameters()).device)
            return model(x)
        """,
        """
        def trace(model: nn.Module, size: int):
            x = torch.zeros(1, 3, size)
            return model(x)
        """,
    ),
    "a loss is given, which holds nothing": (
        """
        def trace(loss_fn: nn.Module, size: int):
            return loss_fn(torch.zeros(1, 3, size))
        """,
        """
        def trace(network: "nn.Module", size: int):
            return network(torch.zeros(1, 3, size))
        """,
    ),
    "a helper takes it for a tensor": (
        """
        def clipped(wave):
            return wave.clamp_(-1, 1) if hasattr(wave, "clamp_") else wave

        def window(wave):
            return clipped(wave), wave * torch.zeros(3, 3)
        """,
        """
        def clipped(wave):
            return wave.clamp_(-1, 1).unsqueeze(0)

        def window(wave):
            return clipped(wave), wave * torch.zeros(3, 3)
        """,
    ),
    "a method takes it for a tensor": (
        """
        class Windows:
            def clipped(self, scale, wave):
                return wave.unsqueeze(0) * scale

            def window(self, wave):
                return self.clipped(wave, 3), wave * torch.zeros(3, 3)
        """,
        """
        class Windows:
            def clipped(self, scale, wave):
                return wave.unsqueeze(0) * scale

            def window(self, wave):
                return self.clipped(3, wave), wave * torch.zeros(3, 3)
        """,
    ),
    "a helper that takes anything": (
        """
        def clipped(wave):
            if isinstance(wave, list):
                return wave
            return wave.clamp_(-1, 1)

        def window(wave):
            return clipped(wave), wave * torch.zeros(3, 3)
        """,
        """
        def clipped(wave: Tensor, low=-1):
            return wave

        def window(wave):
            return clipped(low=-2, wave=wave), wave * torch.zeros(3, 3)
        """,
    ),
    "an instance holds the model that it was given": (
        """
        class Probe:
            def __init__(self, model: nn.Module):
                self.model = model

            def run(self, rows):
                return self.model(rows)
        """,
        """
        class Probe:
            def __init__(self, model: nn.Module):
                self.model = model

            def run(self, rows):
                return self.model(torch.from_numpy(rows))
        """,
    ),
    "an instance holds a loss": (
        """
        class Probe:
            def __init__(self, criterion: nn.Module):
                self.criterion = criterion

            def run(self, size):
                return self.criterion(torch.zeros(1, size))
        """,
        """
        class Probe:
            def __init__(self, encoder: nn.Module):
                self.encoder = encoder

            def run(self, size):
                return self.encoder(torch.zeros(1, size))
        """,
    ),
    "what a model gives is brought over": (
        """
        def act(network, state):
            state = torch.tensor(state[None], dtype=torch.float32)
            return network(state).detach()[0]
        """,
        """
        def act(network, state):
            state = torch.tensor(state[None], dtype=torch.float32)
            out = network(state)
            return out.detach().cpu()[0]
        """,
    ),
    "what a distribution gives is brought over": (
        """
        class Forecast:
            def __init__(self, distribution):
                self.distribution = distribution

            def quantile(self, level):
                level = torch.tensor([level], device=self.distribution.mean.device)
                return self.distribution.icdf(level).cpu()
        """,
        """
        class Forecast:
            def __init__(self, distribution):
                self.distribution = distribution

            def quantile(self, level):
                return self.distribution.icdf(torch.tensor([level])).cpu()
        """,
    ),
    "what is looked up is brought over": (
        """
        def best(results):
            return results.get("top", torch.zeros(3)).cpu()
        """,
        """
        def best(results):
            return results(torch.zeros(3)).squeeze().cpu()
        """,
    ),
    "functions that call each other": (
        """
        def even(x, n):
            return odd(x, n - 1)

        def odd(x, n):
            return even(x, n - 1) * torch.zeros(3)
        """,
        """
        def even(x, n):
            return odd(x, n - 1) * torch.zeros(3)

        def odd(x, n):
            return x.unsqueeze(0) if n == 1 else even(x, n - 1)
        """,
    ),
}


def _codes(program: str) -> list[str]:
    config = Config(off_by_default=OFF_BY_DEFAULT)
    return [found.code for found in findings(HEAD + textwrap.dedent(program), "lib.py", config)]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) in (["TDV001"], ["TDV005"])


@pytest.mark.parametrize(("copied", "expected"), [("", ["TDV103"]), (".cpu()", [])])
def test_what_a_model_gives_is_read(copied: str, expected: list[str]) -> None:
    program = f"""
        class Forecasts:
            def __call__(self, batches, net: nn.Module, names):
                for batch in batches:
                    inputs = [batch[name] for name in names]
                    yield net(*inputs){copied}.numpy()
        """
    assert [found.code for found in findings(HEAD + textwrap.dedent(program), "lib.py", Config())] == expected
