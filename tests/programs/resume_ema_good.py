"""Saves a checkpoint, resumes from it, goes on with the averaged weights."""
import os
import tempfile

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 2))


def save(path, step, model, optimizer, ema):
    torch.save({
        "step": step,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "ema": ema,
    }, path)


def load(path, model, optimizer, device):
    ckpt = torch.load(path, map_location=device)
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    return ckpt["step"], ckpt["ema"]


def train(path, steps, device):
    model = build().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    ema = [p.detach().clone() for p in model.parameters()]
    start = 0
    if os.path.exists(path):
        start, ema = load(path, model, optimizer, device)
        print("resumed at", start)

    for step in range(start, start + steps):
        x = torch.randn(16, 4, device=device)
        y = (x.sum(1) > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for e, p in zip(ema, model.parameters()):
                e.mul_(0.9).add_(p, alpha=0.1)
    save(path, start + steps, model, optimizer, ema)
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as d:
        ckpt_path = os.path.join(d, "last.pt")
        print(train(ckpt_path, 3, dev))
        print(train(ckpt_path, 3, dev))
