"""A small training framework with callbacks."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def on_epoch_start(self, runner): pass
    def on_batch_end(self, runner, logits, target): pass
    def on_epoch_end(self, runner): pass


class LossLogger(Callback):
    def on_epoch_start(self, runner):
        self.values = []

    def on_batch_end(self, runner, logits, target):
        self.values.append(runner.loss.item())

    def on_epoch_end(self, runner):
        print(f"epoch {runner.epoch} loss {sum(self.values) / len(self.values):.4f}")


class ConfusionMatrix(Callback):
    def __init__(self, n_classes):
        self.n = n_classes

    def on_epoch_start(self, runner):
        self.counts = torch.zeros(self.n * self.n, dtype=torch.long, device=runner.device)

    def on_batch_end(self, runner, logits, target):
        flat = target * self.n + logits.argmax(1)
        self.counts += torch.bincount(flat, minlength=self.n ** 2)

    def on_epoch_end(self, runner):
        m = self.counts.view(self.n, self.n)
        print("recall", [round((m[i, i] / m[i].sum().clamp(min=1)).item(), 2) for i in range(self.n)])


class Runner:
    def __init__(self, model, loader, callbacks):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.loader = loader
        self.callbacks = callbacks
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        self.loss_fn = nn.CrossEntropyLoss()

    def _fire(self, hook, *args):
        for cb in self.callbacks:
            getattr(cb, hook)(self, *args)

    def fit(self, epochs):
        for self.epoch in range(epochs):
            self._fire("on_epoch_start")
            for xb, yb in self.loader:
                xb = xb.to(self.device, non_blocking=True)
                yb = yb.to(self.device, non_blocking=True)
                logits = self.model(xb)
                self.loss = self.loss_fn(logits, yb)
                self.opt.zero_grad()
                self.loss.backward()
                self.opt.step()
                self._fire("on_batch_end", logits.detach(), yb)
            self._fire("on_epoch_end")


if __name__ == "__main__":
    torch.manual_seed(0)
    xs = torch.randn(90, 4)
    ys = xs.argmax(1) % 3
    dl = DataLoader(TensorDataset(xs, ys), batch_size=30, shuffle=True)
    Runner(nn.Linear(4, 3), dl, [LossLogger(), ConfusionMatrix(3)]).fit(2)
