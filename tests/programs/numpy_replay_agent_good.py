import numpy as np
import torch
import torch.nn as nn


class ReplayBuffer:
    def __init__(self, obs_dim, act_dim, size):
        self.obs = np.zeros((size, obs_dim), dtype=np.float32)
        self.act = np.zeros((size, act_dim), dtype=np.float32)
        self.rew = np.zeros(size, dtype=np.float32)
        self.ptr, self.size = 0, size

    def store(self, obs, act, rew):
        self.obs[self.ptr] = obs
        self.act[self.ptr] = act
        self.rew[self.ptr] = rew
        self.ptr = (self.ptr + 1) % self.size

    def sample_batch(self, batch_size=4):
        idxs = np.random.randint(0, self.ptr, size=batch_size)
        batch = dict(obs=self.obs[idxs], act=self.act[idxs], rew=self.rew[idxs])
        return {k: torch.as_tensor(v, dtype=torch.float32, device=self.device) for k, v in batch.items()}

    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class Agent:
    def __init__(self, obs_dim, act_dim, device):
        self.device = device
        self.actor = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, act_dim)).to(device)
        self.critic = nn.Sequential(nn.Linear(obs_dim + act_dim, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
        self.q_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def act(self, obs):
        with torch.no_grad():
            a = self.actor(torch.as_tensor(obs, dtype=torch.float32).to(self.device))
        return a.cpu().numpy()

    def update(self, data):
        q = self.critic(torch.cat([data["obs"], data["act"]], dim=-1)).squeeze(-1)
        loss_q = ((q - data["rew"]) ** 2).mean()
        self.q_opt.zero_grad()
        loss_q.backward()
        self.q_opt.step()
        return loss_q.item()


def main():
    dev = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    agent = Agent(3, 1, dev)
    buffer = ReplayBuffer(3, 1, 50)
    obs = np.random.randn(3)
    for _ in range(10):
        action = agent.act(obs)
        nxt = np.random.randn(3)
        buffer.store(obs, action, 1.0)
        obs = nxt
    for _ in range(2):
        agent.update(buffer.sample_batch())
    print("trained")


main()
