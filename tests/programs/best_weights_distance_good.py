"""Keeps the best weights in memory on the host and restores them at the end."""
import copy
from contextlib import contextmanager
import torch
from torch import nn


class Best:
    def __init__(self):
        self.value, self.weights = float("inf"), None

    def offer(self, value, model):
        if value < self.value:
            self.value = value
            self.weights = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}

    def restore(self, model):
        if self.weights is not None:
            model.load_state_dict(self.weights)

    def distance(self, model):
        total = 0.0
        for k, v in model.state_dict().items():
            total += (v.cpu() - self.weights[k]).abs().sum().item()
        return total


@contextmanager
def evaluating(model):
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield model
    finally:
        model.train(was)


def validate(model, x, y):
    with evaluating(model) as m:
        return nn.functional.mse_loss(m(x), y).item()


def main():
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.linspace(-2, 2, 40).unsqueeze(1)
    y = x.sin() + 0.1 * torch.randn_like(x)
    train, valid = slice(0, None, 2), slice(1, None, 2)
    x, y = x.to(device), y.to(device)
    model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1)).to(device)
    opt = torch.optim.Adam(model.parameters(), 0.05)
    best = Best()
    for epoch in range(6):
        loss = nn.functional.mse_loss(model(x[train]), y[train])
        opt.zero_grad()
        loss.backward()
        opt.step()
        best.offer(validate(model, x[valid], y[valid]), model)
    moved = best.distance(model)
    best.restore(model)
    print(best.value, moved >= 0, best.distance(model) == 0.0)


main()
