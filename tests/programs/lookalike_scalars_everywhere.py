"""0-dim CPU tensors as coefficients, thresholds and constants."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

TWO_PI = torch.tensor(2 * 3.14159265)
EPS = torch.tensor(1e-6)
lambdas = torch.linspace(0, 1, 4)
betas = torch.linspace(1e-4, 0.02, 10)


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.tensor(3.0)
        self.lin = nn.Linear(2, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return self.out(torch.sin(TWO_PI * self.scale * self.lin(x)))


net = Wave().to(device)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
floor = torch.tensor(0.0)
for step, lam in enumerate(lambdas):
    x = torch.rand(16, 2, device=device)
    pred = net(x)
    data = F.mse_loss(pred, x.sum(1, keepdim=True))
    reg = sum(p.abs().sum() for p in net.parameters())
    loss = data + lam * 1e-3 * reg + EPS
    opt.zero_grad()
    loss.backward()
    opt.step()
    clipped = torch.where(pred > floor, pred, torch.tensor(0.0))
    t = torch.randint(10, (1,)).item()
    noised = (1 - betas[t]).sqrt() * x + betas[t].sqrt() * torch.randn_like(x)
    print(step, round(loss.item(), 3), tuple(clipped.shape), tuple(noised.shape))
total = torch.tensor(0.0)
for v in (loss.detach().cpu(), data.detach().cpu()):
    total += v
print(total > 0, (pred >= torch.tensor(0.5)).sum().item())
