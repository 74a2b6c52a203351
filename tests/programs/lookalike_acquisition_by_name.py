import torch
from torch import nn

gpu = torch.cuda.is_available()
to_dev = (lambda t: t.cuda()) if gpu else (lambda t: t)


class Pool:
    def __init__(self, n, d):
        self.x = torch.randn(n, d)
        self.y = (self.x[:, 0] * 2 + self.x[:, 1] > 0).long()
        self.known = torch.zeros(n, dtype=torch.bool)
        self.known[:6] = True

    def labelled(self):
        return self.x[self.known], self.y[self.known]

    def unlabelled(self):
        rest = torch.where(~self.known)[0]
        return rest, self.x[rest]

    def reveal(self, idx):
        assert not self.known[idx].any()
        self.known[idx] = True


class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Dropout(0.2))
        self.out = nn.Linear(16, 2)

    def forward(self, x, features=False):
        h = self.body(x)
        return (self.out(h), h) if features else self.out(h)


def fit(net, x, y, steps=10):
    opt = torch.optim.Adam(net.parameters(), 2e-2)
    x, y = to_dev(x), to_dev(y)
    net.train()
    for _ in range(steps):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def bald(net, x, k, n=4):
    net.train()
    p = torch.stack([net(to_dev(x)).softmax(1) for _ in range(n)])
    h = lambda q: -(q * (q + 1e-9).log()).sum(-1)
    score = h(p.mean(0)) - h(p).mean(0)
    return score.topk(k).indices.cpu()


@torch.no_grad()
def coreset(net, x, k, have):
    net.eval()
    f, g = net(to_dev(x), True)[1], net(to_dev(have), True)[1]
    near = torch.cdist(f, g).min(1).values
    chosen = []
    for _ in range(k):
        i = near.argmax()
        chosen.append(i)
        near = torch.minimum(near, (f - f[i]).norm(dim=1))
    return torch.stack(chosen).tolist()


def badge(net, x, k):
    net.eval()
    z, h = net(to_dev(x), features=True)
    p = z.softmax(1).detach()
    g = (p - nn.functional.one_hot(p.argmax(1), 2))[:, :, None] * h.detach()[:, None]
    g = g.flatten(1).cpu()
    picked = [int(g.norm(dim=1).argmax())]
    while len(picked) < k:
        d = torch.cdist(g, g[picked]).min(1).values
        d[picked] = 0
        picked.append(int(torch.multinomial(d.square() + 1e-12, 1)))
    return torch.tensor(picked)


for name in ("bald", "coreset", "badge"):
    torch.manual_seed(0)
    pool, net = Pool(60, 4), Net(4)
    if gpu:
        net.cuda()
    for rnd in range(3):
        x, y = pool.labelled()
        loss = fit(net, x, y)
        rest, xu = pool.unlabelled()
        pick = coreset(net, xu, 3, x) if name == "coreset" else globals()[name](net, xu, 3)
        pool.reveal(torch.unique(rest[pick]))
    net.eval()
    with torch.no_grad():
        acc = (net(to_dev(pool.x)).argmax(1).cpu() == pool.y).float().mean()
    print(name, round(loss, 3), acc.item(), int(pool.known.sum()))
