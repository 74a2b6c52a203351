from functools import partial

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def before_fit(self, learn): pass
    def before_batch(self, learn): pass
    def after_loss(self, learn): pass


class DeviceCB(Callback):
    def __init__(self, device):
        self.device = device

    def before_fit(self, learn):
        learn.model.to(self.device)

    def before_batch(self, learn):
        learn.xb = learn.xb.to(self.device)


class Learner:
    def __init__(self, model, dl, loss_func, opt_func, cbs):
        self.model, self.dl, self.loss_func, self.cbs = model, dl, loss_func, cbs
        self.opt_func = opt_func

    def run(self, name):
        for cb in self.cbs:
            getattr(cb, name)(self)

    def fit(self, n):
        self.run("before_fit")
        self.opt = self.opt_func(self.model.parameters())
        for _ in range(n):
            for self.xb, self.yb in self.dl:
                self.run("before_batch")
                self.preds = self.model(self.xb)
                self.loss = self.loss_func(self.preds, self.yb)  # FAIL
                self.run("after_loss")
                self.loss.backward()
                self.opt.step()
                self.opt.zero_grad()


dl = DataLoader(TensorDataset(torch.randn(12, 4), torch.randint(0, 3, (12,))), batch_size=4)
device = "cuda" if torch.cuda.is_available() else "cpu"
Learner(nn.Linear(4, 3), dl, nn.functional.cross_entropy, partial(torch.optim.SGD, lr=0.1), [DeviceCB(device)]).fit(1)  # CALL
