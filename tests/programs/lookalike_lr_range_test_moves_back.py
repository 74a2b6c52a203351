import math
import tempfile
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class StateCacher:
    def __init__(self, in_memory=True):
        self.in_memory, self.cached = in_memory, {}
        self.dir = None if in_memory else tempfile.mkdtemp()

    def store(self, key, state):
        if self.in_memory:
            self.cached[key] = {k: v.clone() if torch.is_tensor(v) else v for k, v in state.items()}
        else:
            fn = os.path.join(self.dir, f"state_{key}.pt")
            torch.save(state, fn)
            self.cached[key] = fn

    def retrieve(self, key):
        if self.in_memory:
            return self.cached[key]
        return torch.load(self.cached[key], map_location=lambda storage, location: storage, weights_only=True)


class LRFinder:
    def __init__(self, model, optimizer, criterion, device=None, in_memory=True):
        self.model_device = next(model.parameters()).device
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.device = device if device else self.model_device
        self.history = {"lr": [], "loss": []}
        self.best = None
        self.cacher = StateCacher(in_memory)
        self.cacher.store("model", model.state_dict())

    def reset(self):
        self.model.load_state_dict(self.cacher.retrieve("model"))
        self.model.to(self.model_device)

    def range_test(self, loader, end_lr=1.0, num_iter=20, smooth=0.05, diverge=5.0):
        self.model.to(self.device)
        start = self.optimizer.param_groups[0]["lr"]
        it = iter(loader)
        for i in range(num_iter):
            try:
                x, y = next(it)
            except StopIteration:
                it = iter(loader)
                x, y = next(it)
            loss = self._train_batch(x, y)
            lr = start * (end_lr / start) ** (i / (num_iter - 1))
            for g in self.optimizer.param_groups:
                g["lr"] = lr
            if self.best is None:
                self.best = loss
            else:
                loss = smooth * loss + (1 - smooth) * self.history["loss"][-1]
                self.best = min(self.best, loss)
            self.history["lr"].append(lr)
            self.history["loss"].append(loss)
            if loss > diverge * self.best:
                break

    def _train_batch(self, x, y):
        self.model.train()
        x, y = self._move(x), self._move(y)
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def _move(self, o):
        if hasattr(o, "to"):
            return o.to(self.device)
        if isinstance(o, (list, tuple)):
            return type(o)(self._move(v) for v in o)
        raise TypeError(type(o))

    def suggest(self, skip=2):
        lrs, losses = self.history["lr"][skip:], torch.tensor(self.history["loss"][skip:])
        grad = torch.gradient(losses, spacing=(torch.tensor(lrs).log(),))[0]
        return lrs[int(grad.argmin())]


class PairNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x))).squeeze(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(200, 5)
    loader = DataLoader(TensorDataset(x, x[:, 0] * x[:, 1]), 20, shuffle=True)
    for mem in (True, False):
        net = PairNet()
        opt = torch.optim.SGD(net.parameters(), lr=1e-5)
        finder = LRFinder(net, opt, nn.MSELoss(), device=device, in_memory=mem)
        finder.range_test(loader)
        print(mem, f"{finder.suggest():.2e}", len(finder.history["lr"]), next(net.parameters()).device.type)
        finder.reset()
        print(next(net.parameters()).device.type, math.isfinite(finder.best))
