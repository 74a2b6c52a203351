import torch
from torch import nn


class Ring:
    """a ring of tensors on one device; indices may be on the host"""

    def __init__(self, cap, spec, device):
        self.cap, self.device = cap, device
        self.data = {k: torch.zeros(cap, *shape, dtype=dt, device=device) for k, (shape, dt) in spec.items()}
        self.prio = torch.zeros(cap)
        self.ptr = self.full = 0

    def add(self, **kw):
        for k, v in kw.items():
            self.data[k][self.ptr] = torch.as_tensor(v)
        self.prio[self.ptr] = self.prio.max() if self.prio.any() else 1.0
        self.ptr = (self.ptr + 1) % self.cap
        self.full = max(self.full, self.ptr)

    def sample(self, n, beta=0.4):
        p = self.prio[: self.full] ** 0.6
        idx = torch.multinomial(p / p.sum(), n, replacement=True)
        w = (self.full * (p / p.sum())[idx]) ** -beta
        out = {k: v[idx] for k, v in self.data.items()}
        return out, idx, (w / w.max()).to(self.device)

    def update(self, idx, td):
        self.prio[idx] = td.detach().abs().cpu() + 1e-5


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
spec = dict(obs=((3,), torch.float32), act=((), torch.long), rew=((), torch.float32), nxt=((3,), torch.float32))
ring = Ring(32, spec, dev)
q = nn.Linear(3, 2).to(dev)
target = nn.Linear(3, 2).to(dev).requires_grad_(False)
opt = torch.optim.Adam(q.parameters())
o = torch.zeros(3)
for t in range(20):
    with torch.no_grad():
        a = q(o.to(dev)).argmax().item() if t % 3 else t % 2
    n = o + torch.randn(3) * 0.1
    ring.add(obs=o, act=a, rew=-float(n.norm()), nxt=n)
    o = n
    if t < 8:
        continue
    b, idx, w = ring.sample(6)
    y = b["rew"] + 0.9 * target(b["nxt"]).amax(1)
    td = y - q(b["obs"]).gather(1, b["act"].unsqueeze(1)).squeeze(1)
    loss = (w * td**2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    ring.update(idx, td)
    for p, tp in zip(q.parameters(), target.parameters()):
        tp.data.lerp_(p.data, 0.1)
print(loss.item(), ring.prio[: ring.full].mean().item())
