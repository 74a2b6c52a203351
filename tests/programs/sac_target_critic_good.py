"""Soft actor-critic, one file, after the usual template."""
import math
import random
from collections import deque
from typing import Tuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

LOG_STD_MIN, LOG_STD_MAX = -20, 2


def weights_init_(m):
    if isinstance(m, nn.Linear):
        torch.nn.init.xavier_uniform_(m.weight, gain=1)
        torch.nn.init.constant_(m.bias, 0)


class QNetwork(nn.Module):
    def __init__(self, obs, act, hidden):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(obs + act, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.q2 = nn.Sequential(nn.Linear(obs + act, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.apply(weights_init_)

    def forward(self, state, action):
        xu = torch.cat([state, action], 1)
        return self.q1(xu), self.q2(xu)


class GaussianPolicy(nn.Module):
    def __init__(self, obs, act, hidden, low, high):
        super().__init__()
        self.fc = nn.Linear(obs, hidden)
        self.mean = nn.Linear(hidden, act)
        self.log_std = nn.Linear(hidden, act)
        self.apply(weights_init_)
        self.action_scale = torch.FloatTensor((high - low) / 2.)
        self.action_bias = torch.FloatTensor((high + low) / 2.)

    def forward(self, state):
        x = F.relu(self.fc(state))
        return self.mean(x), torch.clamp(self.log_std(x), min=LOG_STD_MIN, max=LOG_STD_MAX)

    def sample(self, state):
        mean, log_std = self.forward(state)
        normal = Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t)
        log_prob -= torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        return action, log_prob.sum(1, keepdim=True), torch.tanh(mean) * self.action_scale + self.action_bias

    def to(self, device):
        self.action_scale = self.action_scale.to(device)
        self.action_bias = self.action_bias.to(device)
        return super(GaussianPolicy, self).to(device)


class ReplayMemory:
    def __init__(self, capacity, seed):
        random.seed(seed)
        self.buffer = deque(maxlen=capacity)

    def push(self, *transition):
        self.buffer.append(transition)

    def sample(self, n):
        return map(np.stack, zip(*random.sample(self.buffer, n)))

    def __len__(self):
        return len(self.buffer)


class SAC:
    def __init__(self, obs, act, low, high, gamma=0.99, tau=0.01, alpha=0.2, automatic=True):
        self.gamma, self.tau, self.alpha = gamma, tau, alpha
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.critic = QNetwork(obs, act, 16).to(device=self.device)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=3e-4)
        self.critic_target = QNetwork(obs, act, 16).to(self.device)
        self.hard_update(self.critic_target, self.critic)
        self.automatic = automatic
        if automatic:
            self.target_entropy = -torch.prod(torch.Tensor((act,)).to(self.device)).item()
            self.log_alpha = torch.zeros(1, requires_grad=True, device=self.device)
            self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=3e-4)
        self.policy = GaussianPolicy(obs, act, 16, low, high).to(self.device)
        self.policy_optim = torch.optim.Adam(self.policy.parameters(), lr=3e-4)

    @staticmethod
    def hard_update(target, source):
        for t, s in zip(target.parameters(), source.parameters()):
            t.data.copy_(s.data)

    def soft_update(self, target, source):
        for t, s in zip(target.parameters(), source.parameters()):
            t.data.copy_(t.data * (1.0 - self.tau) + s.data.to(t.data.device) * self.tau)

    def select_action(self, state, evaluate=False):
        state = torch.FloatTensor(state).to(self.device).unsqueeze(0)
        if evaluate is False:
            action, _, _ = self.policy.sample(state)
        else:
            _, _, action = self.policy.sample(state)
        return action.detach().cpu().numpy()[0]

    def update_parameters(self, memory, n):
        state_batch, action_batch, reward_batch, next_batch, mask_batch = memory.sample(n)
        state_batch = torch.FloatTensor(state_batch).to(self.device)
        next_batch = torch.FloatTensor(next_batch).to(self.device)
        action_batch = torch.FloatTensor(action_batch).to(self.device)
        reward_batch = torch.FloatTensor(reward_batch).to(self.device).unsqueeze(1)
        mask_batch = torch.FloatTensor(mask_batch).to(self.device).unsqueeze(1)
        with torch.no_grad():
            next_action, next_log_pi, _ = self.policy.sample(next_batch)
            q1, q2 = self.critic_target(next_batch, next_action)
            min_q = torch.min(q1, q2) - self.alpha * next_log_pi
            next_q = reward_batch + mask_batch * self.gamma * min_q
        qf1, qf2 = self.critic(state_batch, action_batch)
        qf_loss = F.mse_loss(qf1, next_q) + F.mse_loss(qf2, next_q)
        self.critic_optim.zero_grad()
        qf_loss.backward()
        self.critic_optim.step()
        pi, log_pi, _ = self.policy.sample(state_batch)
        policy_loss = ((self.alpha * log_pi) - torch.min(*self.critic(state_batch, pi))).mean()
        self.policy_optim.zero_grad()
        policy_loss.backward()
        self.policy_optim.step()
        if self.automatic:
            alpha_loss = -(self.log_alpha * (log_pi + self.target_entropy).detach()).mean()
            self.alpha_optim.zero_grad()
            alpha_loss.backward()
            self.alpha_optim.step()
            self.alpha = self.log_alpha.exp().detach()
        self.soft_update(self.critic_target, self.critic)
        return qf_loss.item(), policy_loss.item()


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    agent = SAC(3, 2, np.array([-1.0, -2.0]), np.array([1.0, 2.0]))
    memory = ReplayMemory(100, 0)
    s = np.zeros(3, dtype=np.float32)
    for i in range(24):
        a = agent.select_action(s)
        s2 = s + 0.1 * np.random.randn(3).astype(np.float32)
        memory.push(s, a, np.float32(-np.abs(s2).sum()), s2, np.float32(i % 6 != 5))
        s = s2
        if len(memory) > 16:
            losses = agent.update_parameters(memory, 8)
    print(all(math.isfinite(x) for x in losses))


if __name__ == "__main__":
    main()
