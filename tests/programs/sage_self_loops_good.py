"""GraphSAGE without PyG: mean aggregation with index_add."""
from dataclasses import dataclass
import torch
from torch import Tensor, nn
import torch.nn.functional as F


@dataclass
class Graph:
    x: Tensor
    edge_index: Tensor
    y: Tensor
    train_mask: Tensor

    @property
    def num_nodes(self) -> int:
        return self.x.size(0)

    def to(self, device) -> "Graph":
        return Graph(self.x.to(device), self.edge_index.to(device), self.y.to(device), self.train_mask.to(device))


class SAGEConv(nn.Module):
    def __init__(self, fin: int, fout: int) -> None:
        super().__init__()
        self.lin_l = nn.Linear(fin, fout)
        self.lin_r = nn.Linear(fin, fout, bias=False)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        src, dst = edge_index
        agg = torch.zeros(x.size(0), x.size(1), device=x.device)
        agg.index_add_(0, dst, x[src])
        deg = torch.bincount(dst, minlength=x.size(0)).clamp(min=1).unsqueeze(-1)
        return self.lin_l(agg / deg) + self.lin_r(x)


class Net(nn.Module):
    def __init__(self, fin, hid, ncls):
        super().__init__()
        self.convs = nn.ModuleList([SAGEConv(fin, hid), SAGEConv(hid, ncls)])
        self.norm = nn.LayerNorm(hid)

    def forward(self, g: Graph):
        h = F.relu(self.norm(self.convs[0](g.x, g.edge_index)))
        h = F.dropout(h, 0.2, self.training)
        return self.convs[1](h, g.edge_index)


def add_self_loops(edge_index: Tensor, n: int) -> Tensor:
    loop = torch.arange(n, device=edge_index.device).repeat(2, 1)
    return torch.cat([edge_index, loop], dim=1)


def make_graph(n=30, f=5, c=3):
    gen = torch.Generator().manual_seed(7)
    return Graph(torch.randn(n, f, generator=gen), torch.randint(0, n, (2, 4 * n), generator=gen),
                 torch.randint(0, c, (n,), generator=gen), torch.rand(n, generator=gen) < 0.5)


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    g = make_graph().to(device)
    g.edge_index = add_self_loops(g.edge_index, g.num_nodes)
    net = Net(5, 16, 3).to(device)
    opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(3):
        net.train()
        opt.zero_grad()
        out = net(g)
        loss = F.cross_entropy(out[g.train_mask], g.y[g.train_mask])
        loss.backward()
        opt.step()
        net.eval()
        with torch.no_grad():
            pred = net(g).argmax(-1)
        per_class = torch.stack([(pred[g.y == c] == c).float().mean() for c in range(3)])
        acc = (pred == g.y)[~g.train_mask].float().mean()
        print(epoch, loss.item(), float(acc), per_class.tolist())


main()
