import torch
from torch import nn


def build(kind, device):
    with torch.device(device):
        if kind == "mlp":
            return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
        return nn.Linear(3, 2), torch.zeros(2)


class Holder:
    def __init__(self, device):
        self.device = device
        self.mlp = build("mlp", device)
        self.lin, self.shift = build("lin", device)
        with torch.device(device):
            self.centers = torch.randn(4, 2)
            self.ids = torch.arange(4)

    def __call__(self, x):
        y = self.mlp(x) + self.lin(x) + self.shift
        d = torch.cdist(y, self.centers)
        return self.ids[d.argmin(1)], d

    def table(self):
        rows = [[i, *c] for i, c in zip(self.ids.tolist(), self.centers.tolist())]
        return torch.tensor(rows)


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
h = Holder(dev)
x = torch.randn(5, 3)
ids, d = h(x.to(dev))
t = h.table()
picked = t[ids.cpu()]
err = (picked[:, 1:] - h.centers[ids].cpu()).abs().max()
print(err.item() < 1e-5, d.shape)
