import torch
from torch import Tensor


def solve_side(other: Tensor, ratings: Tensor, mask: Tensor, lam: float) -> Tensor:
    k = other.size(1)
    gram = torch.einsum("um,mi,mj->uij", mask, other, other)
    gram = gram + lam * torch.eye(k).to(other)
    rhs = (ratings * mask) @ other
    return torch.linalg.solve(gram, rhs.unsqueeze(-1)).squeeze(-1)


class ALS:
    def __init__(self, k=3, lam=0.1, iters=4, device=None):
        self.k, self.lam, self.iters = k, lam, iters
        if device is None:
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.device = device

    def fit(self, rows, cols, vals, shape):
        dense = torch.zeros(shape, device=self.device)
        mask = torch.zeros_like(dense)
        rows, cols, vals = (t.to(self.device) for t in (rows, cols, vals))
        self.mu = vals.mean()
        dense[rows, cols] = vals - self.mu
        mask[rows, cols] = 1.0
        g = torch.Generator().manual_seed(0)
        self.V = torch.randn(shape[1], self.k, generator=g).to(self.device) * 0.1
        self.history = []
        for _ in range(self.iters):
            self.U = solve_side(self.V, dense, mask, self.lam)
            self.V = solve_side(self.U, dense.T, mask.T, self.lam)
            err = ((self.U @ self.V.T - dense) * mask).square().sum() / mask.sum()
            self.history.append(err.sqrt().item())
        return self

    def predict(self, rows, cols):
        u, v = self.U[rows], self.V[cols]
        return ((u * v).sum(1) + self.mu).clamp(1, 5).cpu()

    def recommend(self, user, seen, n=3):
        s = self.V @ self.U[user]
        s[seen] = float("-inf")
        return s.topk(n).indices.tolist()


def split(n, part, seed=1):
    perm = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    cut = int(n * part)
    return perm[:cut], perm[cut:]


def main():
    torch.manual_seed(0)
    users, items = 15, 12
    truth = 3 + torch.randn(users, 2) @ torch.randn(2, items)
    pairs = torch.cartesian_prod(torch.arange(users), torch.arange(items))
    pairs = pairs[torch.rand(len(pairs)) < 0.6]
    vals = truth[pairs[:, 0], pairs[:, 1]].clamp(1, 5)
    tr, te = split(len(pairs), 0.8)
    model = ALS().fit(pairs[tr, 0], pairs[tr, 1], vals[tr], (users, items))
    guess = model.predict(pairs[te, 0], pairs[te, 1])
    rmse = (guess - vals[te]).square().mean().sqrt()
    seen = pairs[tr][pairs[tr, 0] == 0, 1]
    print(model.history, rmse.item(), model.recommend(0, seen), guess.numpy().max())


main()
