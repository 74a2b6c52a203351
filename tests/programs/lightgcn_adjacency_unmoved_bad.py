import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class InteractionData:
    def __init__(self, users, items, density=0.2, seed=0):
        rng = np.random.RandomState(seed)
        m = rng.rand(users, items) < density
        m[np.arange(users), rng.randint(items, size=users)] = True
        self.mat = m
        self.n_users, self.n_items = users, items
        self.u, self.i = m.nonzero()
        self.rng = rng

    def norm_adj(self):
        n = self.n_users + self.n_items
        rows = np.concatenate([self.u, self.i + self.n_users])
        cols = np.concatenate([self.i + self.n_users, self.u])
        deg = np.bincount(rows, minlength=n).clip(min=1)
        vals = 1 / np.sqrt(deg[rows] * deg[cols])
        idx = torch.from_numpy(np.stack([rows, cols])).long()
        return torch.sparse_coo_tensor(idx, torch.from_numpy(vals).float(), (n, n)).coalesce()

    def triples(self, n):
        k = self.rng.randint(len(self.u), size=n)
        neg = self.rng.randint(self.n_items, size=n)
        bad = self.mat[self.u[k], neg]
        while bad.any():
            neg[bad] = self.rng.randint(self.n_items, size=int(bad.sum()))
            bad = self.mat[self.u[k], neg]
        return self.u[k], self.i[k], neg


class LightGCN(nn.Module):
    def __init__(self, data, dim, layers, adj):
        super().__init__()
        self.n_users, self.n_items = data.n_users, data.n_items
        self.user = nn.Embedding(self.n_users, dim)
        self.item = nn.Embedding(self.n_items, dim)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.layers = layers
        self.adj = adj

    def propagate(self):
        x = torch.cat([self.user.weight, self.item.weight])
        acc = x
        for _ in range(self.layers):
            x = torch.sparse.mm(self.adj, x)  # FAIL
            acc = acc + x
        return torch.split(acc / (self.layers + 1), [self.n_users, self.n_items])

    def bpr(self, u, p, n, reg=1e-4):
        U, I = self.propagate()
        diff = (U[u] * (I[p] - I[n])).sum(-1)
        l2 = self.user(u).pow(2).sum() + self.item(p).pow(2).sum() + self.item(n).pow(2).sum()
        return F.softplus(-diff).mean() + reg * l2 / len(u)


@torch.no_grad()
def recall_at(model, data, k=5):
    U, I = model.propagate()
    scores = (U @ I.T).cpu()
    top = scores.topk(k, dim=1).indices.numpy()
    hits = data.mat[np.arange(data.n_users)[:, None], top]
    return hits.sum() / data.mat.sum()


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = InteractionData(30, 20)
    model = LightGCN(data, 16, 2, data.norm_adj()).to(device)  # CAUSE
    opt = torch.optim.Adam(model.parameters(), lr=5e-2)
    for ep in range(8):
        u, p, n = [torch.as_tensor(a, dtype=torch.long, device=device) for a in data.triples(128)]
        loss = model.bpr(u, p, n)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"{loss.item():.4f} recall {recall_at(model, data):.3f}")
