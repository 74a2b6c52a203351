"""Experience is kept on the CPU to save GPU memory and moved when it is sampled."""
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Memory:
    def __init__(self, size, obs_dim):
        self.obs = torch.zeros(size, obs_dim)
        self.nxt = torch.zeros(size, obs_dim)
        self.act = torch.zeros(size, dtype=torch.long)
        self.rew = torch.zeros(size)
        self.size, self.n = size, 0

    def push(self, o, a, r, o2):
        # assignment to a slot copies across devices
        i = self.n % self.size
        self.obs[i] = o
        self.act[i] = a
        self.rew[i] = r
        self.nxt[i] = o2
        self.n += 1

    def sample(self, k):
        idx = torch.randint(min(self.n, self.size), (k,))
        return (t[idx].to(device) for t in (self.obs, self.act, self.rew, self.nxt))


def world(o, a):
    o2 = torch.roll(o, 1 if a else -1)
    return o2, float(o2[0])


torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
opt = torch.optim.Adam(q.parameters(), lr=1e-2)
memory = Memory(64, 4)
o = torch.eye(4, device=device)[0]
for t in range(48):
    with torch.no_grad():
        a = q(o).argmax() if t % 3 else torch.randint(2, ())
    o2, r = world(o, a)
    memory.push(o, a, r, o2)
    o = o2
    if t % 16 == 15:
        obs, act, rew, nxt = memory.sample(8)
        with torch.no_grad():
            goal = rew + 0.9 * q(nxt).max(1).values
        loss = (q(obs)[torch.arange(8), act] - goal).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(t, loss.item())
