import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, n=12):
        self.x = torch.randn(n, 4)
        self.y = (self.x.sum(1) > 0).long()
        self.w = torch.rand(n)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "y": self.y[i], "w": self.w[i], "id": i}


class DataPrefetcher:
    def __init__(self, loader, device, keys=("x", "y", "w")):
        self.loader = iter(loader)
        self.device, self.keys = device, keys
        self.preload()

    def preload(self):
        try:
            self.batch = next(self.loader)
        except StopIteration:
            self.batch = None
            return
        for k in self.keys:
            self.batch[k] = self.batch[k].to(self.device, non_blocking=True)

    def next(self):
        batch = self.batch
        if batch is not None:
            self.preload()
        return batch


def weighted(loss, w):
    return (loss * w).sum() / w.sum()


def train(model, loader, device, opt):
    pf = DataPrefetcher(loader, device)
    batch = pf.next()
    n = 0
    while batch is not None:
        out = model(batch["x"])
        loss = nn.functional.cross_entropy(out, batch["y"], reduction="none")
        loss = weighted(loss, batch["w"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        n += 1
        batch = pf.next()
    return n


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).to(dev)
print(train(model, DataLoader(Pairs(), 4), dev, torch.optim.SGD(model.parameters(), 0.1)))
