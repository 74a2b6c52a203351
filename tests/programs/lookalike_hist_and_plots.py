"""Statistics and 'plots' of tensors that were brought to numpy first, and of tensors that never left the CPU."""
import numpy as np
import torch
from torch import nn


def ascii_hist(values, bins=5):
    counts, edges = np.histogram(values, bins=bins)
    return "\n".join(f"{lo:6.2f} {'#' * int(c)}" for c, lo in zip(counts, edges))


def to_numpy(t):
    if isinstance(t, torch.Tensor):
        t = t.detach().cpu().numpy()
    return np.asarray(t)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
raw = torch.randn(40, 3)

print(ascii_hist(raw[:, 0].numpy()))
print(ascii_hist(raw.norm(dim=1)))
with torch.no_grad():
    out = net(raw.to(device))
print(ascii_hist(to_numpy(out)))
print(ascii_hist(out.squeeze(1).tolist()))
print(np.corrcoef(raw[:, 0], to_numpy(out)[:, 0]).shape)
losses = []
for i in range(3):
    loss = (net(raw.to(device)) ** 2).mean()
    losses.append(loss.item())
print(np.mean(losses), np.std(losses))
