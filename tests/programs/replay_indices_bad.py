import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class ReplayBuffer:
    def __init__(self, capacity, obs_dim):
        self.obs = np.zeros((capacity, obs_dim), dtype=np.float32)
        self.actions = np.zeros(capacity, dtype=np.int64)
        self.rewards = np.zeros(capacity, dtype=np.float32)
        self.capacity, self.pos, self.full = capacity, 0, False

    def add(self, obs, action, reward):
        self.obs[self.pos], self.actions[self.pos], self.rewards[self.pos] = obs, action, reward
        self.pos = (self.pos + 1) % self.capacity
        self.full = self.full or self.pos == 0

    def sample(self, n):
        index = np.random.randint(0, self.capacity if self.full else self.pos, n)
        return (
            torch.from_numpy(self.obs[index]).to(device),
            torch.from_numpy(self.actions[index]),  # CAUSE
            torch.from_numpy(self.rewards[index]).to(device),
        )


net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4)).to(device)
optimizer = torch.optim.Adam(net.parameters())
buffer = ReplayBuffer(32, 3)
for _ in range(40):
    obs = np.random.randn(3).astype(np.float32)
    with torch.no_grad():
        action = net(torch.tensor(obs, device=device)).argmax().item()
    buffer.add(obs, action, float(obs.sum() > 0))
for _ in range(3):
    obs, actions, rewards = buffer.sample(8)
    q = net(obs).gather(1, actions.unsqueeze(1)).squeeze(1)  # FAIL
    loss = (q - rewards).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
