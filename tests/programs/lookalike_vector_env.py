"""Observations are numpy arrays; tensors exist only between `as_tensor` and `.cpu()`."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal


class Envs:
    def __init__(self, n):
        self.n = n
        self.rng = np.random.default_rng(0)

    def reset(self):
        self.s = self.rng.normal(size=(self.n, 2))
        return self.s

    def step(self, a):
        self.s = self.s * 0.9 + a
        return self.s, -np.abs(self.s).sum(1), np.zeros(self.n, dtype=bool)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Linear(2, 2)
        self.v = nn.Linear(2, 1)
        self.log_std = nn.Parameter(torch.zeros(2))

    def forward(self, obs):
        return Normal(self.mu(obs), self.log_std.exp()), self.v(obs).squeeze(-1)

    def act(self, obs):
        obs = torch.as_tensor(obs, dtype=torch.float32, device=self.log_std.device)
        with torch.no_grad():
            dist, value = self(obs)
            action = dist.sample()
        return action.cpu().numpy(), dist.log_prob(action).sum(-1).cpu().numpy(), value.cpu().numpy()


def gae(rewards, values, last, gamma=0.99, lam=0.95):
    adv, running = np.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        nxt = last if t == len(rewards) - 1 else values[t + 1]
        running = rewards[t] + gamma * nxt - values[t] + gamma * lam * running
        adv[t] = running
    return adv


torch.manual_seed(0)
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ac = ActorCritic().to(dev)
opt = torch.optim.Adam(ac.parameters(), lr=1e-2)
envs = Envs(3)
obs = envs.reset()
for update in range(2):
    rows = []
    for _ in range(5):
        a, logp, v = ac.act(obs)
        nxt, r, d = envs.step(a)
        rows.append((obs, a, logp, r, v))
        obs = nxt
    O, A, LP, R, V = (np.stack(c).astype(np.float32) for c in zip(*rows))
    adv = gae(R, V, ac.act(obs)[2])
    ret = adv + V
    O, A, LP, adv, ret = (torch.from_numpy(t).to(dev) for t in (O, A, LP, adv, ret))
    dist, value = ac(O)
    ratio = (dist.log_prob(A).sum(-1) - LP).exp()
    loss = -(ratio * adv).mean() + 0.5 * (value - ret).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(update, loss.item(), R.mean())
