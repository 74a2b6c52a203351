"""Several heads on one trunk, uncertainty weighting, and metrics collected on the host."""
from typing import Dict

import torch
import torch.nn as nn


class MultiTask(nn.Module):
    def __init__(self, tasks: Dict[str, int], dim=16):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, dim), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(dim, size) for name, size in tasks.items()})
        self.log_vars = nn.ParameterDict({name: nn.Parameter(torch.zeros(1)) for name in tasks})

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


class Losses(nn.Module):
    def __init__(self, age_range, weights):
        super().__init__()
        self.register_buffer("age_range", torch.tensor(age_range, dtype=torch.float32))
        self.by_task = nn.ModuleDict()
        self.by_task["colour"] = nn.CrossEntropyLoss(weight=torch.tensor(weights))
        self.by_task["age"] = nn.SmoothL1Loss()

    def forward(self, outputs, targets):
        low, high = self.age_range[0], self.age_range[1]
        age = (targets["age"] - low) / (high - low)
        return {
            "colour": self.by_task["colour"](outputs["colour"], targets["colour"]),
            "age": self.by_task["age"](outputs["age"].squeeze(-1), age),
        }


class Meter:
    def __init__(self):
        self.values = []

    def add(self, tensor):
        self.values.append(tensor.detach().cpu())

    def numpy(self):
        return torch.cat(self.values).numpy()


def to_device(obj, device):
    if torch.is_tensor(obj):
        return obj.to(device)
    if isinstance(obj, dict):
        return {k: to_device(v, device) for k, v in obj.items()}
    if isinstance(obj, (tuple, list)):
        return type(obj)(to_device(v, device) for v in obj)
    return obj


def sample(n):
    x = torch.randn(n, 8)
    return x, {"colour": x[:, :3].argmax(1), "age": 40 + 10 * x[:, 3]}


def main():
    torch.manual_seed(33)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = MultiTask({"colour": 3, "age": 1}).to(device)
    losses = Losses([10, 80], [1.0, 1.0, 2.0])
    losses = losses.to(device)
    optimizer = torch.optim.Adam([*net.parameters()], lr=1e-2)
    meter = Meter()
    for _ in range(10):
        x, targets = to_device(sample(32), device)
        outputs = net(x)
        total = torch.zeros(1, device=device)
        for name, value in losses(outputs, targets).items():
            total = total + torch.exp(-net.log_vars[name]) * value + net.log_vars[name]
        optimizer.zero_grad()
        total.sum().backward()
        optimizer.step()
        meter.add(total)
    print("recorded", meter.numpy().shape)
    x, targets = sample(16)
    with torch.no_grad():
        colours = net(x.to(device))["colour"].argmax(1).to("cpu")
    print("compared", int((colours == targets["colour"]).numel()))


if __name__ == "__main__":
    main()
