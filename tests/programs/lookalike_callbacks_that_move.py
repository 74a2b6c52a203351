import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    order = 0
    def before_fit(self, learn): pass
    def before_batch(self, learn): pass
    def after_loss(self, learn): pass
    def after_fit(self, learn): pass


class ToDevice(Callback):
    order = -10
    def __init__(self, device): self.device = device
    def before_fit(self, learn):
        learn.model.to(self.device)
    def before_batch(self, learn):
        learn.xb, learn.yb = learn.xb.to(self.device), learn.yb.to(self.device)


class Recorder(Callback):
    def __init__(self):
        self.losses, self.preds = [], []
    def after_loss(self, learn):
        self.losses.append(learn.loss.detach().cpu())
        self.preds.append(learn.pred.detach().cpu())
    def after_fit(self, learn):
        acc = (torch.cat(self.preds).argmax(1) == torch.cat(learn.targets)).float().mean()
        print("loss %.3f acc %.3f" % (torch.stack(self.losses).mean(), acc))


class Normalize(Callback):
    order = -5
    def __init__(self, mean, std): self.mean, self.std = mean, std
    def before_batch(self, learn):
        m, s = [t.to(learn.xb) for t in (self.mean, self.std)]
        learn.xb = (learn.xb - m) / s


class Learner:
    def __init__(self, model, dl, loss_func, cbs):
        self.model, self.dl, self.loss_func = model, dl, loss_func
        self.cbs = sorted(cbs, key=lambda c: c.order)
        self.targets = []

    def __call__(self, event):
        for cb in self.cbs:
            getattr(cb, event)(self)

    def fit(self, n, lr=0.1):
        self("before_fit")
        opt = torch.optim.SGD(self.model.parameters(), lr)
        for _ in range(n):
            for self.xb, self.yb in self.dl:
                self.targets.append(self.yb)
                self("before_batch")
                self.pred = self.model(self.xb)
                self.loss = self.loss_func(self.pred, self.yb)
                self("after_loss")
                self.loss.backward()
                opt.step()
                opt.zero_grad()
        self("after_fit")


x = torch.randn(40, 3) * 2 + 1
ds = TensorDataset(x, (x.sum(1) > 3).long())
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
Learner(nn.Linear(3, 2), DataLoader(ds, 8), nn.functional.cross_entropy, [Recorder(), Normalize(x.mean(0), x.std(0)), ToDevice(dev)]).fit(2)
