import threading
import queue
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset

Click = namedtuple("Click", ["dense", "sparse", "bags"])


class ClickStream(IterableDataset):
    def __init__(self, n, cards, seed):
        self.n, self.cards, self.seed = n, cards, seed

    def __iter__(self):
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n):
            dense = rng.normal(size=4).astype(np.float32)
            sparse = np.array([rng.integers(c) for c in self.cards])
            bag = rng.integers(0, 20, size=rng.integers(1, 5))
            label = float(dense[0] + (sparse[0] % 2) > 0.5)
            yield dense, sparse, bag, label


def collate(rows):
    dense, sparse, bags, labels = zip(*rows)
    offsets = np.cumsum([0] + [len(b) for b in bags[:-1]])
    bag_inputs = (torch.from_numpy(np.concatenate(bags)), torch.from_numpy(offsets))
    click = Click(torch.from_numpy(np.stack(dense)), torch.from_numpy(np.stack(sparse)), bag_inputs)
    return {"x": click, "y": torch.tensor(labels), "size": len(rows)}


def to_device(obj, device):
    if torch.is_tensor(obj):
        return obj.to(device, non_blocking=True)
    if isinstance(obj, dict):
        return {k: to_device(v, device) for k, v in obj.items()}
    if isinstance(obj, tuple) and hasattr(obj, "_fields"):
        return type(obj)(*(to_device(v, device) for v in obj))
    if isinstance(obj, (list, tuple)):
        return type(obj)(to_device(v, device) for v in obj)
    return obj


class Prefetcher:
    """Moves the next batches in a background thread."""

    _end = object()

    def __init__(self, loader, device, depth=2):
        self.loader, self.device = loader, device
        self.buffer = queue.Queue(maxsize=depth)

    def _work(self):
        for batch in self.loader:
            self.buffer.put(to_device(batch, self.device))
        self.buffer.put(self._end)

    def __iter__(self):
        thread = threading.Thread(target=self._work, daemon=True)
        thread.start()
        while (batch := self.buffer.get()) is not self._end:
            yield batch
        thread.join()


class WideAndDeep(nn.Module):
    def __init__(self, cards, dim=6):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(c, dim) for c in cards)
        self.history = nn.EmbeddingBag(20, dim, mode="mean")
        self.deep = nn.Sequential(nn.Linear(4 + dim * (len(cards) + 1), 16), nn.ReLU(), nn.Linear(16, 1))
        self.wide = nn.Linear(4, 1)

    def forward(self, click):
        parts = [click.dense] + [t(click.sparse[:, i]) for i, t in enumerate(self.tables)]
        parts.append(self.history(*click.bags))
        return (self.deep(torch.cat(parts, 1)) + self.wide(click.dense)).squeeze(1)


def train(config):
    torch.manual_seed(config["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = WideAndDeep(config["cards"]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(config["epochs"]):
        stream = ClickStream(config["rows"], config["cards"], config["seed"] + epoch)
        loader = DataLoader(stream, batch_size=config["batch"], collate_fn=collate)
        total, seen = 0.0, 0
        for batch in Prefetcher(loader, device):
            loss = loss_fn(model(batch["x"]), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * batch["size"]
            seen += batch["size"]
        print(f"epoch {epoch}: {seen} rows, logloss {total / seen:.4f}")


if __name__ == "__main__":
    train({"seed": 17, "cards": [7, 5, 11], "lr": 1e-2, "epochs": 2, "batch": 16, "rows": 64})
