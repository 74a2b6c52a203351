import torch
from torch import nn


class QuantileBins(nn.Module):
    """Edges are fitted on the host and become buffers."""

    def __init__(self, n):
        super().__init__()
        self.n = n
        self.register_buffer("edges", torch.empty(0))

    def fit(self, values):
        q = torch.linspace(0, 1, self.n + 1)[1:-1]
        self.edges = torch.quantile(values, q)
        return self

    def forward(self, v):
        return torch.bucketize(v, self.edges)


class Spline(nn.Module):
    """piecewise linear, monotone"""

    def __init__(self, k=6):
        super().__init__()
        self.raw_w, self.raw_h = nn.Parameter(torch.zeros(k)), nn.Parameter(torch.zeros(k))

    @staticmethod
    def knots(raw):
        return nn.functional.pad(raw.softmax(0).cumsum(0), (1, 0))

    def forward(self, x):
        xs, ys = self.knots(self.raw_w), self.knots(self.raw_h)
        i = torch.searchsorted(xs.detach(), x.clamp(1e-4, 1 - 1e-4).contiguous()).clamp(1, len(xs) - 1)
        slope = (ys[i] - ys[i - 1]) / (xs[i] - xs[i - 1])
        return ys[i - 1] + slope * (x - xs[i - 1]), slope.log()


class Survival(nn.Module):
    def __init__(self, bins, d):
        super().__init__()
        self.bins = bins
        self.h = nn.Linear(d, bins.n)

    def loss(self, x, t, event):
        k = self.bins(t)
        hz = self.h(x).sigmoid()
        surv = torch.cumsum(torch.log1p(-hz.clamp(max=1 - 1e-6)), 1)
        before = nn.functional.pad(surv, (1, 0)).gather(1, k[:, None]).squeeze(1)
        at = hz.gather(1, k[:, None]).squeeze(1)
        return -(before + torch.where(event, at.clamp(min=1e-6).log(), torch.log1p(-at.clamp(max=1 - 1e-6)))).mean()


def ecdf(sample, at):
    s = sample.sort().values
    return torch.searchsorted(s, at, right=True) / len(s)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
times = torch.distributions.Weibull(2.0, 1.5).sample((64,))
event = torch.rand(64) < 0.8
x = torch.randn(64, 3)
model = Survival(QuantileBins(5).fit(times), 3).to(device)
flow = Spline().to(device)
opt = torch.optim.Adam([*model.parameters(), *flow.parameters()], 1e-2)
u = ecdf(times, times)
for _ in range(4):
    idx = torch.randperm(64)[:16]
    z, logdet = flow(u[idx].to(device))
    loss = model.loss(x[idx].to(device), times[idx].to(device), event[idx].to(device)) - 0.01 * logdet.mean() + (z.mean() - 0.5) ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), torch.bincount(torch.bucketize(times, model.bins.edges.cpu()), minlength=5).tolist())
