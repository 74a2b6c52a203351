import torch
from torch import nn


class Progressive(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.columns = nn.ModuleList()
        self.heads = nn.ModuleDict()
        self.add_column("first")
        self.to(device)

    def add_column(self, name):
        self.columns.append(nn.Linear(4, 4).to(self.device))
        self.heads[name] = nn.Linear(4, 2)
        self.heads[name].to(self.device)

    def forward(self, x, name):
        x = sum(c(x) for c in self.columns)
        return self.heads[name](x)


net = Progressive(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
for task in ("second", "third"):
    net.add_column(task)
    print(task, net(torch.randn(3, 4).to(net.device), task).shape)
tail = nn.Sequential(nn.Linear(2, 2)).to(net.device)
tail.append(nn.ReLU())
tail.add_module("last", nn.Linear(2, 1))
tail = tail.to(net.device)
print(tail(net(torch.randn(3, 4, device=net.device), "first")).shape)
