"""An experiment driven by one configuration dictionary."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

config = dict(
    seed=7,
    device="cuda" if torch.cuda.is_available() else "cpu",
    model=dict(vocab=40, dim=8, classes=3),
    optim=dict(lr=1e-2, weight_decay=1e-2),
    data=dict(n=48, length=10, batch_size=12),
    epochs=2,
)


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class TextData(Dataset):
    def __init__(self, n, length, vocab, classes):
        self.ids = np.random.randint(1, vocab, (n, length))
        self.lens = np.random.randint(3, length, n)
        self.y = np.random.randint(0, classes, n)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        mask = np.arange(self.ids.shape[1]) < self.lens[i]
        return {
            "input_ids": torch.as_tensor(self.ids[i]),
            "mask": torch.as_tensor(mask),
            "labels": torch.as_tensor(self.y[i]),
        }


class MeanPool(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.cls = nn.Linear(dim, classes)

    def forward(self, input_ids, mask):
        m = mask.unsqueeze(-1).float()
        e = self.emb(input_ids)
        return self.cls((e * m).sum(1) / m.sum(1))


def train_fn(loader, model, optimizer, cfg):
    model.train()
    total = 0
    for batch in loader:
        labels = batch.pop("labels").to(cfg["device"])
        logits = model(**{k: v.to(cfg["device"]) for k, v in batch.items()})
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def run(cfg):
    seed_everything(cfg["seed"])
    m, d = cfg["model"], cfg["data"]
    ds = TextData(d["n"], d["length"], m["vocab"], m["classes"])
    loader = DataLoader(ds, batch_size=d["batch_size"], shuffle=True)
    model = MeanPool(**m)
    model.to(cfg["device"])
    optimizer = torch.optim.AdamW(model.parameters(), **cfg["optim"])
    for epoch in range(cfg["epochs"]):
        print(f"Epoch {epoch + 1}/{cfg['epochs']} - loss {train_fn(loader, model, optimizer, cfg):.4f}")


run(config)
