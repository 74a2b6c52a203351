"""A generator function yields batches that are on the device; helper classes collect results on the CPU."""
import numpy as np
import torch
from torch import nn


def batches(X, y=None, size=8, device="cpu", shuffle=True):
    order = torch.randperm(len(X)) if shuffle else torch.arange(len(X))
    for idx in order.split(size):
        xb = torch.as_tensor(X[idx.numpy()], device=device)
        if y is None:
            yield xb
        else:
            yield xb, torch.as_tensor(y[idx.numpy()], device=device)


class Meter:
    def __init__(self):
        self.values = []

    def add(self, t):
        self.values.append(t.detach().cpu())

    def result(self):
        return torch.cat(self.values)


def predict(net, X, device):
    meter = Meter()
    for xb in batches(X, device=device, shuffle=False):
        meter.add(net(xb).squeeze(1))
    return meter.result().numpy()


def main():
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    X = rng.normal(size=(48, 4)).astype("float32")
    y = (X[:, 0] - X[:, 3]).astype("float32")
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(4, 1).to(dev)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        for xb, yb in batches(X, y, device=dev):
            loss = (net(xb).squeeze(1) - yb).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    p = predict(net, X, dev)
    print(np.corrcoef(p, y)[0, 1].round(3), np.abs(p - y).max().round(3))


main()
