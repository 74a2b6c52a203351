"""What a fifth list of mined bugs taught: mistakes that were not told, beside look-alikes that are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "a module is taken to the host every so many rounds": (
        """
        import torch
        from torch import nn

        device = "cuda" if torch.cuda.is_available() else "cpu"
        net = nn.Linear(3, 3).to(device)

        def save(name):
            torch.save({"model": {1}.state_dict()}, name)

        for step in range(10):
            x = torch.randn(4, 3).to(device)
            print(net(x).sum())
            if {0}:
                save(f"model{step}.pkl")
        """,
        [
            (("step % 5 == 0", "net.cpu()"), ["TDV001"]),
            (("(step + 1) % every == 0", "net.cpu()"), ["TDV001"]),
            (("step % 5 == 0", "net"), []),
            (("step == limit", "net.cpu()"), []),
            (("args.cpu and step % 5 == 0", "net.cpu()"), []),
        ],
    ),
    "a window that a loop fills, and to which another is added": (
        """
        from collections import deque
        import torch

        class Window:
            def __init__(self, env, device):
                self.env, self.device = env, device

            def reset(self, n):
                window = {0}
                for _ in range(n - 1):
                    window.append(torch.zeros(3{1}))
                {2}
                window.append(torch.from_numpy(self.env.reset()).float().to(self.device))
                return torch.stack({3})
        """,
        [
            (("deque(maxlen=n)", "", "pass", "list(window)"), ["TDV005"]),
            (("[]", "", "pass", "window"), ["TDV005"]),
            (("[]", "", "pass", "tuple(window)"), ["TDV005"]),
            (("[]", ", device=self.device", "pass", "window"), []),
            (("[]", "", "window.clear()", "window"), []),
            (("[]", "", "pass", "list(reversed(window))"), []),
        ],
    ),
    "where others are put by a name that has the device of an argument": (
        """
        import torch

        class Decoder(torch.nn.Module):
            def generate(self, x, seen):
                device = {0}
                start = torch.zeros(x.size(0), 3, device=device)
                query = torch.zeros(1, 3).cuda()
                return start + self.attend(query)
        """,
        [("x.device", ["TDV016"]), ("seen", [])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])


@pytest.mark.parametrize(
    ("place", "codes"), [('"mps"', ["TDV101"]), ('"cuda"', ["TDV101"]), ('"cpu"', []), ("device", [])]
)
def test_a_device_that_a_checkpoint_is_loaded_to(place: str, codes: list[str]) -> None:
    text = f"import torch\n\n\ndef load(path, device):\n    print(device)\n    return torch.load(path, map_location={place})\n"
    found = check_source(text, "program.py", Config(off_by_default=OFF_BY_DEFAULT - {"TDV101"}))
    assert [one.code for one in found] == codes
