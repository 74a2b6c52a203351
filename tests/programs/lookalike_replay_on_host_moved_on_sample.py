import random
import torch
from torch import nn


class HostReplay:
    """Everything stays in pinned host memory until it is sampled."""

    def __init__(self, capacity, obs_dim, device):
        self.obs = torch.zeros(capacity, obs_dim)
        self.nxt = torch.zeros(capacity, obs_dim)
        self.act = torch.zeros(capacity, dtype=torch.long)
        self.rew = torch.zeros(capacity)
        self.done = torch.zeros(capacity)
        self.device = device
        self.capacity, self.pos, self.full = capacity, 0, False

    def push(self, o, a, r, n, d):
        i = self.pos
        self.obs[i] = torch.as_tensor(o)
        self.nxt[i] = torch.as_tensor(n)
        self.act[i], self.rew[i], self.done[i] = a, r, float(d)
        self.pos = (i + 1) % self.capacity
        self.full = self.full or self.pos == 0

    def __len__(self):
        return self.capacity if self.full else self.pos

    def sample(self, n):
        idx = torch.randint(0, len(self), (n,))
        return tuple(t[idx].to(self.device) for t in (self.obs, self.act, self.rew, self.nxt, self.done))


class DQN:
    def __init__(self, obs_dim, n_actions, device):
        mk = lambda: nn.Sequential(nn.Linear(obs_dim, 16), nn.ReLU(), nn.Linear(16, n_actions)).to(device)
        self.q, self.target = mk(), mk()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters())
        self.device, self.n_actions = device, n_actions

    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            q = self.q(torch.tensor(obs, dtype=torch.float32, device=self.device)[None])
        return q.argmax(1).item()

    def learn(self, batch, gamma=0.99):
        o, a, r, n, d = batch
        with torch.no_grad():
            y = r + gamma * (1 - d) * self.target(n).max(1).values
        loss = nn.functional.smooth_l1_loss(self.q(o).gather(1, a[:, None]).squeeze(1), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
agent, memory = DQN(3, 2, dev), HostReplay(50, 3, dev)
obs = [random.random() for _ in range(3)]
for step in range(40):
    a = agent.act(obs, max(0.1, 1 - step / 20))
    nxt, rew, done = [random.random() for _ in range(3)], random.random(), step % 9 == 0
    memory.push(obs, a, rew, nxt, done)
    obs = nxt
    if len(memory) > 16 and step % 4 == 0:
        print(step, agent.learn(memory.sample(16)))
