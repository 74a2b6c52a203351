"""Graph convolutions without a library: a ring of people with two opinions."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def build_ring(n):
    src = torch.arange(n)
    dst = (src + 1) % n
    return torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])


def normalized_adjacency(edge_index, n):
    a = torch.zeros(n, n, device=edge_index.device)
    a[edge_index[0], edge_index[1]] = 1.0
    a = a + torch.eye(n, device=edge_index.device)
    d = a.sum(1).pow(-0.5)
    return d[:, None] * a * d[None, :]


class GraphConv(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(c_in, c_out))
        self.bias = nn.Parameter(torch.zeros(c_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, n_feat, n_hid, n_class):
        super().__init__()
        self.gc1 = GraphConv(n_feat, n_hid)
        self.gc2 = GraphConv(n_hid, n_class)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, 0.3, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


if __name__ == "__main__":
    torch.manual_seed(42)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    N = 20
    edges = build_ring(N).to(dev)
    feats = torch.randn(N, 5).to(dev)
    opinion = (torch.arange(N) < N // 2).long().to(dev)
    train_idx = torch.tensor([0, 3, 12, 17])  # who told us

    adj = normalized_adjacency(edges, N)
    net = GCN(5, 8, 2).to(dev)
    opt = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=5e-4)
    for epoch in range(5):
        net.train()
        out = net(feats, adj)
        loss = F.nll_loss(out[train_idx], opinion[train_idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    acc = (net(feats, adj).argmax(1) == opinion).float().mean()
    print(f"loss {loss:.3f} acc {acc:.2f}")
