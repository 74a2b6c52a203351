import copy

import torch
from torch import nn


class ModelEMA:
    def __init__(self, model, decay=0.99):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)  # FAIL


def train(device="cuda" if torch.cuda.is_available() else "cpu"):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    ema = ModelEMA(net)  # CAUSE
    net.to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(8, 4, device=device)
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(net)  # CALL
    return ema.module


train()  # CALL
