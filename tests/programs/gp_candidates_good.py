import math
import torch


class RBF(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.log_ls = torch.nn.Parameter(torch.zeros(d))
        self.log_var = torch.nn.Parameter(torch.zeros(()))

    def forward(self, a, b):
        a, b = a / self.log_ls.exp(), b / self.log_ls.exp()
        d2 = (a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1)
        return self.log_var.exp() * torch.exp(-0.5 * d2)


class ExactGP(torch.nn.Module):
    def __init__(self, x, y):
        super().__init__()
        self.register_buffer("x", x)
        self.register_buffer("y", y)
        self.kernel = RBF(x.shape[1])
        self.log_noise = torch.nn.Parameter(torch.tensor(-2.0))

    def _chol(self):
        K = self.kernel(self.x, self.x)
        K = K + (self.log_noise.exp() + 1e-5) * torch.eye(len(self.x), dtype=K.dtype, device=K.device)
        return torch.linalg.cholesky(K)

    def nll(self):
        L = self._chol()
        alpha = torch.cholesky_solve(self.y[:, None], L)
        return 0.5 * (self.y @ alpha).squeeze() + L.diagonal().log().sum() + 0.5 * len(self.x) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, xs):
        L = self._chol()
        Ks = self.kernel(self.x, xs)
        mean = Ks.T @ torch.cholesky_solve(self.y[:, None], L)
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        var = self.kernel(xs, xs).diagonal() - v.pow(2).sum(0)
        return mean.squeeze(-1), var.clamp(min=1e-9)


def expected_improvement(mean, var, best):
    sd = var.sqrt()
    z = (mean - best) / sd
    n = torch.distributions.Normal(0.0, 1.0)
    return (mean - best) * n.cdf(z) + sd * n.log_prob(z).exp()


def objective(x):
    return -(x - 0.3).pow(2).sum(-1) + 0.05 * torch.sin(20 * x).sum(-1)


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
X = torch.rand(6, 2)
Y = objective(X)
for it in range(3):
    gp = ExactGP(X, (Y - Y.mean()) / Y.std()).to(dev)
    opt = torch.optim.Adam(gp.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        loss = gp.nll()
        loss.backward()
        opt.step()
    cand = torch.rand(32, 2)
    mean, var = gp.predict(cand.to(dev))
    ei = expected_improvement(mean, var, mean.max())
    nxt = cand[ei.argmax().item()][None]
    X, Y = torch.cat([X, nxt]), torch.cat([Y, objective(nxt)])
    print(it, float(loss), Y.max().item())
