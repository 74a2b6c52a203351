"""A sparse adjacency matrix built on the CPU and moved as a whole."""
import torch
import torch.nn.functional as F
from torch import nn


def grid_graph(n):
    idx = torch.arange(n * n).view(n, n)
    right = torch.stack([idx[:, :-1].reshape(-1), idx[:, 1:].reshape(-1)])
    down = torch.stack([idx[:-1].reshape(-1), idx[1:].reshape(-1)])
    e = torch.cat([right, down], dim=1)
    return torch.cat([e, e.flip(0)], dim=1)


def propagation_matrix(edges, n):
    deg = torch.zeros(n).index_add_(0, edges[0], torch.ones(edges.shape[1]))
    norm = (deg[edges[0]] * deg[edges[1]]).rsqrt()
    return torch.sparse_coo_tensor(edges, norm, (n, n)).coalesce()


class SGC(nn.Module):
    def __init__(self, i, o, k=2):
        super().__init__()
        self.k = k
        self.lin = nn.Linear(i, o)

    def forward(self, x, adj):
        for _ in range(self.k):
            x = torch.sparse.mm(adj, x)
        return self.lin(x)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
n = 5
adj = propagation_matrix(grid_graph(n), n * n).to(device)
x = torch.randn(n * n, 4).to(device)
y = (torch.arange(n * n) % n > 1).long().to(device)
known = torch.randperm(n * n)[:8]
net = SGC(4, 2).to(device)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
for epoch in range(3):
    out = net(x, adj)
    loss = F.cross_entropy(out[known], y[known])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item(), (out.argmax(1) == y).float().mean().item())
