import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

LOG_STD_MIN, LOG_STD_MAX = -5, 2


class ReplayBuffer:
    def __init__(self, obs_dim, act_dim, size, device):
        self.obs = np.zeros((size, obs_dim), dtype=np.float32)
        self.next_obs = np.zeros((size, obs_dim), dtype=np.float32)
        self.acts = np.zeros((size, act_dim), dtype=np.float32)
        self.rews = np.zeros((size, 1), dtype=np.float32)
        self.done = np.zeros((size, 1), dtype=np.float32)
        self.ptr, self.size, self.max_size = 0, 0, size
        self.device = device

    def store(self, o, a, r, o2, d):
        i = self.ptr
        self.obs[i], self.acts[i], self.rews[i], self.next_obs[i], self.done[i] = o, a, r, o2, d
        self.ptr = (i + 1) % self.max_size
        self.size = min(self.size + 1, self.max_size)

    def sample(self, batch_size):
        idx = np.random.randint(0, self.size, size=batch_size)
        return (
            torch.as_tensor(self.obs[idx], device=self.device),
            torch.as_tensor(self.acts[idx], device=self.device),
            torch.as_tensor(self.rews[idx], device=self.device),
            torch.as_tensor(self.next_obs[idx], device=self.device),
            torch.as_tensor(self.done[idx]),  # CAUSE
        )


def mlp(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1])]
        if i < len(sizes) - 2:
            layers += [nn.ReLU()]
    return nn.Sequential(*layers)


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.body = mlp([obs_dim, 16, 2 * act_dim])

    def forward(self, obs):
        mu, log_std = self.body(obs).chunk(2, -1)
        std = log_std.clamp(LOG_STD_MIN, LOG_STD_MAX).exp()
        dist = Normal(mu, std)
        u = dist.rsample()
        logp = dist.log_prob(u).sum(-1, keepdim=True)
        logp = logp - (2 * (np.log(2) - u - F.softplus(-2 * u))).sum(-1, keepdim=True)
        return torch.tanh(u), logp


class TwinQ(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.q1 = mlp([obs_dim + act_dim, 16, 1])
        self.q2 = mlp([obs_dim + act_dim, 16, 1])

    def forward(self, o, a):
        x = torch.cat([o, a], -1)
        return self.q1(x), self.q2(x)


class SAC:
    def __init__(self, obs_dim, act_dim, args):
        self.device = torch.device(args.device)
        self.gamma, self.tau, self.alpha = 0.99, 0.01, 0.2
        self.actor = Actor(obs_dim, act_dim).to(self.device)
        self.critic = TwinQ(obs_dim, act_dim).to(self.device)
        self.critic_target = copy.deepcopy(self.critic)
        self.a_opt = torch.optim.Adam(self.actor.parameters(), lr=args.lr)
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=args.lr)

    @torch.no_grad()
    def act(self, obs):
        a, _ = self.actor(torch.as_tensor(obs, dtype=torch.float32, device=self.device).unsqueeze(0))
        return a.squeeze(0).cpu().numpy()

    def update(self, replay, batch_size):
        obs, act, rew, next_obs, done = replay.sample(batch_size)
        with torch.no_grad():
            next_act, logp = self.actor(next_obs)
            q1, q2 = self.critic_target(next_obs, next_act)
            target = rew + self.gamma * (1 - done) * (torch.min(q1, q2) - self.alpha * logp)  # FAIL
        q1, q2 = self.critic(obs, act)
        c_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.c_opt.zero_grad()
        c_loss.backward()
        self.c_opt.step()
        new_act, logp = self.actor(obs)
        a_loss = (self.alpha * logp - torch.min(*self.critic(obs, new_act))).mean()
        self.a_opt.zero_grad()
        a_loss.backward()
        self.a_opt.step()
        with torch.no_grad():
            for p, tp in zip(self.critic.parameters(), self.critic_target.parameters()):
                tp.data.lerp_(p.data, self.tau)
        return c_loss.item(), a_loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args([])
    np.random.seed(0)
    torch.manual_seed(0)
    agent = SAC(3, 1, args)
    replay = ReplayBuffer(3, 1, 200, agent.device)
    obs = np.random.randn(3)
    for step in range(args.steps):
        act = agent.act(obs)
        nxt = 0.9 * obs + 0.1 * act
        replay.store(obs, act, -float(np.abs(nxt).sum()), nxt, float(step % 10 == 9))
        obs = nxt if step % 10 != 9 else np.random.randn(3)
        if replay.size >= 8 and step % 5 == 0:
            print(step, agent.update(replay, 8))


if __name__ == "__main__":
    main()
