import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class SineTask:
    def __init__(self, amp, phase):
        self.amp, self.phase = amp, phase

    def sample(self, n):
        x = np.random.uniform(-5, 5, size=(n, 1)).astype(np.float32)
        return torch.from_numpy(x), torch.from_numpy((self.amp * np.sin(x + self.phase)).astype(np.float32))


class TaskDistribution:
    def __init__(self, seed=0):
        random.seed(seed)

    def __iter__(self):
        return self

    def __next__(self):
        return SineTask(random.uniform(0.1, 5.0), random.uniform(0, np.pi))


class MAML:
    def __init__(self, net, inner_lr=0.01, meta_lr=1e-3, inner_steps=2, device=torch.device("cpu")):
        self.net = net.to(device)
        self.device = device
        self.inner_lr, self.inner_steps = inner_lr, inner_steps
        self.lrs = {n.replace(".", "_"): torch.full_like(p, inner_lr, requires_grad=True) for n, p in self.net.named_parameters()}
        self.opt = torch.optim.Adam([*self.net.parameters(), *self.lrs.values()], lr=meta_lr)

    def adapt(self, x, y):
        fast = dict(self.net.named_parameters())
        for _ in range(self.inner_steps):
            loss = F.mse_loss(functional_call(self.net, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {n: p - self.lrs[n.replace(".", "_")] * g for (n, p), g in zip(fast.items(), grads)}
        return fast

    def _draw(self, task, k):
        xs, ys = task.sample(k)
        xq, yq = task.sample(k)
        return tuple(t.to(self.device) for t in (xs, ys, xq, yq))

    def meta_step(self, tasks, k=5):
        meta_loss = torch.zeros((), device=self.device)
        for task in tasks:
            xs, ys, xq, yq = self._draw(task, k)
            fast = self.adapt(xs, ys)
            meta_loss = meta_loss + F.mse_loss(functional_call(self.net, fast, (xq,)), yq)
        meta_loss = meta_loss / len(tasks)
        self.opt.zero_grad()
        meta_loss.backward()
        self.opt.step()
        return meta_loss.item()

    def evaluate(self, task, grid=9):
        x, y = task.sample(5)
        fast = self.adapt(x.to(self.device), y.to(self.device))
        xs = torch.linspace(-5, 5, grid, device=self.device).unsqueeze(1)
        with torch.no_grad():
            pred = functional_call(self.net, fast, (xs,))
        truth = task.amp * np.sin(xs.cpu().numpy() + task.phase)
        return float(np.mean((pred.cpu().numpy() - truth) ** 2))


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    dev = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    maml = MAML(net, device=dev)
    dist = TaskDistribution()
    for it in range(3):
        loss = maml.meta_step([next(dist) for _ in range(2)])
    print(loss >= 0, maml.evaluate(next(dist)) >= 0)
