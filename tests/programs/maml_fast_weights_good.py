import torch
import torch.nn.functional as F
from torch import nn


class SineTask:
    def __init__(self):
        self.a, self.b = torch.rand(1).item() * 4 + 1, torch.rand(1).item() * 3

    def sample(self, n):
        x = torch.rand(n, 1) * 10 - 5
        return x, self.a * torch.sin(x + self.b)


class MAML:
    def __init__(self, device, inner_lr=0.01):
        self.device = device
        self.params = [
            nn.Parameter(torch.randn(8, 1, device=device) * 0.1),
            nn.Parameter(torch.zeros(8, device=device)),
            nn.Parameter(torch.randn(1, 8, device=device) * 0.1),
            nn.Parameter(torch.zeros(1, device=device)),
        ]
        self.inner_lr = inner_lr
        self.opt = torch.optim.Adam(self.params, 1e-3)

    def forward(self, x, w):
        return F.linear(torch.relu(F.linear(x, w[0], w[1])), w[2], w[3])

    def inner(self, task):
        x, y = [t.to(self.device) for t in task.sample(5)]
        loss = F.mse_loss(self.forward(x, self.params), y)
        grads = torch.autograd.grad(loss, self.params, create_graph=True)
        return [p - self.inner_lr * g for p, g in zip(self.params, grads)]

    def outer(self, tasks):
        total = 0.0
        for task in tasks:
            fast = self.inner(task)
            xq, yq = task.sample(6)
            xq, yq = xq.to(self.device), yq.to(self.device)
            total = total + F.mse_loss(self.forward(xq, fast), yq)
        self.opt.zero_grad()
        total.backward()
        self.opt.step()


maml = MAML(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
for _ in range(2):
    maml.outer([SineTask() for _ in range(2)])
