import torch
from torch import nn

dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Offloaded(nn.Module):
    """blocks live on the host and visit the device one at a time"""

    def __init__(self, n=3):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(n))
        self.head = nn.Linear(4, 2)

    @torch.no_grad()
    def forward(self, x):
        x = x.to(dev)
        for b in self.blocks:
            b.to(dev)
            x = b(x)
            b.to("cpu")
        self.head.to(dev)
        out = self.head(x)
        self.head.cpu()
        return out.cpu()


m = Offloaded()
data = torch.randn(6, 4)
out = m(data)
labels = torch.randint(0, 2, (6,))
print(nn.functional.cross_entropy(out, labels).item())
ref = data
for b in m.blocks:
    ref = b(ref)
print(torch.allclose(m.head(ref), out, atol=1e-5), {p.device.type for p in m.parameters()})
