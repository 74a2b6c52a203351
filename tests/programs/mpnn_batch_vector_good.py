from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn


@dataclass
class Graph:
    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor
    y: Tensor
    batch: Tensor = None

    @property
    def num_nodes(self):
        return self.x.size(0)


def random_molecule(gen):
    n = int(torch.randint(3, 7, (1,), generator=gen))
    m = 2 * n
    src = torch.randint(0, n, (m,), generator=gen)
    dst = torch.randint(0, n, (m,), generator=gen)
    x = torch.randn(n, 5, generator=gen)
    return Graph(x, torch.stack([src, dst]), torch.rand(m, 2, generator=gen), x.sum().view(1))


def collate(graphs):
    offset, edges, batch = 0, [], []
    for i, g in enumerate(graphs):
        edges.append(g.edge_index + offset)
        batch.append(torch.full((g.num_nodes,), i, dtype=torch.long))
        offset += g.num_nodes
    return Graph(
        x=torch.cat([g.x for g in graphs]),
        edge_index=torch.cat(edges, dim=1),
        edge_attr=torch.cat([g.edge_attr for g in graphs]),
        y=torch.cat([g.y for g in graphs]),
        batch=torch.cat(batch),
    )


class EdgeConv(nn.Module):
    def __init__(self, dim, edge_dim):
        super().__init__()
        self.msg = nn.Sequential(nn.Linear(2 * dim + edge_dim, dim), nn.ReLU())
        self.upd = nn.GRUCell(dim, dim)

    def forward(self, x, edge_index, edge_attr):
        src, dst = edge_index
        m = self.msg(torch.cat([x[src], x[dst], edge_attr], dim=-1))
        agg = torch.zeros_like(x).index_add_(0, dst, m)
        return self.upd(agg, x)


class MPNN(nn.Module):
    def __init__(self, in_dim=5, edge_dim=2, dim=16, steps=2):
        super().__init__()
        self.embed = nn.Linear(in_dim, dim)
        self.convs = nn.ModuleList(EdgeConv(dim, edge_dim) for _ in range(steps))
        self.head = nn.Linear(dim, 1)

    def forward(self, g: Graph):
        h = self.embed(g.x)
        for conv in self.convs:
            h = h + conv(h, g.edge_index, g.edge_attr)
        num_graphs = int(g.batch.max()) + 1
        pooled = h.new_zeros(num_graphs, h.size(-1)).index_add_(0, g.batch, h)
        return self.head(pooled).squeeze(-1)


def to_device(g, device):
    return replace(
        g,
        x=g.x.to(device),
        edge_index=g.edge_index.to(device),
        edge_attr=g.edge_attr.to(device),
        y=g.y.to(device),
        batch=g.batch.to(device),
    )


def loader(graphs, size):
    for i in range(0, len(graphs), size):
        yield collate(graphs[i : i + size])


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gen = torch.Generator().manual_seed(7)
    torch.manual_seed(7)
    graphs = [random_molecule(gen) for _ in range(12)]
    model = MPNN().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(2):
        total = 0.0
        for g in loader(graphs, 4):
            g = to_device(g, device)
            loss = nn.functional.l1_loss(model(g), g.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(g.y)
        print(epoch, total / len(graphs))


if __name__ == "__main__":
    main()
