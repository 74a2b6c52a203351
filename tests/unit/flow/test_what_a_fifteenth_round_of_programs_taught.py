"""What right programs of a fifteenth round taught, beside the mistakes that they look like."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "a context manager that gives on one of two ways": (
        """
        import contextlib
        import torch
        from torch import nn

        GPU = torch.device("cuda") if torch.cuda.is_available() else None

        @contextlib.contextmanager
        def borrowed(module):
            if GPU is None:
                yield lambda x: x
                return
            home = next(module.parameters()).device
            {0}
            try:
                yield lambda x: x.to(GPU)
            finally:
                module.to(home)

        net, x = nn.Linear(3, 3), torch.randn(4, 3)
        with borrowed(net) as up:
            print(net(up(x)).sum())
        print(net(x))
        """,
        [("module.to(GPU)", []), ("module.train()", ["TDV001"])],
    ),
    "what is kept for the device that it was made for": (
        """
        import torch
        from torch import nn

        class Conv(nn.Module):
            def __init__(self, cached=True):
                super().__init__()
                self.layer, self.cached, self.norm = nn.Linear(3, 3), cached, None

            def weights(self, index, n):
                if self.norm is None or not self.cached or {0}:
                    loops = torch.arange(n, device=index.device).expand(2, -1)
                    index = torch.cat([index, loops], 1)
                    degree = torch.ones(n, device=index.device)
                    self.norm = index, degree[index[0]]
                return self.norm

            def forward(self, x, index):
                index, weights = self.weights(index, x.size(0))
                h = self.layer(x)
                return torch.zeros_like(h).index_add(0, index[1], h[index[0]] * weights[:, None])

        net, x, index = Conv(), torch.randn(4, 3), torch.zeros(2, 5, dtype=torch.long)
        before = net(x, index)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net.to(device)
        for _ in range(3):
            print(net(x.to(device), index.to(device)))
        after = net(x.to(device), index.to(device))
        net.to("cpu")
        print(net(x, index))
        """,
        [
            ("self.norm[0].device != index.device", []),
            ("self.norm[0].dtype != index.dtype", ["TDV004", "TDV004"]),
        ],
    ),
    "an overridden `to` that reads its arguments as PyTorch does": (
        """
        import torch
        from torch import nn

        class Points(nn.Module):
            def __init__(self):
                super().__init__()
                self.x = {1}

            def to(self, *args, **kwargs):
                super().to(*args, **kwargs)
                device, _, _, _ = torch._C._nn._parse_to(*args, **kwargs)
                if device is not None:
                    {0}
                return self

            def forward(self, mean):
                return mean[..., None] * self.x

        device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        points = Points()
        points.to(device)
        print(points(torch.ones(3, device=device)))
        points.to("cpu")
        print(points(torch.ones(3)))
        """,
        [
            (("self.x = self.x.to(device)", "torch.ones(5)"), []),
            (("print(device)", "torch.ones(5)"), ["TDV006"]),
        ],
    ),
    "a module that is called after the host": (
        """
        import torch
        from torch import nn

        class Backbone(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)

        def convert(path, device, fused):
            net = Backbone().to(device)
            net.load_state_dict(torch.load(path, map_location="cpu"))
            {0} = Backbone().eval()
            {0}.load_state_dict(torch.load(path, map_location="cpu"))
            return fused({0}.layer), fused(net.layer)
        """,
        [("host", []), ("net_cpu", []), ("other", ["TDV021"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])
