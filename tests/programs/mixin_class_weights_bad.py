"""Mixins: one moves, one logs, one schedules."""
import math
import torch
from torch import nn


class DeviceMixin:
    _device = None

    @property
    def device(self):
        if self._device is None:
            self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return self._device

    def ship(self, *things):
        moved = [t.to(self.device) for t in things]
        return moved[0] if len(moved) == 1 else moved


class LogMixin:
    def log(self, **kw):
        self.__dict__.setdefault("_log", []).append({k: float(v) for k, v in kw.items()})


class CosineMixin:
    def lr_at(self, step, total, base):
        return base * 0.5 * (1 + math.cos(math.pi * step / total))


class Classifier(DeviceMixin, LogMixin, CosineMixin):
    def __init__(self, d_in, d_out, counts):
        self.net = self.ship(nn.Sequential(nn.Linear(d_in, 16), nn.SiLU(), nn.Linear(16, d_out)))
        freq = torch.tensor(counts, dtype=torch.float32)
        self.weights = freq.sum() / freq  # CAUSE
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def fit(self, batches, epochs=2):
        total = epochs * len(batches)
        step = 0
        for _ in range(epochs):
            for x, y in batches:
                x, y = self.ship(x, y)
                for g in self.opt.param_groups:
                    g["lr"] = self.lr_at(step, total, 0.1)
                loss = nn.functional.cross_entropy(self.net(x), y, weight=self.weights)  # FAIL
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.log(loss=loss)
                step += 1
        return self

    def predict(self, x):
        with torch.no_grad():
            return self.net(self.ship(x)).argmax(1).cpu().numpy()


batches = [(torch.randn(6, 4), torch.randint(0, 3, (6,))) for _ in range(3)]
clf = Classifier(4, 3, [10, 5, 2]).fit(batches)
print(clf._log[-1], clf.predict(torch.randn(2, 4)))
