import torch
from torch import nn, Tensor


class GraphBatch:
    def __init__(self, graphs):
        self.x = torch.cat([g["x"] for g in graphs])
        off, edges, batch = 0, [], []
        for i, g in enumerate(graphs):
            edges.append(g["edges"] + off)
            batch.append(torch.full((len(g["x"]),), i))
            off += len(g["x"])
        self.edges, self.batch = torch.cat(edges, 1), torch.cat(batch)
        self.y = torch.tensor([g["y"] for g in graphs])
        self.num_graphs = len(graphs)

    def to(self, device):
        self.x = self.x.to(device)
        self.edges = self.edges.to(device)
        self.y = self.y.to(device)
        return self  # CAUSE


def scatter_mean(src: Tensor, index: Tensor, n: int) -> Tensor:
    out = src.new_zeros(n, src.size(1)).index_add_(0, index, src)  # FAIL
    cnt = src.new_zeros(n).index_add_(0, index, src.new_ones(len(src)))
    return out / cnt.clamp(min=1).unsqueeze(1)


class GIN(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.mlps = nn.ModuleList([nn.Sequential(nn.Linear(a, h), nn.ReLU(), nn.Linear(h, h)) for a in (i, h)])
        self.eps = nn.Parameter(torch.zeros(2))
        self.out = nn.Linear(h, o)

    def forward(self, b):
        x = b.x
        for k, m in enumerate(self.mlps):
            agg = torch.zeros_like(x).index_add_(0, b.edges[1], x[b.edges[0]])
            x = m((1 + self.eps[k]) * x + agg)
        return self.out(scatter_mean(x, b.batch, b.num_graphs))  # CALL


def graph():
    n = int(torch.randint(3, 6, ()))
    return {"x": torch.randn(n, 3), "edges": torch.randint(n, (2, 2 * n)), "y": n % 2}


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = GIN(3, 8, 2).to(device)
opt = torch.optim.Adam(net.parameters())
for batch in torch.utils.data.DataLoader([graph() for _ in range(6)], 3, collate_fn=GraphBatch):
    batch = batch.to(device)
    loss = nn.functional.cross_entropy(net(batch), batch.y)  # CALL
    opt.zero_grad()
    loss.backward()
    opt.step()
