"""Clones and deep copies follow the model they were taken from."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
learner = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1)).to(device)
outer_lr, inner_lr = 0.5, 0.05


def task():
    a, phase = torch.rand(2).tolist()

    def data(n):
        x = torch.rand(n, 1) * 10 - 5
        y = (a + 0.5) * torch.sin(x + phase)
        return x.to(device), y.to(device)

    return data


for it in range(3):
    sample = task()
    fast = copy.deepcopy(learner)
    opt = torch.optim.SGD(fast.parameters(), inner_lr)
    for _ in range(3):
        x, y = sample(8)
        loss = nn.functional.mse_loss(fast(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    before = {k: v.clone() for k, v in learner.state_dict().items()}
    after = fast.state_dict()
    learner.load_state_dict({k: before[k] + outer_lr * (after[k] - before[k]) for k in before})
    snapshot = [p.detach().clone() for p in learner.parameters()]
    drift = sum((p - q).abs().sum() for p, q in zip(fast.parameters(), snapshot))
    print(it, loss.item(), drift.item())
