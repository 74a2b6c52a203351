import random
import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 24), nn.SiLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.f(x).squeeze(-1)


class Sampler:
    """persistent chains: at rest they are on the CPU"""

    def __init__(self, model, n=64, max_len=128):
        self.model = model
        self.examples = [torch.rand(1, 2) * 4 - 2 for _ in range(n)]
        self.max_len = max_len

    def sample(self, n, steps, device, step_size=0.1):
        new = sum(random.random() < 0.05 for _ in range(n))
        fresh = torch.rand(new, 2) * 4 - 2
        old = torch.cat(random.choices(self.examples, k=n - new))
        start = torch.cat([fresh, old]).detach().to(device)
        out = self.langevin(self.model, start, steps, step_size)
        self.examples = list(out.to("cpu").chunk(n)) + self.examples
        self.examples = self.examples[: self.max_len]
        return out

    @staticmethod
    def langevin(model, x, steps, step_size, trace=None):
        flags = [p.requires_grad for p in model.parameters()]
        for p in model.parameters():
            p.requires_grad = False
        x = x.requires_grad_(True)
        noise = torch.empty(x.shape, device=x.device)
        for _ in range(steps):
            noise.normal_(0, 0.01)
            g = torch.autograd.grad(model(x).sum(), x)[0].clamp(-1, 1)
            x = (x - step_size * g + noise).detach().requires_grad_(True)
            if trace is not None:
                trace.append(x.detach().cpu())
        for p, f in zip(model.parameters(), flags):
            p.requires_grad = f
        return x.detach()


def rings(n):
    r = torch.where(torch.rand(n) < 0.5, torch.tensor(0.7), torch.tensor(1.6))
    a = torch.rand(n) * 2 * torch.pi
    return torch.stack([r * a.cos(), r * a.sin()], 1) + 0.05 * torch.randn(n, 2)


def score_matching(model, x, v):
    x = x.requires_grad_(True)
    s = -torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
    hv = torch.autograd.grad((s * v).sum(), x, create_graph=True)[0]
    return ((hv * v).sum(1) + 0.5 * (s * v).sum(1) ** 2).mean()


def log_z(model, device, n=20):
    t = torch.linspace(-2.5, 2.5, n)
    grid = torch.cartesian_prod(t, t)
    with torch.no_grad():
        e = torch.cat([model(g.to(device)) for g in grid.split(100)])
    area = (t[1] - t[0]) ** 2
    return torch.logsumexp(-e, 0) + area.log()


device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
model = Energy().to(device)
chains = Sampler(model)
opt = torch.optim.Adam(model.parameters(), 1e-3, betas=(0.0, 0.999))
sched = torch.optim.lr_scheduler.StepLR(opt, 2, 0.97)
for it in range(4):
    real = rings(32).to(device)
    fake = chains.sample(32, 5, device)
    er, ef = model(torch.cat([real, fake])).chunk(2)
    loss = er.mean() - ef.mean() + 0.1 * (er**2 + ef**2).mean()
    loss = loss + 0.1 * score_matching(model, real.clone(), torch.randn_like(real))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
trace = []
Sampler.langevin(model, torch.zeros(4, 2, device=device), 3, 0.1, trace)
spread = torch.stack(trace).std(1).norm(dim=-1)
print(loss.item(), log_z(model, device).item(), spread.numpy().round(3), len(chains.examples))
