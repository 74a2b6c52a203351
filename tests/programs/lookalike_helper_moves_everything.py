import torch
from torch import nn


def to_gpu(*things):
    moved = tuple(t.to(DEVICE) for t in things)
    return moved if len(moved) > 1 else moved[0]


DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
net = to_gpu(nn.Linear(4, 2))
x, y = to_gpu(torch.randn(3, 4), torch.randint(0, 2, (3,)))
loss_fn = to_gpu(nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0])))
loss_fn(net(x), y).backward()
