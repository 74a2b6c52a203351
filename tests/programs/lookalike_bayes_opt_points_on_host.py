import math
import torch
from torch import nn


class RBF(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.log_ls = nn.Parameter(torch.zeros(d))
        self.log_var = nn.Parameter(torch.zeros(()))

    def forward(self, a, b):
        a, b = a / self.log_ls.exp(), b / self.log_ls.exp()
        return self.log_var.exp() * torch.exp(-0.5 * torch.cdist(a, b).pow(2))

    def diag(self, a):
        return self.log_var.exp().expand(a.shape[0])


class SGPR(nn.Module):
    """Titsias' collapsed bound."""

    def __init__(self, x, y, m, jitter=1e-4):
        super().__init__()
        self.register_buffer("x", x)
        self.register_buffer("y", y)
        pick = torch.randperm(len(x))[:m]
        self.z = nn.Parameter(x[pick].clone())
        self.kern = RBF(x.shape[1])
        self.log_noise = nn.Parameter(torch.tensor(-1.0))
        self.jitter = jitter

    def _common(self):
        noise = self.log_noise.exp()
        kuu = self.kern(self.z, self.z) + self.jitter * torch.eye(len(self.z), device=self.z.device)
        L = torch.linalg.cholesky(kuu)
        A = torch.linalg.solve_triangular(L, self.kern(self.z, self.x), upper=False) / noise.sqrt()
        B = A @ A.T + torch.eye(len(self.z)).to(A)
        LB = torch.linalg.cholesky(B)
        c = torch.linalg.solve_triangular(LB, A @ self.y[:, None], upper=False) / noise.sqrt()
        return noise, L, A, LB, c

    def elbo(self):
        n = len(self.x)
        noise, L, A, LB, c = self._common()
        bound = -0.5 * n * math.log(2 * math.pi) - LB.diagonal().log().sum() - 0.5 * n * noise.log()
        bound = bound - 0.5 * self.y.pow(2).sum() / noise + 0.5 * c.pow(2).sum()
        return bound - 0.5 * self.kern.diag(self.x).sum() / noise + 0.5 * A.pow(2).sum()

    @torch.no_grad()
    def predict(self, xs):
        noise, L, A, LB, c = self._common()
        ks = self.kern(self.z, xs)
        t1 = torch.linalg.solve_triangular(L, ks, upper=False)
        t2 = torch.linalg.solve_triangular(LB, t1, upper=False)
        mean = (t2.T @ c).squeeze(1)
        var = self.kern.diag(xs) + t2.pow(2).sum(0) - t1.pow(2).sum(0)
        return mean, var.clamp_min(0) + noise


def acquisition(mean, var, best):
    sd = var.sqrt()
    u = (mean - best) / sd
    n = torch.distributions.Normal(torch.zeros((), device=u.device), torch.ones((), device=u.device))
    return sd * (u * n.cdf(u) + n.log_prob(u).exp())


def bayes_opt(f, device, rounds=3):
    x = torch.rand(12, 2)
    y = f(x)
    for _ in range(rounds):
        gp = SGPR(x, y - y.mean(), 8).to(device)
        opt = torch.optim.Adam(gp.parameters(), lr=0.05)
        for _ in range(6):
            opt.zero_grad()
            loss = -gp.elbo()
            loss.backward()
            opt.step()
        cand = torch.rand(64, 2)
        mean, var = gp.predict(cand.to(device))
        best = (y - y.mean()).max()
        pick = acquisition(mean, var, best).argmax().item()
        x = torch.cat([x, cand[pick:pick + 1]])
        y = torch.cat([y, f(cand[pick:pick + 1])])
    return x, y, loss.item()


torch.manual_seed(0)
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x, y, last = bayes_opt(lambda p: -(p - 0.3).pow(2).sum(1) + 0.05 * torch.sin(20 * p[:, 0]), dev)
print(len(x), round(y.max().item(), 3), x[y.argmax()].tolist(), round(last, 3))
