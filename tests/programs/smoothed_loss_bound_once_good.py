"""Gradient accumulation over micro-batches with a smoothed, weighted loss bound once."""
from functools import partial
import torch
import torch.nn.functional as F
from torch import nn


def soft_ce(logits, target, weight, smoothing):
    n = logits.size(-1)
    with torch.no_grad():
        dist = torch.full_like(logits, smoothing / (n - 1))
        dist.scatter_(1, target.unsqueeze(1), 1 - smoothing)
    per_row = -(dist * logits.log_softmax(-1) * weight).sum(-1)
    return per_row.mean()


def inverse_frequency(labels, n):
    counts = torch.bincount(labels, minlength=n).clamp(min=1)
    return counts.sum() / (n * counts.float())


def micro_batches(x, y, size, device):
    for xs, ys in zip(x.split(size), y.split(size)):
        yield xs.to(device), ys.to(device)


def train(model, x, y, loss_fn, device, accumulate=4):
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    total = torch.zeros((), device=device)
    pending = 0
    for xs, ys in micro_batches(x, y, 8, device):
        loss = loss_fn(model(xs), ys) / accumulate
        loss.backward()
        total += loss.detach()
        pending += 1
        if pending == accumulate:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            pending = 0
    return total


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = torch.randn(64, 7), torch.randint(4, (64,))
    weight = inverse_frequency(y, 4)
    loss_fn = partial(soft_ce, weight=weight.to(device), smoothing=0.1)
    model = nn.Sequential(nn.Linear(7, 14), nn.Mish(), nn.Linear(14, 4)).to(device)
    for epoch in range(2):
        print(epoch, train(model, x, y, loss_fn, device).item())


if __name__ == "__main__":
    main()
