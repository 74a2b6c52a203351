"""A custom optimiser (sharpness-aware), a learning-rate range test and an early stopper, on tabular data."""
import copy

import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, lr=0.05, rho=0.05):
        super().__init__(params, dict(lr=lr, rho=rho))

    @torch.no_grad()
    def ascend(self):
        grads = [p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]
        scale = self.param_groups[0]["rho"] / (torch.stack(grads).norm() + 1e-12)
        for group in self.param_groups:
            for p in group["params"]:
                step = p.grad * scale
                p.add_(step)
                self.state[p]["e_w"] = step

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                p.sub_(state["e_w"])
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(p)
                state["momentum"].mul_(0.9).add_(p.grad)
                p.sub_(group["lr"] * state["momentum"])


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.bad = patience, 0
        self.best, self.weights = float("inf"), None

    def __call__(self, loss, model):
        if loss < self.best:
            self.best, self.bad = loss, 0
            self.weights = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience


class FocalLoss(nn.Module):
    def __init__(self, alpha, gamma=2.0):
        super().__init__()
        self.register_buffer("alpha", torch.as_tensor(alpha))
        self.gamma = gamma

    def forward(self, logits, target):
        ce = nn.functional.cross_entropy(logits, target, reduction="none")
        return (self.alpha[target] * (1 - torch.exp(-ce)) ** self.gamma * ce).mean()


def main():
    torch.manual_seed(80)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(150, 7)
    y = (x[:, 0] ** 2 + x[:, 1] > 1).long()
    x_train, y_train = x[:120].to(device), y[:120].to(device)
    x_valid, y_valid = x[120:].to(device), y[120:].to(device)
    model = nn.Sequential(nn.Linear(7, 20), nn.ReLU(), nn.Linear(20, 2)).to(device)
    criterion = FocalLoss([0.4, 0.6]).to(device)
    optimizer, stopper = SAM(model.parameters()), EarlyStopping(patience=3)
    for epoch in range(10):
        order = torch.randperm(120, device=device)
        for rows in order.split(40):
            criterion(model(x_train[rows]), y_train[rows]).backward()
            optimizer.ascend()
            optimizer.zero_grad()
            criterion(model(x_train[rows]), y_train[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()
        with torch.no_grad():
            valid = criterion(model(x_valid), y_valid).item()
        if stopper(valid, model):
            break
    clone = copy.deepcopy(model).cpu()
    clone.load_state_dict(stopper.weights)
    agree = (clone(x[120:]).argmax(1) == model(x_valid).argmax(1).cpu()).sum().item()
    print("epochs at most ten:", epoch < 10, "agreement at most thirty:", agree <= 30)


if __name__ == "__main__":
    main()
