import torch
from torch import nn


class DeviceMixin:
    """Follows the device of what it is mixed into."""

    _dev = torch.device("cpu")

    @property
    def device(self):
        return self._dev

    def to(self, *args, **kwargs):
        out = super().to(*args, **kwargs)
        probe = next(iter(self.parameters()), None)
        if probe is not None:
            self._dev = probe.device
        for name in getattr(self, "_host_tensors", ()):
            setattr(self, name, getattr(self, name).to(self._dev))
        return out


class RunningNorm:
    def init_norm(self, d):
        self.mean = torch.zeros(d)
        self.var = torch.ones(d)
        self._host_tensors = ("mean", "var")

    def normalize(self, x):
        if self.training:
            with torch.no_grad():
                self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
                self.var = 0.9 * self.var + 0.1 * x.var(0)
        return (x - self.mean) / (self.var + 1e-5).sqrt()


class Policy(RunningNorm, DeviceMixin, nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.init_norm(d)
        self.net = nn.Linear(d, n)

    def forward(self, x):
        return self.net(self.normalize(x))

    def act(self, obs):
        x = torch.tensor(obs, dtype=torch.float32, device=self.device)
        return self(x[None]).argmax(-1).item()


def select_device():
    return "cuda:0" if torch.cuda.is_available() else "cpu"


pol = Policy(3, 2).to(select_device())
opt = torch.optim.SGD(pol.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(16, 3, device=pol.device)
    loss = pol(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
pol.eval()
print(pol.act([0.1, 0.2, 0.3]), pol.mean.device == pol.device)
