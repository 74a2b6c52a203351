import torch
from torch import nn

REGISTRY = {}


def register(name):
    def deco(cls):
        REGISTRY[name] = cls
        return cls
    return deco


@register("prefix")
class Prefix(nn.Module):
    def __init__(self, d, n=2):
        super().__init__()
        self.tokens = nn.Parameter(torch.zeros(n, d))

    def forward(self, x):
        return torch.cat([self.tokens.expand(x.size(0), -1, -1), x], 1)


@register("scale")
class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * self.g


class Host(nn.Module):
    def __init__(self, d=8, classes=3):
        super().__init__()
        self.d = d
        self.inp = nn.Linear(4, d)
        self.adapters = nn.ModuleDict()
        self.core = nn.TransformerEncoderLayer(d, 2, 16, batch_first=True)
        self.out = nn.Linear(d, classes)

    @property
    def device(self):
        return self.out.weight.device

    def add_adapter(self, name, **kw):
        self.adapters[name] = REGISTRY[name](self.d, **kw).to(self.device)
        return self

    def forward(self, x):
        h = self.inp(x)
        for a in self.adapters.values():
            h = a(h)
        return self.out(self.core(h).mean(1))


def run(device):
    host = Host().to(device)
    host.add_adapter("prefix", n=3).add_adapter("scale")
    opt = torch.optim.Adam(host.adapters.parameters(), 1e-2)
    for step in range(2):
        x = torch.randn(4, 5, 4, device=host.device)
        y = torch.zeros(4, dtype=torch.long, device=host.device)
        loss = nn.functional.cross_entropy(host(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    host.out = nn.Linear(host.d, 2).to(host.device)
    print(device, loss.item(), host(x).shape)


for d in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
    run(d)
