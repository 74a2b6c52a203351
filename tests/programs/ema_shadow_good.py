"""Training with an exponential moving average of the weights."""
import copy

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            if n in self.shadow:
                self.shadow[n] = self.decay * self.shadow[n] + (1.0 - self.decay) * p

    def apply_to(self, model):
        self.backup = {n: p.detach().clone() for n, p in model.named_parameters()}
        for n, p in model.named_parameters():
            p.data.copy_(self.shadow[n])

    def restore(self, model):
        for n, p in model.named_parameters():
            p.data.copy_(self.backup[n])


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    model.to(device)
    ema = EMA(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    x = torch.randn(100, 6)
    y = x[:, :1] * x[:, 1:2]
    x, y = x.to(device), y.to(device)
    for step in range(6):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        if step % 3 == 2:
            ema.apply_to(model)
            with torch.no_grad():
                smooth = nn.functional.mse_loss(model(x), y).item()
            ema.restore(model)
            print(f"step {step} raw {loss.item():.4f} ema {smooth:.4f}")
    frozen = copy.deepcopy(model).eval()
    print(sum(p.numel() for p in frozen.parameters()), "weights")


if __name__ == "__main__":
    main()
