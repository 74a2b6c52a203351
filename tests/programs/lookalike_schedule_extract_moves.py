import torch
from torch import nn


def extract(a, t, shape):
    """Values of a table of the host at steps that may be anywhere."""
    out = a.gather(0, t.cpu())
    return out.reshape(t.shape[0], *((1,) * (len(shape) - 1))).to(t.device)


class Schedule:
    def __init__(self, T):
        self.T = T
        self.betas = torch.linspace(1e-4, 0.02, T)
        self.alphas = 1 - self.betas
        self.cum = torch.cumprod(self.alphas, 0)
        self.prev = torch.cat([torch.ones(1), self.cum[:-1]])
        self.var = self.betas * (1 - self.prev) / (1 - self.cum)

    def noise(self, x, t):
        eps = torch.randn_like(x)
        return extract(self.cum.sqrt(), t, x.shape) * x + extract((1 - self.cum).sqrt(), t, x.shape) * eps, eps

    @torch.no_grad()
    def p_sample(self, model, x, i):
        t = torch.full((x.shape[0],), i, device=x.device, dtype=torch.long)
        coef = self.betas[i] / (1 - self.cum[i]).sqrt()
        mean = (x - coef * model(x, t)) / self.alphas[i].sqrt()
        if i == 0:
            return mean
        return mean + self.var[i].sqrt() * torch.randn_like(x)

    def sample(self, model, shape):
        x = torch.randn(shape, device=next(model.parameters()).device)
        for i in reversed(range(self.T)):
            x = self.p_sample(model, x, i)
        return x


class Net(nn.Module):
    def __init__(self, d, T):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.a, self.b = nn.Linear(d, 16), nn.Linear(16, d)

    def forward(self, x, t):
        return self.b(torch.relu(self.a(x) + self.time(t)))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
schedule = Schedule(12)
net = Net(2, 12).to(device)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(3):
    x = torch.randn(16, 2).to(device)
    t = torch.randint(0, 12, (16,), device=device)
    xt, eps = schedule.noise(x, t)
    loss = (net(xt, t) - eps).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), schedule.sample(net, (4, 2)).cpu().numpy().std())
