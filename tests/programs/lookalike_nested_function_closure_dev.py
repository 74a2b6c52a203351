import torch
from torch import nn
from torch.nn import functional as F


def make_loss(class_counts, dev):
    w = 1.0 / torch.tensor(class_counts, dtype=torch.float)
    w = (w / w.sum()).to(dev)
    prior = (torch.tensor(class_counts) / sum(class_counts)).log().to(dev)

    def loss(logits, y):
        return F.cross_entropy(logits + prior, y, weight=w)
    return loss


def make_step(model, opt, loss_fn, dev, scaler=None):
    def step(x, y):
        x, y = x.to(dev, non_blocking=True), y.to(dev, non_blocking=True)
        opt.zero_grad(set_to_none=True)
        loss = loss_fn(model(x), y)
        if scaler is not None:
            scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
        else:
            loss.backward(); opt.step()
        return float(loss)
    return step


def run(dev):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(dev)
    step = make_step(model, torch.optim.SGD(model.parameters(), 0.1), make_loss([10, 5, 1], dev), dev)
    return [step(torch.randn(8, 4), torch.randint(0, 3, (8,))) for _ in range(2)]


print(run("cuda" if torch.cuda.is_available() else "cpu"))
print(run("cpu"))
