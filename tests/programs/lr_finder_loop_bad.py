import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LRFinder:
    def __init__(self, model, optimizer, criterion, device=None):
        self.model = model
        self.optimizer = optimizer
        self.criterion = criterion
        self.device = device or next(model.parameters()).device
        self.history = []

    def range_test(self, loader, end_lr=1.0, num_iter=4):
        lr, mult = 1e-4, (end_lr / 1e-4) ** (1 / num_iter)
        it = iter(loader)
        for _ in range(num_iter):
            try:
                x, y = next(it)
            except StopIteration:
                it = iter(loader)
                x, y = next(it)
            for g in self.optimizer.param_groups:
                g["lr"] = lr
            loss = self._train_batch(x, y)  # CALL
            if math.isnan(loss):
                break
            self.history.append((lr, loss))
            lr *= mult

    def _train_batch(self, x, y):
        x = x.to(self.device)
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)  # FAIL
        loss.backward()
        self.optimizer.step()
        return loss.item()


ds = TensorDataset(torch.randn(20, 3), torch.randn(20, 1))
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 1).to(dev)
finder = LRFinder(net, torch.optim.SGD(net.parameters(), lr=0.1), nn.MSELoss(), dev)
finder.range_test(DataLoader(ds, batch_size=8))  # CALL
print(len(finder.history))
