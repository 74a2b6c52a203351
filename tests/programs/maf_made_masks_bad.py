import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskedLinear(nn.Linear):
    def __init__(self, i, o):
        super().__init__(i, o)
        self.mask = None  # CAUSE

    def set_mask(self, mask):
        self.mask = mask

    def forward(self, x):
        return F.linear(x, self.mask * self.weight, self.bias)  # FAIL


class MADE(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.net = nn.Sequential(MaskedLinear(d, h), nn.ReLU(), MaskedLinear(h, 2 * d))
        deg_in, deg_h = torch.arange(d), torch.randint(0, d - 1, (h,))
        self.net[0].set_mask((deg_h[:, None] >= deg_in[None]).float())
        self.net[2].set_mask((deg_in.repeat(2)[:, None] > deg_h[None]).float())

    #!+
    def forward(self, x):
        mu, ls = self.net(x).chunk(2, 1)
        return (x - mu) * torch.exp(-ls), -ls.sum(1)


device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
flow = MADE(4, 16).to(device)  # CAUSE
base = torch.distributions.Normal(torch.zeros(4, device=device), torch.ones(4, device=device))
x = torch.randn(32, 4).to(device)
z, logdet = flow(x)  # CALL
loss = -(base.log_prob(z).sum(1) + logdet).mean()
loss.backward()
print(loss.item())
