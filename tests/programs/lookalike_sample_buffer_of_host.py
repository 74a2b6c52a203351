import torch
import torch.nn as nn
import torch.nn.functional as F


class EnergyNet(nn.Module):
    def __init__(self, d, classes):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 32), nn.LeakyReLU(0.1), nn.Linear(32, 32), nn.LeakyReLU(0.1))
        self.cls = nn.Linear(32, classes)

    def classify(self, x):
        return self.cls(self.f(x))

    def forward(self, x, y=None):
        logits = self.classify(x)
        if y is None:
            return logits.logsumexp(1)
        return torch.gather(logits, 1, y[:, None])


class SampleBuffer:
    """Chains persist on the host; a few are drawn to the device at each step."""

    def __init__(self, size, d, reinit=0.05):
        self.data = self.fresh(size, d)
        self.d, self.reinit = d, reinit

    @staticmethod
    def fresh(n, d):
        return torch.FloatTensor(n, d).uniform_(-1, 1)

    def draw(self, n, device):
        inds = torch.randint(0, len(self.data), (n,))
        old = self.data[inds]
        new = self.fresh(n, self.d)
        choose = (torch.rand(n) < self.reinit).float()[:, None]
        return (choose * new + (1 - choose) * old).to(device), inds

    def put(self, inds, samples):
        self.data[inds] = samples.detach().cpu()


def sgld(net, buf, n, device, steps=5, step_size=0.5, noise=0.01):
    net.eval()
    x, inds = buf.draw(n, device)
    x = x.requires_grad_(True)
    for _ in range(steps):
        g = torch.autograd.grad(net(x).sum(), [x])[0]
        x.data += step_size * g + noise * torch.randn_like(x)
    net.train()
    buf.put(inds, x)
    return x.detach()


def cycle(x, y, n):
    while True:
        for idx in torch.randperm(len(x)).split(n):
            yield x[idx], y[idx]


def ood_auc(a, b):
    s = torch.cat([a, b])
    rank = s.argsort().argsort().float() + 1
    return ((rank[:len(a)].sum() - len(a) * (len(a) + 1) / 2) / (len(a) * len(b))).item()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    y = torch.arange(120) % 3
    x = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[y] + 0.2 * torch.randn(120, 2)
    net = EnergyNet(2, 3).to(device)
    buf = SampleBuffer(100, 2)
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    stream = cycle(x, y, 30)
    for it in range(8):
        xb, yb = next(stream)
        xb, yb = xb.to(device), yb.to(device)
        fq = sgld(net, buf, 30, device)
        gap = net(xb).mean() - net(fq).mean()
        ce = F.cross_entropy(net.classify(xb), yb)
        loss = ce - 0.1 * gap
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        inside = net(x.to(device))
        outside = net(torch.randn(60, 2).mul(4).to(device))
        acc = (net.classify(x.to(device)).argmax(1).cpu() == y).float().mean().item()
    print(ce.item(), gap.item(), acc, ood_auc(inside, outside), buf.data.std(0).tolist())


if __name__ == "__main__":
    main()
