from collections import OrderedDict

import torch
from torch import nn

METRICS = {}


def metric(name):
    def deco(cls):
        METRICS[name] = cls
        return cls
    return deco


class Metric:
    def reset(self):
        raise NotImplementedError

    def update(self, pred, target):
        raise NotImplementedError

    def compute(self):
        raise NotImplementedError


@metric("acc")
class Accuracy(Metric):
    def reset(self):
        self.right = torch.zeros((), dtype=torch.long)
        self.total = 0

    def update(self, pred, target):
        self.right += (pred.argmax(1) == target).sum().cpu()
        self.total += target.numel()

    def compute(self):
        return self.right.item() / max(1, self.total)


@metric("confusion")
class Confusion(Metric):
    def __init__(self, n=4):
        self.n = n

    def reset(self):
        self.mat = None

    def update(self, pred, target):
        if self.mat is None:
            self.mat = torch.zeros(self.n, self.n, dtype=torch.long)  # CAUSE
        flat = target * self.n + pred.argmax(1)
        self.mat += torch.bincount(flat, minlength=self.n**2).view(self.n, self.n)  # FAIL

    def compute(self):
        m = self.mat.double()
        iou = m.diag() / (m.sum(0) + m.sum(1) - m.diag()).clamp(min=1)
        return iou.mean().item()


@metric("auc")
class RankAUC(Metric):
    def reset(self):
        self.scores, self.labels = [], []

    def update(self, pred, target):
        self.scores.append(pred.softmax(1)[:, 0].detach().cpu())
        self.labels.append((target == 0).cpu())

    def compute(self):
        s, y = torch.cat(self.scores), torch.cat(self.labels)
        order = s.argsort()
        ranks = torch.empty(len(s))
        ranks[order] = torch.arange(1, len(s) + 1).float()
        p, n = y.sum(), (~y).sum()
        return float((ranks[y].sum() - p * (p + 1) / 2) / (p * n).clamp(min=1))


def build(names):
    return OrderedDict((n, METRICS[n]()) for n in names)


def evaluate(model, batches, device, names=("acc", "confusion", "auc")):
    ms = build(names)
    for m in ms.values():
        m.reset()
    with torch.no_grad():
        for x, y in batches:
            out = model(x.to(device))
            for m in ms.values():
                m.update(out, y.to(device))
    return {n: round(m.compute(), 4) for n, m in ms.items()}


device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
net = nn.Linear(6, 4).to(device)
batches = [(torch.randn(8, 6), torch.randint(0, 4, (8,))) for _ in range(3)]
print(evaluate(net, batches, device))
