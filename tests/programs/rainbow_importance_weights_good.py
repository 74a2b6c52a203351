import numpy as np
import torch
from torch import nn


class SumTree:
    def __init__(self, cap):
        self.cap = cap
        self.tree = np.zeros(2 * cap)
        self.pos = self.size = 0

    def set(self, i, p):
        i += self.cap
        self.tree[i] = p
        while i > 1:
            i //= 2
            self.tree[i] = self.tree[2 * i] + self.tree[2 * i + 1]

    def find(self, v):
        i = 1
        while i < self.cap:
            i *= 2
            if v > self.tree[i]:
                v -= self.tree[i]
                i += 1
        return i - self.cap


class PER:
    def __init__(self, cap, obs_dim, device, alpha=0.6, beta=0.4):
        self.tree = SumTree(cap)
        self.obs = torch.zeros(cap, obs_dim)
        self.nxt = torch.zeros(cap, obs_dim)
        self.act = torch.zeros(cap, dtype=torch.long)
        self.rew = torch.zeros(cap)
        self.done = torch.zeros(cap)
        self.device, self.alpha, self.beta, self.max_p = device, alpha, beta, 1.0

    def push(self, o, a, r, o2, d):
        i = self.tree.pos
        self.obs[i] = torch.as_tensor(o)
        self.nxt[i] = torch.as_tensor(o2)
        self.act[i], self.rew[i], self.done[i] = a, r, float(d)
        self.tree.set(i, self.max_p ** self.alpha)
        self.tree.pos = (i + 1) % self.tree.cap
        self.tree.size = min(self.tree.size + 1, self.tree.cap)

    def sample(self, n):
        total = self.tree.tree[1]
        idx = [self.tree.find(np.random.uniform(total * k / n, total * (k + 1) / n)) for k in range(n)]
        p = np.array([self.tree.tree[i + self.tree.cap] for i in idx]) / total
        w = (self.tree.size * p) ** -self.beta
        w = torch.tensor(w / w.max(), dtype=torch.float32, device=self.device)
        batch = [t[idx].to(self.device) for t in (self.obs, self.act, self.rew, self.nxt, self.done)]
        return idx, w, batch

    def update(self, idx, err):
        for i, e in zip(idx, err):
            self.max_p = max(self.max_p, float(e))
            self.tree.set(i, (float(e) + 1e-5) ** self.alpha)


class C51(nn.Module):
    def __init__(self, obs, act, atoms=11, v=5.0):
        super().__init__()
        self.act, self.atoms, self.v = act, atoms, v
        self.register_buffer("support", torch.linspace(-v, v, atoms))
        self.delta = 2 * v / (atoms - 1)
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, act * atoms))

    def forward(self, x):
        return self.net(x).view(-1, self.act, self.atoms).log_softmax(-1)

    def q(self, x):
        return (self(x).exp() * self.support).sum(-1)


@torch.no_grad()
def project(net, rew, nxt, done, gamma=0.95):
    n = rew.size(0)
    a = net.q(nxt).argmax(1)
    p = net(nxt).exp()[torch.arange(n), a]
    tz = (rew[:, None] + gamma * (1 - done[:, None]) * net.support).clamp(-net.v, net.v)
    b = (tz + net.v) / net.delta
    lo, hi = b.floor().long(), b.ceil().long()
    lo[(hi > 0) & (lo == hi)] -= 1
    hi[(lo < net.atoms - 1) & (lo == hi)] += 1
    m = torch.zeros_like(p)
    off = torch.arange(n, device=rew.device)[:, None] * net.atoms
    m.view(-1).index_add_(0, (lo + off).view(-1), (p * (hi - b)).view(-1))
    m.view(-1).index_add_(0, (hi + off).view(-1), (p * (b - lo)).view(-1))
    return m


np.random.seed(0)
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net, target = C51(3, 2).to(device), C51(3, 2).to(device)
target.load_state_dict(net.state_dict())
opt, mem = torch.optim.Adam(net.parameters(), 1e-3), PER(64, 3, device)
o = np.random.randn(3).astype(np.float32)
for step in range(80):
    if np.random.rand() < 0.2:
        a = np.random.randint(2)
    else:
        with torch.no_grad():
            a = net.q(torch.from_numpy(o)[None].to(device)).argmax().item()
    o2 = np.random.randn(3).astype(np.float32)
    mem.push(o, a, float(o[a] > 0), o2, step % 10 == 9)
    o = o2
    if mem.tree.size >= 32:
        idx, w, (s, act, r, s2, d) = mem.sample(16)
        ce = -(project(target, r, s2, d) * net(s)[torch.arange(16), act]).sum(1)
        opt.zero_grad(); (w * ce).mean().backward(); opt.step()
        mem.update(idx, ce.detach().cpu().numpy())
    if step % 20 == 0:
        target.load_state_dict(net.state_dict())
print(ce.mean().item(), mem.max_p)
