import copy
import math
import random
from collections import OrderedDict

import torch
from torch import nn
import torch.nn.functional as F


class SineTask:
    def __init__(self):
        self.amplitude = random.uniform(0.1, 5.0)
        self.phase = random.uniform(0, math.pi)

    def sample(self, k, device=None):
        x = torch.rand(k, 1) * 10 - 5
        y = self.amplitude * torch.sin(x + self.phase)
        if device is not None:
            x, y = x.to(device), y.to(device)
        return x, y


class Net(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(OrderedDict([
            ('l1', nn.Linear(1, hidden)), ('relu1', nn.ReLU()),
            ('l2', nn.Linear(hidden, hidden)), ('relu2', nn.ReLU()),
            ('l3', nn.Linear(hidden, 1)),
        ]))

    def forward(self, x):
        return self.net(x)

    def argforward(self, x, weights):
        x = F.relu(F.linear(x, weights[0], weights[1]))
        x = F.relu(F.linear(x, weights[2], weights[3]))
        return F.linear(x, weights[4], weights[5])


class MAML:
    def __init__(self, model, inner_lr=0.01, meta_lr=0.001, K=10, inner_steps=1, tasks_per_meta_batch=3):
        self.device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
        self.model = model.to(self.device)
        self.weights = list(model.parameters())
        self.meta_optimiser = torch.optim.Adam(self.weights, meta_lr)
        self.inner_lr, self.K = inner_lr, K
        self.inner_steps, self.tasks_per_meta_batch = inner_steps, tasks_per_meta_batch
        self.criterion = nn.MSELoss()

    def inner_loop(self, task):
        temp_weights = [w.clone() for w in self.weights]
        X, y = task.sample(self.K, self.device)
        for step in range(self.inner_steps):
            loss = self.criterion(self.model.argforward(X, temp_weights), y) / self.K
            grad = torch.autograd.grad(loss, temp_weights)
            temp_weights = [w - self.inner_lr * g for w, g in zip(temp_weights, grad)]
        X, y = task.sample(self.K, self.device)
        return self.criterion(self.model.argforward(X, temp_weights), y) / self.K

    def outer_loop(self, iterations):
        for it in range(iterations):
            meta_loss = 0
            for _ in range(self.tasks_per_meta_batch):
                meta_loss += self.inner_loop(SineTask())
            grads = torch.autograd.grad(meta_loss, self.weights)
            for w, g in zip(self.weights, grads):
                w.grad = g
            self.meta_optimiser.step()
            print('iteration', it, (meta_loss / self.tasks_per_meta_batch).item())

    def adapt(self, task, steps=3):
        dummy = copy.deepcopy(self.model)
        opt = torch.optim.SGD(dummy.parameters(), self.inner_lr)
        x, y = task.sample(self.K, self.device)
        losses = []
        for _ in range(steps):
            loss = self.criterion(dummy(x), y)
            losses.append(loss.item())
            opt.zero_grad()
            loss.backward()
            opt.step()
        return losses


random.seed(0)
maml = MAML(Net())
maml.outer_loop(2)
print(maml.adapt(SineTask()))
