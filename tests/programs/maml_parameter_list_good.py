import torch
import torch.nn as nn
import torch.nn.functional as F
import math, random
from copy import deepcopy

dev = 'cuda' if torch.cuda.is_available() else 'cpu'

class SineTask:
    def __init__(self):
        self.amp = random.uniform(0.1, 5)
        self.phase = random.uniform(0, math.pi)
    def sample(self, n):
        x = torch.rand(n, 1) * 10 - 5
        return x, self.amp * torch.sin(x + self.phase)

class MetaNet(nn.Module):
    def __init__(self, h=10):
        super().__init__()
        self.vars = nn.ParameterList()
        for i, o in ((1, h), (h, h), (h, 1)):
            w = nn.Parameter(torch.ones(o, i))
            nn.init.kaiming_normal_(w)
            self.vars.append(w)
            self.vars.append(nn.Parameter(torch.zeros(o)))
    def forward(self, x, vars=None):
        if vars is None:
            vars = self.vars
        for k in range(0, len(vars) - 2, 2):
            x = F.relu(F.linear(x, vars[k], vars[k + 1]))
        return F.linear(x, vars[-2], vars[-1])

class MAML:
    def __init__(self, inner_lr=0.01, k=5):
        self.net = MetaNet().to(dev)
        self.opt = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.inner_lr, self.k = inner_lr, k

    def adapt(self, x, y, steps=1):
        fast = list(self.net.parameters())
        for _ in range(steps):
            loss = F.mse_loss(self.net(x, fast), y)
            grads = torch.autograd.grad(loss, fast, create_graph=True)
            fast = [w - self.inner_lr * g for w, g in zip(fast, grads)]
        return fast

    def meta_step(self, tasks):
        meta_loss = torch.zeros((), device=dev)
        for task in tasks:
            xs, ys = task.sample(self.k)
            xq, yq = task.sample(self.k)
            xs, ys, xq, yq = [t.to(dev) for t in (xs, ys, xq, yq)]
            fast = self.adapt(xs, ys)
            meta_loss = meta_loss + F.mse_loss(self.net(xq, fast), yq)
        self.opt.zero_grad()
        (meta_loss / len(tasks)).backward()
        self.opt.step()
        return meta_loss.item() / len(tasks)

    def evaluate(self, task):
        net = deepcopy(self.net)
        opt = torch.optim.SGD(net.parameters(), self.inner_lr)
        x, y = map(lambda t: t.to(dev), task.sample(self.k))
        for _ in range(2):
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
        grid = torch.linspace(-5, 5, 20).unsqueeze(-1).to(dev)
        with torch.no_grad():
            pred = net(grid)
        true = task.amp * torch.sin(grid + task.phase)
        return (pred - true).pow(2).mean().sqrt().item()

random.seed(0)
torch.manual_seed(0)
maml = MAML()
for it in range(3):
    l = maml.meta_step([SineTask() for _ in range(4)])
    print(it, l)
print(maml.evaluate(SineTask()))
