import torch
from torch import nn
import numpy as np
import random

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
n_users, n_items = 10, 15
inter = [(random.randrange(n_users), random.randrange(n_items)) for _ in range(40)]
u, i = np.array(inter).T
idx = torch.tensor(np.stack([np.r_[u, i + n_users], np.r_[i + n_users, u]]))
adj = torch.sparse_coo_tensor(idx, torch.ones(idx.size(1)), (n_users + n_items,) * 2).coalesce()
deg = torch.sparse.sum(adj, 1).to_dense().clamp(min=1).pow(-0.5)
vals = adj.values() * deg[adj.indices()[0]] * deg[adj.indices()[1]]
adj = torch.sparse_coo_tensor(adj.indices(), vals, adj.shape).to(device)


class LightGCN(nn.Module):
    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.emb = nn.Embedding(n_users + n_items, 6)

    def propagate(self):
        x, outs = self.emb.weight, [self.emb.weight]
        for _ in range(2):
            x = torch.sparse.mm(self.graph, x)
            outs.append(x)
        return torch.stack(outs).mean(0).split([n_users, n_items])


model = LightGCN(adj).to(device)
opt = torch.optim.Adam(model.parameters(), 0.01)
for _ in range(2):
    batch = random.sample(inter, 16)
    us, ps = (torch.LongTensor(c).to(device) for c in zip(*batch))
    ns = torch.randint(0, n_items, us.shape, device=us.device)
    U, I = model.propagate()
    loss = -nn.functional.logsigmoid((U[us] * (I[ps] - I[ns])).sum(1)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    U, I = model.propagate()
    top = (U @ I.T).topk(3).indices.cpu().numpy()
print(loss.item(), np.mean([(a in top[b]) for b, a in inter]))
