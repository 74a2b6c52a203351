import torch
from torch import nn


class Noise:
    """One generator for each device that is asked for."""

    def __init__(self, seed):
        self.seed, self.gens = seed, {}

    def _gen(self, device):
        device = torch.device(device)
        if device not in self.gens:
            self.gens[device] = torch.Generator(device=device).manual_seed(self.seed)
        return self.gens[device]

    def normal(self, *shape, device="cpu"):
        return torch.randn(*shape, generator=self._gen(device), device=device)

    def like(self, x):
        return self.normal(*x.shape, device=x.device)


def split(n, share, seed):
    g = torch.Generator().manual_seed(seed)
    order = torch.randperm(n, generator=g)
    k = int(n * share)
    return order[:k], order[k:]


class Private:
    """Noisy gradients, clipped by sample."""

    def __init__(self, params, noise, clip=1.0, sigma=0.5):
        self.params, self.noise, self.clip, self.sigma = list(params), noise, clip, sigma

    def collect(self, losses):
        total = [torch.zeros_like(p) for p in self.params]
        for loss in losses:
            grads = torch.autograd.grad(loss, self.params, retain_graph=True)
            norm = torch.stack([g.norm() for g in grads]).norm()
            scale = (self.clip / (norm + 1e-6)).clamp(max=1.0)
            for t, g in zip(total, grads):
                t.add_(g * scale)
        for p, t in zip(self.params, total):
            p.grad = (t + self.sigma * self.clip * self.noise.like(t)) / len(losses)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(40, 3)
y = (x.sum(1) > 0).long()
tr, te = split(40, 0.8, 5)
train, test = (x[tr].to(device), y[tr].to(device)), (x[te].to(device), y[te])
net = nn.Linear(3, 2).to(device)
noise = Noise(7)
private = Private(net.parameters(), noise)
opt = torch.optim.SGD(net.parameters(), 0.3)
sampler = torch.Generator().manual_seed(1)
for _ in range(4):
    pick = torch.randint(0, len(tr), (8,), generator=sampler)
    losses = nn.functional.cross_entropy(net(train[0][pick]), train[1][pick], reduction="none")
    private.collect(losses)
    opt.step()
print((net(test[0]).argmax(1).cpu() == test[1]).float().mean().item(), noise.normal(2).tolist())
