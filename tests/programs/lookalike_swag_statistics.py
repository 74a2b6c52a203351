import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class SWAG:
    """Moments of the weights, collected on the host, and samples written back."""

    def __init__(self, model, rank=3):
        n = sum(p.numel() for p in model.parameters())
        self.mean, self.sq = torch.zeros(n), torch.zeros(n)
        self.dev = torch.empty(0, n)
        self.n, self.rank = 0, rank

    @torch.no_grad()
    def collect(self, model):
        w = parameters_to_vector(model.parameters()).cpu()
        self.mean = (self.mean * self.n + w) / (self.n + 1)
        self.sq = (self.sq * self.n + w * w) / (self.n + 1)
        self.dev = torch.cat([self.dev, (w - self.mean)[None]])[-self.rank :]
        self.n += 1

    @torch.no_grad()
    def sample_into(self, model, scale=0.5, gen=None):
        var = (self.sq - self.mean**2).clamp(min=1e-12)
        z1 = torch.randn(self.mean.shape, generator=gen)
        z2 = torch.randn(len(self.dev), generator=gen)
        w = self.mean + scale * (var.sqrt() * z1 + self.dev.T @ z2 / max(1, len(self.dev) - 1) ** 0.5)
        device = next(model.parameters()).device
        vector_to_parameters(w.to(device), model.parameters())


def predictive(model, swag, x, n, gen):
    backup = parameters_to_vector(model.parameters()).detach().clone()
    probs = 0
    for _ in range(n):
        swag.sample_into(model, gen=gen)
        with torch.no_grad():
            probs = probs + model(x).softmax(-1) / n
    vector_to_parameters(backup, model.parameters())
    return probs


def ece(probs, y, bins=4):
    conf, pred = probs.cpu().max(1)
    hit = (pred == y).float()
    edges = torch.linspace(0, 1, bins + 1)
    total = 0.0
    for lo, hi in zip(edges[:-1], edges[1:]):
        k = (conf > lo) & (conf <= hi)
        if k.any():
            total += k.float().mean().item() * (conf[k].mean() - hit[k].mean()).abs().item()
    return total


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(80, 4)
y = x[:, :3].argmax(1)
xd, yd = x.to(device), y.to(device)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3)).to(device)
swag = SWAG(model)
opt = torch.optim.SGD(model.parameters(), 0.2, momentum=0.9)
for epoch in range(8):
    loss = nn.functional.cross_entropy(model(xd), yd)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch >= 4:
        swag.collect(model)
probs = predictive(model, swag, xd, 3, torch.Generator().manual_seed(3))
print(loss.item(), ece(probs, y), swag.n)
