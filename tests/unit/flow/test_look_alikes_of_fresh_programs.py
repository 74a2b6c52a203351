"""Pairs of look-alikes from batches of whole programs: what was missed there, or reported and right, beside its opposite."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.registry import all_rules

HEAD = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
"""

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

PAIRS: dict[str, tuple[str, str]] = {
    "what is taken from a registry of classes of several sorts": (
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.layer = nn.Linear(n, n)
            def forward(self, x):
                return self.layer(x)
        class Loss(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = torch.ones(n)
            def forward(self, x, y):
                return ((x - y) * self.weight.to(x.device)).mean()
        KINDS = {"net": Net, "loss": Loss}
        def main(config):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = KINDS[config.net](3).to(device)
            loss = KINDS[config.loss](3)
            x = torch.zeros(2, 3).to(device)
            loss(net(x), x)
        """,
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.layer = nn.Linear(n, n)
            def forward(self, x):
                return self.layer(x)
        class Loss(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = torch.ones(n)
            def forward(self, x, y):
                return ((x - y) * self.weight.to(x.device)).mean()
        KINDS = {"net": Net, "loss": Loss}
        def main(config):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = KINDS["net"](3)
            loss = KINDS["loss"](3)
            x = torch.zeros(2, 3).to(device)
            loss(net(x), x)
        """,
    ),
    "numbers unpacked from a short tensor": (
        """
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.stats = torch.tensor([40.0, 12.0])
            def forward(self, x):
                mean, std = self.stats
                return self.lin((x - mean) / std)
        model = Scaled().cuda()
        model(torch.randn(2, 2).cuda())
        """,
        """
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.stats = torch.tensor([[40.0, 12.0], [1.0, 2.0]])
            def forward(self, x):
                mean, std = self.stats
                return self.lin((x - mean) / std)
        model = Scaled().cuda()
        model(torch.randn(2, 2).cuda())
        """,
    ),
    "`is_cuda` in a program that only knows the current GPU": (
        """
        class Rotation(nn.Module):
            def __init__(self, k):
                super().__init__()
                self.k = k
                self.fc = nn.Linear(3, k)
            def forward(self, x):
                eye = torch.eye(self.k)
                if x.is_cuda:
                    eye = eye.cuda()
                return self.fc(x) + eye
        net = Rotation(3)
        x = torch.randn(3, 3)
        if torch.cuda.is_available():
            net, x = net.cuda(), x.cuda()
        net(x)
        """,
        """
        class Rotation(nn.Module):
            def __init__(self, k):
                super().__init__()
                self.k = k
                self.fc = nn.Linear(3, k)
            def forward(self, x):
                eye = torch.eye(self.k)
                if x.is_cuda:
                    eye = eye.cuda()
                return self.fc(x) + eye
        net = Rotation(3)
        x = torch.randn(3, 3)
        if torch.cuda.device_count() > 1:
            net, x = net.to("cuda:1"), x.to("cuda:1")
        net(x)
        """,
    ),
    "a Sequential of one's own": (
        """
        class Stack(nn.Sequential):
            def __init__(self, dim, depth):
                blocks = [nn.Linear(2, dim)]
                for _ in range(depth):
                    blocks += [nn.Linear(dim, dim), nn.GELU()]
                super().__init__(*blocks, nn.Flatten())
        model = Stack(3, 2).cuda()
        model(torch.randn(2, 2).cuda())
        """,
        """
        class Stack(nn.Sequential):
            def __init__(self, dim, depth):
                blocks = [nn.Linear(2, dim)]
                for _ in range(depth):
                    blocks += [nn.Linear(dim, dim), nn.GELU()]
                super().__init__(*blocks, nn.Flatten())
        model = Stack(3, 2)
        model(torch.randn(2, 2).cuda())
        """,
    ),
    "a model with a dropout of one's own": (
        """
        class Drop(nn.Dropout2d):
            def forward(self, x):
                return super().forward(x.unsqueeze(0)).squeeze(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop, self.lin = Drop(0.3), nn.Linear(2, 2)
            def forward(self, x):
                return self.lin(self.drop(x))
        model = Net()
        model.cuda()
        model(torch.randn(2, 2, 2).cuda())
        """,
        """
        class Drop(nn.Dropout2d):
            def forward(self, x):
                return super().forward(x.unsqueeze(0)).squeeze(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop, self.lin = Drop(0.3), nn.Linear(2, 2)
            def forward(self, x):
                return self.lin(self.drop(x))
        model = Net()
        model(torch.randn(2, 2, 2).cuda())
        """,
    ),
    "a linear layer of one's own and its weight": (
        """
        class Noisy(nn.Linear):
            def __init__(self, i, o):
                super().__init__(i, o)
            def forward(self, x):
                return nn.functional.linear(x, self.weight.abs(), self.bias)
        layer = Noisy(2, 3).cuda()
        layer(torch.randn(2, 2).cuda())
        """,
        """
        class Noisy(nn.Linear):
            def __init__(self, i, o):
                super().__init__(i, o)
            def forward(self, x):
                return nn.functional.linear(x, self.weight.abs(), self.bias)
        layer = Noisy(2, 3)
        layer(torch.randn(2, 2).cuda())
        """,
    ),
    "the index of a device put in by `format`": (
        """
        def main(gpu):
            device = torch.device("cuda:{}".format(gpu) if torch.cuda.is_available() else "cpu")
            return torch.ones(3).to(device) + torch.zeros(3).to("cuda:{}".format(gpu) if torch.cuda.is_available() else "cpu")
        """,
        """
        def main(gpu):
            device = torch.device("cuda:{}".format(gpu) if torch.cuda.is_available() else "cpu")
            return torch.ones(3).to(device) + torch.zeros(3)
        """,
    ),
    "the index of a device put in by `%`": (
        """
        def main(gpu):
            device = torch.device("cuda:%d" % gpu)
            return torch.ones(3).to(device) + torch.zeros(3).to(f"cuda:{gpu}")
        """,
        """
        def main(gpu):
            device = torch.device("cuda:%d" % gpu)
            return torch.ones(3).to(device) + torch.zeros(3)
        """,
    ),
    "the index of a device added as text": (
        """
        def main(gpu):
            device = torch.device("cuda:" + str(gpu))
            return torch.ones(3).to(device) + torch.zeros(3, device=device)
        """,
        """
        def main(gpu):
            device = torch.device("cuda:" + str(gpu))
            return torch.ones(3).to(device) + torch.zeros(3)
        """,
    ),
    "the causal mask that `nn.Transformer` makes": (
        """
        layer = nn.TransformerEncoderLayer(8, 2, 16).cuda()
        x = torch.randn(4, 2, 8).cuda()
        layer(x, src_mask=nn.Transformer.generate_square_subsequent_mask(4, device=x.device))
        """,
        """
        layer = nn.TransformerEncoderLayer(8, 2, 16).cuda()
        x = torch.randn(4, 2, 8).cuda()
        layer(x, src_mask=nn.Transformer.generate_square_subsequent_mask(4))
        """,
    ),
    "the causal mask that a transformer of one's own is asked for": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.core = nn.Transformer(8, 2, 1, 1, 16)
            def forward(self, a, b):
                mask = self.core.generate_square_subsequent_mask(len(b)).to(b.device)
                return self.core(a, b) + mask.sum(1)[:, None, None]
        Net().cuda()(torch.zeros(3, 2, 8).cuda(), torch.zeros(3, 2, 8).cuda())
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.core = nn.Transformer(8, 2, 1, 1, 16)
            def forward(self, a, b):
                mask = self.core.generate_square_subsequent_mask(len(b))
                return self.core(a, b) + mask.sum(1)[:, None, None]
        Net().cuda()(torch.zeros(3, 2, 8).cuda(), torch.zeros(3, 2, 8).cuda())
        """,
    ),
    "the weights of a loss in a partial that is handed on": (
        """
        from functools import partial
        def step(out, y, loss):
            return loss(out, y)
        def main():
            out, y = nn.Linear(2, 2).cuda()(torch.zeros(3, 2).cuda()), torch.zeros(3).long().cuda()
            step(out, y, partial(nn.functional.cross_entropy, weight=torch.tensor([1.0, 2.0], device=out.device)))
        main()
        """,
        """
        from functools import partial
        def step(out, y, loss):
            return loss(out, y)
        def main():
            out, y = nn.Linear(2, 2).cuda()(torch.zeros(3, 2).cuda()), torch.zeros(3).long().cuda()
            step(out, y, partial(nn.functional.cross_entropy, weight=torch.tensor([1.0, 2.0])))
        main()
        """,
    ),
    "a table made of a list and what is added to it": (
        """
        import json
        class Offsets(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.register_buffer("offsets", torch.tensor([0] + sizes[:-1]).cumsum(0))
                self.embedding = nn.Embedding(sum(sizes), 4)
            def forward(self, x):
                return self.embedding(x + self.offsets)
        net = Offsets(json.loads("[3, 4]")).cuda()
        net(torch.zeros(5, 2, dtype=torch.long).cuda())
        """,
        """
        import json
        class Offsets(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.offsets = torch.tensor([0] + sizes[:-1]).cumsum(0)
                self.embedding = nn.Embedding(sum(sizes), 4)
            def forward(self, x):
                return self.embedding(x + self.offsets)
        net = Offsets(json.loads("[3, 4]")).cuda()
        net(torch.zeros(5, 2, dtype=torch.long).cuda())
        """,
    ),
    "a part that is run under a checkpoint": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin, self.tail = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            def part(self, x, scale):
                return self.lin(x) * scale
            def forward(self, x):
                x = checkpoint(self.part, x, torch.full((2,), 0.5, device=x.device), use_reentrant=False)
                return checkpoint_sequential(self.tail, 2, x, use_reentrant=False)
        net, head = Net().cuda(), nn.Linear(2, 2).cuda()
        head(net(torch.randn(2, 2).cuda()))
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin, self.tail = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            def part(self, x, scale):
                return self.lin(x) * scale
            def forward(self, x):
                x = checkpoint(self.part, x, torch.full((2,), 0.5), use_reentrant=False)
                return checkpoint_sequential(self.tail, 2, x, use_reentrant=False)
        net, head = Net().cuda(), nn.Linear(2, 2).cuda()
        head(net(torch.randn(2, 2).cuda()))
        """,
    ),
    "a model that is called after something ran under a checkpoint": (
        """
        net, head = nn.Linear(2, 2).cuda(), nn.Linear(2, 2).cuda()
        for _ in range(2):
            head(checkpoint(net.forward, torch.randn(2, 2).cuda(), use_reentrant=False))
        """,
        """
        net, head = nn.Linear(2, 2).cuda(), nn.Linear(2, 2)
        for _ in range(2):
            head(checkpoint(net.forward, torch.randn(2, 2).cuda(), use_reentrant=False))
        """,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent_and_the_wrong_one_is_not(name: str) -> None:
    right, wrong = (HEAD + textwrap.dedent(program) for program in PAIRS[name])
    assert [str(one) for one in findings(right, "right.py", DEFAULT_RULES)] == []
    assert findings(wrong, "wrong.py", DEFAULT_RULES) != []


def test_the_attribute_that_is_named_is_the_one_that_stays_behind() -> None:
    program = HEAD + textwrap.dedent("""
        class Loss(nn.Module):
            def __init__(self, smoothing, weight):
                super().__init__()
                self.smoothing, self.weight = smoothing, weight
                self.lin = nn.Linear(3, 3)
            def forward(self, x):
                return self.lin(x) * self.weight
        loss = Loss(0.1, torch.ones(3)).cuda()
        loss(torch.zeros(2, 3).cuda())
    """)
    assert ["`self.weight`" in one.message for one in findings(program, "train.py", DEFAULT_RULES)] == [True]


def test_a_module_of_buffers_only_is_asked_for_those() -> None:
    program = HEAD + textwrap.dedent("""
        class Smear(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("centers", torch.linspace(0, 1, 4))
            def forward(self, d):
                return d[:, None] - self.centers
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.smear, self.lin = Smear(), nn.Linear(4, 1)
            def forward(self, d):
                return self.lin(self.smear(d))
        net = Net().cuda()
        smear = net.smear
        smear(torch.ones(3))
    """)
    fixes = [one.fix for one in findings(program, "train.py", DEFAULT_RULES)]
    assert ["next(smear.buffers()).device" in str(fix) for fix in fixes] == [True]
