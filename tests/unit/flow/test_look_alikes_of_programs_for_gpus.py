"""Pairs of look-alikes: moves that are thrown away and do no harm, and types that keep the index."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\n"

PAIRS: dict[str, tuple[str, str]] = {
    "what is moved for nothing is written into a part of another tensor": (
        """
        def filled(net: nn.Module, read, n):
            buffer = torch.zeros(n, 3)
            for i in range(n):
                found = torch.relu(net(read()).cuda())
                found.to("cpu")
                buffer[i : i + 1] = found
            return buffer
        """,
        """
        def filled(net: nn.Module, read, n):
            buffer = torch.zeros(n, 3)
            for i in range(n):
                found = torch.relu(net(read()).cuda())
                found.to("cpu")
                buffer = buffer + found
            return buffer
        """,
    ),
    "what is moved for nothing is moved again before it is read": (
        """
        def shown(n):
            x = torch.ones(n).cuda()
            x.to("cpu")
            x = x.cpu().detach().numpy()
            return x / np.max(x)
        """,
        """
        def shown(n):
            x = torch.ones(n).cuda()
            x.to("cpu")
            x = x.detach().numpy()
            return x / np.max(x)
        """,
    ),
    "loaded after a training in the same function": (
        """
        def run(trainer, folder, net: nn.Module, again=False):
            told = trainer.train(recover=again)
            net.load_state_dict(torch.load(folder + "/best_model.th"))
            return told, net
        """,
        """
        def run(folder, net: nn.Module):
            net.train()
            net.load_state_dict(torch.load(folder + "/best_model.th"))
            return net
        """,
    ),
    "what is loaded is what is trained": (
        """
        def run(trainer, path, net: nn.Module, read):
            trainer.fit(net, read())
            return net.load_state_dict(torch.load(path))
        """,
        """
        def run(trainer, path, net: nn.Module, read):
            trainer.fit(net.load_state_dict(torch.load(path)), read())
            return net
        """,
    ),
    "the type of a tensor beside one that is wherever the caller put it": (
        """
        def sampled(image: torch.Tensor, flow: torch.Tensor):
            grid = (torch.arange(3, device=flow.device) + flow).type(image.type())
            return torch.nn.functional.grid_sample(image, grid)
        """,
        """
        def sampled(image: torch.Tensor, flow: torch.Tensor):
            grid = torch.arange(3).type(image.type())
            return torch.nn.functional.grid_sample(image, grid)
        """,
    ),
}


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_what_is_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_what_is_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


def _codes(body: str) -> list[str]:
    told = findings(HEAD + textwrap.dedent(body), "code.py", Config())
    return [one.code for one in told if not one.code.startswith("TDV1")]
