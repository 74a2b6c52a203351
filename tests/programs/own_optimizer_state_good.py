import torch
from torch.optim import Optimizer

class LionW(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if len(st) == 0:
                    st["exp_avg"] = torch.zeros_like(p)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                upd = st["exp_avg"].mul(b1).add_(p.grad, alpha=1 - b1).sign_()
                p.add_(upd, alpha=-group["lr"])
                st["exp_avg"].mul_(b2).add_(p.grad, alpha=1 - b2)
        return loss

class GradNormTracker:
    def __init__(self, params):
        self.params = list(params)
        self.total = torch.zeros(1, device=self.params[0].device)
        self.history = []
    def update(self):
        norms = torch.stack([p.grad.norm() for p in self.params if p.grad is not None])
        self.total += norms.sum()
        self.history.append(norms.max())
    def report(self):
        h = torch.stack(self.history).cpu().numpy()
        return float(h.mean()), self.total.item()

class SWA:
    def __init__(self, model):
        self.n = 0
        self.avg = [torch.zeros_like(p, device="cpu") for p in model.parameters()]
    def collect(self, model):
        self.n += 1
        for a, p in zip(self.avg, model.parameters()):
            a += (p.detach().cpu() - a) / self.n
    def apply(self, model):
        for a, p in zip(self.avg, model.parameters()):
            p.data.copy_(a)

def make_data(n, device):
    g = torch.Generator(device=device)
    g.manual_seed(3)
    x = torch.randn(n, 5, generator=g, device=device)
    w = torch.tensor([1., -2., 0., 3., 0.5], device=device)
    return x, x @ w + 0.1 * torch.randn(n, generator=g, device=device)

device = torch.accelerator.current_accelerator() if hasattr(torch, "accelerator") and torch.accelerator.is_available() else torch.device("cpu")
x, y = make_data(64, device)
net = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to(device)
opt = LionW(net.parameters(), lr=1e-2, weight_decay=0.1)
tracker, swa = GradNormTracker(net.parameters()), SWA(net)
for ep in range(3):
    for xb, yb in zip(x.chunk(4), y.chunk(4)):
        def closure():
            opt.zero_grad()
            l = (net(xb).squeeze(-1) - yb).square().mean()
            l.backward()
            tracker.update()
            return l
        loss = opt.step(closure)
    swa.collect(net)
    print(ep, float(loss))
swa.apply(net)
print(tracker.report())
