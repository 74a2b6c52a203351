"""Meta-learning (first-order MAML) of sine waves with functional parameters."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


class WaveTask:
    def __init__(self, generator):
        self.amplitude = 0.5 + 2 * torch.rand(1, generator=generator)
        self.phase = math.pi * torch.rand(1, generator=generator)
        self.generator = generator

    def sample(self, n, device):
        x = 10 * torch.rand(n, 1, generator=self.generator) - 5
        y = self.amplitude * torch.sin(x + self.phase)
        return x.to(device), y.to(device)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(1, 24)
        self.l2 = nn.Linear(24, 1)
        self.shift = nn.Parameter(torch.zeros(24))

    def forward(self, x):
        return self.l2(F.relu(self.l1(x) + self.shift))


def adapt(model, params, x, y, lr=0.01, steps=2):
    params = dict(params)
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()))
        params = {name: p - lr * g for (name, p), g in zip(params.items(), grads)}
    return params


def initial_parameters(model, device):
    return {n: p.detach().clone().to(device).requires_grad_() for n, p in model.named_parameters()}


def main():
    torch.manual_seed(50)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tasks = torch.Generator()
    tasks.manual_seed(1)
    learner = Learner()
    meta = initial_parameters(learner, device)
    optimizer = torch.optim.Adam(meta.values(), lr=1e-3)
    for _ in range(4):
        meta_loss = torch.zeros(1, device=device)
        for _ in range(3):
            task = WaveTask(tasks)
            support, query = task.sample(10, device), task.sample(10, device)
            fast = adapt(learner, meta, *support)
            meta_loss = meta_loss + F.mse_loss(functional_call(learner, fast, (query[0],)), query[1])
        optimizer.zero_grad()
        meta_loss.sum().backward()
        optimizer.step()
    learner.load_state_dict({n: p.detach() for n, p in meta.items()})
    learner.to(device)
    curve = learner(torch.linspace(-5, 5, 20).unsqueeze(1).to(device))
    print("finite:", bool(curve.isfinite().all()), curve.detach().cpu().numpy().shape)


if __name__ == "__main__":
    main()
