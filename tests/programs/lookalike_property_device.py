import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.dummy = nn.Parameter(torch.empty(0))
        self.f = nn.Linear(3, 3)

    @property
    def device(self):
        return self.dummy.device

    def sample(self, n):
        z = torch.randn(n, 3, device=self.device)
        grid = torch.arange(n).to(self.device)
        return self.f(z) * grid[:, None]


dev = "cuda" if torch.cuda.is_available() else "cpu"
print(Net().to(dev).sample(4).shape)
