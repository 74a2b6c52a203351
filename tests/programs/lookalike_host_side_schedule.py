import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
betas = torch.linspace(1e-4, 0.02, 8)
abar = (1 - betas).cumprod(0)
net = nn.Linear(3, 3).to(device)
x = torch.randn(4, 3, device=device)
with torch.no_grad():
    for t in reversed(range(8)):
        eps = net(x)
        x = (x - betas[t] / (1 - abar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        if t:
            x = x + betas[t].sqrt() * torch.randn_like(x)
idx = torch.randint(0, 8, (4,))
x = abar[idx].to(device)[:, None] * x
print(x.shape)
