import math
import torch
from torch import nn
from torch.optim import Optimizer


class Lion(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), wd=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, wd=wd))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else torch.enable_grad()(closure)()
        for g in self.param_groups:
            b1, b2 = g["betas"]
            for p in g["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if not st:
                    st["m"] = torch.zeros(p.shape)  # CAUSE
                    st["step"] = torch.tensor(0.0)
                st["step"] += 1
                p.mul_(1 - g["lr"] * g["wd"])
                p.add_((st["m"] * b1 + p.grad * (1 - b1)).sign(), alpha=-g["lr"])  # FAIL
                st["m"].lerp_(p.grad, 1 - b2)
        return loss


class Lookahead:
    def __init__(self, opt, k=3, alpha=0.5):
        self.opt, self.k, self.alpha, self.n = opt, k, alpha, 0
        self.slow = [[p.detach().clone() for p in g["params"]] for g in opt.param_groups]

    def __getattr__(self, name):
        return getattr(self.opt, name)

    def step(self, closure=None):
        loss = self.opt.step(closure)
        self.n += 1
        if self.n % self.k == 0:
            for slow, g in zip(self.slow, self.opt.param_groups):
                for s, p in zip(slow, g["params"]):
                    s.add_(p.detach() - s, alpha=self.alpha)
                    p.data.copy_(s)
        return loss


class SAM:
    def __init__(self, params, base, rho=0.05):
        self.params, self.base, self.rho = list(params), base, rho

    def _norm(self):
        shared = self.params[0].device
        return torch.norm(torch.stack([p.grad.norm().to(shared) for p in self.params if p.grad is not None]))

    @torch.no_grad()
    def climb(self):
        scale = self.rho / (self._norm() + 1e-12)
        self.e = [p.grad * scale for p in self.params]
        for p, e in zip(self.params, self.e):
            p.add_(e)
            p.grad = None

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.e):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


def warm_cosine(step, total, warm=2):
    t = torch.tensor(step, dtype=torch.float)
    return torch.where(t < warm, t / warm, 0.5 * (1 + torch.cos(math.pi * (t - warm) / (total - warm)))).item()


device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
x = torch.randn(32, 4).to(device)
y = x.pow(2).sum(1, keepdim=True)
loss_fn = nn.MSELoss()
for name in ("lion", "lookahead", "sam"):
    net = nn.Sequential(nn.Linear(4, 12), nn.SiLU(), nn.Linear(12, 1)).to(device)
    base = Lion(net.parameters(), lr=1e-2, wd=1e-2)
    opt = Lookahead(base) if name == "lookahead" else base
    sam = SAM(net.parameters(), base) if name == "sam" else None
    for i in range(6):
        for g in base.param_groups:
            g["lr"] = 1e-2 * (warm_cosine(i, 6) + 0.1)
        opt.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        if sam:
            sam.climb()
            loss_fn(net(x), y).backward()
            sam.descend()
        else:
            opt.step()
    steps = {float(s["step"]) for s in base.state.values()}
    print(name, loss.item(), steps)
