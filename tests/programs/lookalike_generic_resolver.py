"""`device` may be None, a string or a device; one function sorts it out for all classes."""
import torch
from torch import nn


def resolve_device(device=None):
    if isinstance(device, torch.device):
        return device
    if device in (None, "auto"):
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return torch.device("cpu")
    return torch.device(device)


class Model(nn.Module):
    def __init__(self, width, device=None):
        super().__init__()
        self._device = resolve_device(device)
        self.lin = nn.Linear(width, width)
        self.to(self._device)

    @property
    def device(self):
        return self._device

    def to_tensor(self, rows):
        return torch.as_tensor(rows, dtype=torch.float32, device=self.device)

    def forward(self, rows):
        return self.lin(self.to_tensor(rows))


class Sampler:
    def __init__(self, model, n):
        self.model = model
        self.n = n

    def noise(self):
        return torch.randn(self.n, 3).to(self.model.device)

    def run(self, steps=2):
        x = self.noise()
        for _ in range(steps):
            x = x - 0.1 * self.model.lin(x)
        return x.mean().item()


for spec in (None, "auto", "cpu", torch.device("cpu")):
    m = Model(3, spec)
    print(m([[1, 2, 3]]).shape, m(torch.eye(3)).shape, Sampler(m, 4).run() is not None)
