import copy
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

device = "cuda" if torch.cuda.is_available() else "cpu"

class Member(nn.Module):
    def __init__(self, d_in, d_out, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.f = nn.Sequential(nn.Linear(d_in, 16), nn.SiLU(), nn.Linear(16, d_out))
        self.register_buffer("mu", torch.zeros(d_in))
        self.register_buffer("sd", torch.ones(d_in))
    def fit_norm(self, x):
        self.mu.copy_(x.mean(0)); self.sd.copy_(x.std(0))
    def forward(self, x):
        return self.f((x - self.mu) / self.sd)

class Ensemble:
    def __init__(self, n, d_in, d_out):
        self.members = [Member(d_in, d_out, s).to(device) for s in range(n)]
        self.opts = [torch.optim.Adam(m.parameters(), 1e-2) for m in self.members]
        self.weights = torch.full((n,), 1 / n, device=device)

    def fit(self, x, y, steps=3):
        for m, o in zip(self.members, self.opts):
            boot = torch.randint(len(x), (len(x),))
            xb, yb = x[boot].to(device), y[boot].to(device)
            m.fit_norm(xb)
            for _ in range(steps):
                o.zero_grad()
                loss = nn.functional.gaussian_nll_loss(m(xb)[:, :1], yb, m(xb)[:, 1:].exp())
                loss.backward()
                o.step()

    @torch.no_grad()
    def predict(self, x):
        x = x.to(device)
        preds = torch.stack([m(x)[:, 0] for m in self.members])
        mean = (self.weights[:, None] * preds).sum(0)
        var = (self.weights[:, None] * (preds - mean) ** 2).sum(0)
        return mean, var

    @torch.no_grad()
    def predict_vmapped(self, x):
        params, buffers = stack_module_state(self.members)
        base = copy.deepcopy(self.members[0]).to("meta")
        def f(p, b, x):
            return functional_call(base, (p, b), (x,))
        return vmap(f, in_dims=(0, 0, None))(params, buffers, x.to(device))[..., 0].mean(0)

    def reweight(self, x, y):
        x, y = x.to(device), y.to(device)
        with torch.no_grad():
            errs = torch.stack([(m(x)[:, :1] - y).square().mean() for m in self.members])
        self.weights = torch.softmax(-errs, 0)

x, y = torch.randn(40, 3), torch.randn(40, 1)
ens = Ensemble(3, 3, 2)
ens.fit(x, y)
mean, var = ens.predict(x[:5])
ens.reweight(x, y)
mean2, _ = ens.predict(x[:5])
resid = mean2.cpu() - y[:5, 0]
print(mean.mean().item(), var.mean().item(), resid.abs().mean().item())
print(sorted(zip(ens.weights.tolist(), range(3))))
