"""EMA weights kept in a deep copy that is moved by itself; averaging copies across devices where it must."""
import copy

import torch
from torch import nn


class ModelEMA:
    def __init__(self, model, decay=0.9, device=None):
        self.ema = copy.deepcopy(model).eval()
        self.decay = decay
        self.device = device
        if device is not None:
            self.ema.to(device)
        for p in self.ema.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.ema.state_dict().values(), model.state_dict().values()):
            if self.device is not None:
                p = p.to(self.device)
            e.copy_(e * self.decay + (1 - self.decay) * p)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1)).to(device)
near = ModelEMA(net)
far = ModelEMA(net, device="cpu")  # saves GPU memory
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(30, 3)
for step in range(4):
    loss = (net(x.to(device)) - 1).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    near.update(net)
    far.update(net)
    print(step, round(loss.item(), 4))
with torch.no_grad():
    print((far.ema(x) - near.ema(x.to(device)).cpu()).abs().max().item() < 1e-5)
