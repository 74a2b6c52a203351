import torch
from torch import nn
from torch.distributions import Normal


class Buffer:
    def __init__(self):
        self.clear()

    def clear(self):
        self.obs, self.act, self.logp, self.rew = [], [], [], []

    def store(self, o, a, lp, r):
        self.obs.append(o)
        self.act.append(a)
        self.logp.append(lp)
        self.rew.append(r)

    def get(self, device, gamma=0.95):
        ret, acc = [], 0.0
        for r in reversed(self.rew):
            acc = r + gamma * acc
            ret.insert(0, acc)
        ret = torch.tensor(ret, device=device)
        obs = torch.stack(self.obs).to(device)
        act = torch.stack(self.act).to(device)
        logp = torch.stack(self.logp)  # CAUSE
        return obs, act, logp, (ret - ret.mean()) / (ret.std() + 1e-7)


class Actor(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.mu, self.log_std = nn.Linear(o, a), nn.Parameter(torch.zeros(a))

    def forward(self, o):
        return Normal(self.mu(o), self.log_std.exp())


class PPO:
    def __init__(self, o, a, clip=0.2):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.actor = Actor(o, a).to(self.device)
        self.opt = torch.optim.Adam(self.actor.parameters(), 3e-4)
        self.buf, self.clip = Buffer(), clip

    @torch.no_grad()
    def act(self, o):
        d = self.actor(o.to(self.device))
        a = d.sample()
        return a.cpu(), d.log_prob(a).sum(-1).cpu()

    def update(self):
        obs, act, old, adv = self.buf.get(self.device)
        for _ in range(2):
            new = self.actor(obs).log_prob(act).sum(-1)
            ratio = (new - old).exp()  # FAIL
            loss = -torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        self.buf.clear()


agent = PPO(3, 2)
o = torch.zeros(3)
for t in range(10):
    a, lp = agent.act(o)
    n = 0.9 * o + 0.1 * a.sum()
    agent.buf.store(o, a, lp, -n.norm().item())
    o = n
agent.update()  # CALL
