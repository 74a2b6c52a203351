"""A graph object whose `.to` moves its own fields and returns itself."""
import torch
from torch import nn


class Graph:
    def __init__(self, x, edge_index, y=None):
        self.x, self.edge_index, self.y = x, edge_index, y

    def to(self, device):
        for key, value in self.__dict__.items():
            if torch.is_tensor(value):
                setattr(self, key, value.to(device))
        return self

    @property
    def num_nodes(self):
        return self.x.size(0)


class SAGE(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.own, self.neigh = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        deg = x.new_zeros(x.size(0)).index_add_(0, dst, x.new_ones(src.numel()))
        return self.own(x) + self.neigh(agg / deg.clamp(min=1).unsqueeze(1))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = Graph(torch.randn(8, 4), torch.randint(0, 8, (2, 20)), torch.randint(0, 3, (8,)))
train_mask = torch.arange(8) < 5
conv1, conv2 = SAGE(4, 8).to(device), SAGE(8, 3).to(device)
opt = torch.optim.Adam([*conv1.parameters(), *conv2.parameters()], lr=0.01)

data.to(device)
for epoch in range(3):
    out = conv2(conv1(data.x, data.edge_index).relu(), data.edge_index)
    loss = nn.functional.cross_entropy(out[train_mask], data.y[train_mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
print(data.num_nodes, (out.argmax(1) == data.y)[~train_mask].sum().item())
