import functools

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def on_device(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*[a.to(device) if torch.is_tensor(a) else a for a in args])

    return wrapper


@on_device
def step(x, y, lr):
    w = torch.ones(3, device=device)
    return ((x * w).sum(1) - y).pow(2).mean() * lr


@on_device
def predict(x):
    return net(x)


net = nn.Linear(3, 1).to(device)
print(step(torch.randn(4, 3), torch.randn(4), 0.1) >= 0)
print(predict(torch.randn(4, 3)).shape)
