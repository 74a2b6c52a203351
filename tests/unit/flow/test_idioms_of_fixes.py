"""Pairs of programs in the manner of commits that cured a device error: the program before, and one that only looks like it."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nimport lib\n"

PAIRS: dict[str, tuple[str, str]] = {
    "a chain of comparisons ends in a string": (
        """
        def loss(x: torch.Tensor, y: torch.Tensor):
            if x.device.type == y.device.type == "cuda":
                return lib.fast(x, y)
            return F.mse_loss(x, y)
        """,
        """
        def loss(x: torch.Tensor, y: torch.Tensor):
            if x.device == y.device == "cuda":
                return lib.fast(x, y)
            return F.mse_loss(x, y)
        """,
    ),
    "what PyTorch is given as a device has one of its names": (
        """
        def store(model, rows):
            lib.settings.kind = str(lib.settings.kind)
            if lib.settings.kind == "gpu":
                return rows
            return model(rows.to(lib.settings.device))
        """,
        """
        def store(model, rows):
            if lib.device == "gpu":
                return rows
            return model(rows.to(lib.device))
        """,
    ),
    "a context manager is no device": (
        """
        def run(rows):
            with torch.cuda.device(1):
                print(torch.cuda.memory_summary(device=torch.cuda.current_device()))
            return torch.as_tensor(rows).to(torch.device("cuda"))
        """,
        """
        def run(rows):
            device = torch.cuda.device("cuda")
            return torch.as_tensor(rows).to(device)
        """,
    ),
    "the parameters of a module that a function is given": (
        """
        def flat(module: nn.Module, rows):
            scores = module(torch.as_tensor(rows)).detach().numpy()
            return scores, [p.detach().cpu().numpy() for p in module.parameters()]

        def flat_here(module: nn.Module, rows):
            module.cpu()
            return [p.detach().numpy() for p in module.parameters()]
        """,
        """
        def flat(module: nn.Module):
            found = []
            for p in module.parameters():
                if p.requires_grad:
                    found.append(p.detach().view(-1).numpy().copy())
            return found
        """,
    ),
    "a range that begins at 0 is not empty, whatever was asked before": (
        """
        class Table(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.register_buffer("rope", torch.arange(n))

            def forward(self, x: torch.Tensor):
                if x.numel() == 0:
                    return x.mean() * torch.arange(0)
                return x * self.rope[: x.size(0)]
        """,
        """
        class Table(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.rope = torch.arange(n) if n else None

            def forward(self, x: torch.Tensor):
                if x.size(0) > self.rope.size(0):
                    self.rope = torch.arange(0, 2 * x.size(0))
                return x * self.rope[: x.size(0)]
        """,
    ),
    "what is registered by keyword, and given other data, stays where it is": (
        """
        class Mixture(lib.Kernel):
            def __init__(self, n):
                super().__init__()
                self.register_parameter(name="means", parameter=nn.Parameter(torch.zeros(n, 3)))
                self.register_parameter(name="scales", parameter=nn.Parameter(torch.zeros(n, 3)))

            def start(self, x: torch.Tensor):
                found = torch.zeros(1, 3, device=x.device)
                self.scales.data = self.limits.inverse(self.scales.data)
                self.means.data.uniform_().div_(found)
        """,
        """
        class Mixture(lib.Kernel):
            def __init__(self, n):
                super().__init__()
                self.register_parameter(name="means", parameter=nn.Parameter(torch.zeros(n, 3)))
                self.register_parameter(name="scales", parameter=nn.Parameter(torch.zeros(n, 3)))

            def start(self, x: torch.Tensor):
                found = torch.zeros(1, 3)
                self.scales.data = self.limits.inverse(self.scales.data)
                self.means.data.uniform_().div_(found)
        """,
    ),
    "what a part of a module makes of who knows what is where the module is": (
        """
        class Net(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.encoder = lib.build(cfg)
                self.tokenizer = lib.build(cfg)

            def step(self, inputs):
                ids = self.tokenizer(inputs["text"])
                ids = torch.cat([ids, torch.zeros(ids.size(0), 1)], 1)
                found = self.encoder(inputs["x"])
                return ids, torch.cat([found, torch.zeros(found.size(0), 1, device=found.device)], 1)
        """,
        """
        class Net(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.encoder = lib.build(cfg)

            def step(self, inputs):
                found = self.encoder(inputs["x"])
                return torch.cat([found, torch.zeros(found.size(0), 1)], 1)
        """,
    ),
    "a resampler holds a kernel": (
        """
        import torchaudio

        class Reader:
            def __init__(self, net, device):
                self.device = torch.device(device)
                self.net = net.to(self.device)

            def read(self, path, rate):
                sound, own = torchaudio.load(path)
                sound = torchaudio.transforms.Resample(own, rate).to(self.device)(sound.to(self.device))
                return self.net(torchaudio.transforms.AmplitudeToDB()(sound))
        """,
        """
        import torchaudio

        class Reader:
            def __init__(self, net, device):
                self.device = torch.device(device)
                self.net = net.to(self.device)

            def read(self, path, rate):
                sound, own = torchaudio.load(path)
                sound = torchaudio.transforms.Resample(own, rate)(sound.to(self.device))
                return self.net(sound)
        """,
    ),
}


def _codes(program: str) -> list[str]:
    config = Config(select=("ALL",), ignore=("TDV1",))
    return [found.code for found in findings(HEAD + textwrap.dedent(program), "program.py", config)]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []
