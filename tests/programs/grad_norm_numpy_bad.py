"""Training that skips steps with exploding gradients and keeps statistics of their norms."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.RandomState(3)
torch.manual_seed(3)


class GradientStats(object):
    def __init__(self):
        self.norms = []
        self.skipped = 0

    def add(self, norm):
        self.norms.append(norm)

    def __str__(self):
        q = np.percentile(self.norms, [10, 50, 90]) if self.norms else [float('nan')] * 3
        return 'grad norm p10 %.3f p50 %.3f p90 %.3f, skipped %d' % (q[0], q[1], q[2], self.skipped)


def toy_batch(n, device):
    x = rng.standard_normal((n, 6)).astype(np.float32)
    if rng.rand() < .2:
        x *= 1e3    # a bad batch now and then
    y = x.sum(axis=1, keepdims=True)
    return torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)


def train(n_steps=8, clip=5.):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    net = nn.Sequential(nn.Linear(6, 12), nn.Softplus(), nn.Linear(12, 1)).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    stats = GradientStats()
    for step in range(n_steps):
        x, y = toy_batch(16, device)
        loss = nn.functional.huber_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), clip)  # CAUSE
        if np.isnan(norm) or norm > 100 * clip:  # FAIL
            stats.skipped += 1
            continue
        stats.add(float(norm))
        opt.step()
    print(stats)
    return net


if __name__ == '__main__':
    trained = train()
    print(sum(p.numel() for p in trained.parameters()))
