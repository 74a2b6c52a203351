import torch
import torch.nn as nn


class Mixed(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ops = nn.ModuleList([nn.Identity(), nn.Linear(c, c), nn.Sequential(nn.Linear(c, c), nn.ReLU())])

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops))


class Net(nn.Module):
    def __init__(self, c=4, layers=2):
        super().__init__()
        self.cells = nn.ModuleList([Mixed(c) for _ in range(layers)])
        self.arch = nn.Parameter(1e-3 * torch.randn(layers, 3))

    def forward(self, x):
        for cell, a in zip(self.cells, self.arch.softmax(-1)):
            x = cell(x, a)
        return x


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
wopt = torch.optim.SGD([p for n, p in net.named_parameters() if n != "arch"], lr=.1)
aopt = torch.optim.Adam([net.arch], lr=1e-2)
for opt in (wopt, aopt):
    x = torch.randn(6, 4, device=device)
    loss = (net(x) - x.flip(1)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print(loss.item(), net.arch.softmax(-1).argmax(-1).tolist())
