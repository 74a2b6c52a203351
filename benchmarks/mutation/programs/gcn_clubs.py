"""A graph convolutional network, written with index_add, that splits two clubs."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def club_graph(n=12, seed=0):
    g = torch.Generator().manual_seed(seed)
    edges = []
    for a in range(n):
        for b in range(a):
            p = 0.8 if (a < n // 2) == (b < n // 2) else 0.1
            if torch.rand(1, generator=g).item() < p:
                edges += [(a, b), (b, a)]
    return torch.tensor(edges).t().contiguous(), torch.eye(n), (torch.arange(n) >= n // 2).long()


class GCNLayer(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_dim, out_dim))
        self.bias = nn.Parameter(torch.zeros(out_dim))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, edge_index):
        num_nodes = x.size(0)
        loops = torch.arange(num_nodes, device=edge_index.device)
        row = torch.cat([edge_index[0], loops])
        col = torch.cat([edge_index[1], loops])
        deg = torch.zeros(num_nodes, device=x.device)
        deg.index_add_(0, col, torch.ones(col.numel(), device=x.device))
        norm = deg.pow(-0.5)
        norm = norm[row] * norm[col]
        h = x @ self.weight
        out = torch.zeros_like(h)
        out = out.index_add(0, col, h[row] * norm.unsqueeze(1))
        return out + self.bias


class GCN(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(GCNLayer(a, b) for a, b in zip(sizes[:-1], sizes[1:]))

    def forward(self, x, edge_index):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x, edge_index))
        return self.layers[-1](x, edge_index)


def main():
    torch.manual_seed(4)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    edge_index, x, y = club_graph()
    edge_index, x, y = edge_index.to(device), x.to(device), y.to(device)
    train_mask = torch.zeros(len(y), dtype=torch.bool, device=device)
    train_mask[[0, 1, -1, -2]] = True

    gcn = GCN([x.size(1), 8, 2]).to(device)
    optimizer = torch.optim.Adam(gcn.parameters(), lr=0.05, weight_decay=5e-4)
    for epoch in range(15):
        optimizer.zero_grad()
        out = gcn(x, edge_index)
        loss = F.cross_entropy(out[train_mask], y[train_mask])
        loss.backward()
        optimizer.step()
        if epoch % 5 == 0:
            acc = (out.argmax(1) == y)[~train_mask].float().mean().item()
            print(f"{epoch:02d} {acc >= 0.0}")
    embedding = gcn(x, edge_index).detach().cpu().numpy()
    print(embedding.shape)


main()
