"""What is moved and thrown away though no line says what it is: a tensor by its use, or an entry of a batch."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nfrom lib import build\n\n"

PAIRS: dict[str, tuple[str, str]] = {
    "entries of a batch, not of models": (
        """
        def run(models, device):
            for name in models:
                models[name].to(device)
            return models
        """,
        """
        def run(batch, device):
            for name in batch:
                batch[name].to(device)
            return batch
        """,
    ),
    "what a loader gives": (
        """
        def run(net, make, device):
            for x, _ in make():
                for name in x.keys():
                    x[name].to(device)
                net(x)
        """,
        """
        def run(net, data_loader, device):
            for x, _ in data_loader:
                for name in x.keys():
                    x[name].to(device)
                net(x)
        """,
    ),
    "values of a batch": (
        """
        def run(net, parts, device):
            for part in parts.values():
                part.to(device)
            return net(parts)
        """,
        """
        def run(net, batch, device):
            for part in batch.values():
                part.to(device)
            return net(batch)
        """,
    ),
    "by a method of tensors": (
        """
        def run(source, device):
            x = build(source)
            x.to(device)
            return x(source)
        """,
        """
        def run(source, device):
            x = build(source)
            x.to(device)
            return x.unsqueeze(0)
        """,
    ),
    "what has more than tensors have": (
        """
        def run(functions, device):
            for f in functions:
                f.to(device)
                x = torch.rand(f.dim(), device=device) * f.bounds
        """,
        """
        def run(functions, device):
            for f in functions:
                f.to(device)
                x = torch.rand(f.dim(), device=device) * f.mean()
        """,
    ),
    "what is called": (
        """
        def run(functions, device):
            for f in functions:
                f.to(device)
                x = f(torch.rand(f.dim(), device=device))
        """,
        """
        def run(functions, device):
            for f in functions:
                f.to(device)
                x = f + torch.rand(f.dim(), device=device)
        """,
    ),
    "by several indices": (
        """
        def show(data, draw):
            data.cpu()
            draw(data[0])
        """,
        """
        def show(data, draw):
            data.cpu()
            draw(data[0, :, :])
        """,
    ),
    "a name that holds one thing after another": (
        """
        def run(source, device):
            x = build(source)
            x.to(device)
            x = x(source)
            return x.unsqueeze(0)
        """,
        """
        def run(source, device):
            x = build(source)
            x.to(device)
            y = x.unsqueeze(0)
            return y
        """,
    ),
}


def _codes(text: str) -> list[str]:
    return [finding.code for finding in findings(HEAD + textwrap.dedent(text), "run.py", Config())]


@pytest.mark.parametrize("name", PAIRS)
def test_only_the_second_of_a_pair_is_at_fault(name: str) -> None:
    good, bad = PAIRS[name]
    assert _codes(good) == []
    assert _codes(bad) == ["TDV003"]
