import torch
from torch import nn


class Callback:
    def on_start(self, **kw): ...
    def on_batch(self, **kw): ...
    def on_end(self, **kw): ...


class Loss(Callback):
    def on_start(self, **kw):
        self.v = []
    def on_batch(self, loss, **kw):
        self.v.append(loss.item())
    def on_end(self, **kw):
        print("loss", sum(self.v) / len(self.v))


class Confusion(Callback):
    def __init__(self, n):
        self.n = n
    def on_start(self, **kw):
        self.mat = torch.zeros(self.n, self.n, dtype=torch.long)  # CAUSE
    def on_batch(self, pred, target, **kw):
        k = target * self.n + pred.argmax(1)
        self.mat += torch.bincount(k, minlength=self.n**2).reshape(self.n, self.n)  # FAIL
    def on_end(self, **kw):
        iou = self.mat.diag() / (self.mat.sum(0) + self.mat.sum(1) - self.mat.diag()).clamp(min=1)
        print("miou", iou.mean().item())


class Loop:
    def __init__(self, net, device, callbacks):
        self.net, self.device, self.callbacks = net.to(device), device, callbacks

    def emit(self, event, **kw):
        for c in self.callbacks:
            getattr(c, event)(**kw)  # CALL

    def evaluate(self, data):
        self.emit("on_start")
        with torch.no_grad():
            for x, y in data:
                x, y = x.to(self.device), y.to(self.device)
                p = self.net(x)
                self.emit("on_batch", pred=p, target=y, loss=nn.functional.cross_entropy(p, y))  # CALL
        self.emit("on_end")


data = [(torch.randn(6, 4), torch.randint(3, (6,))) for _ in range(2)]
Loop(nn.Linear(4, 3), torch.device("cuda" if torch.cuda.is_available() else "cpu"), [Loss(), Confusion(3)]).evaluate(data)  # CALL
