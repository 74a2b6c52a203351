"""DDPG on a one-dimensional tracking task."""
import copy
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Actor(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.l1 = nn.Linear(s, 24)
        self.l2 = nn.Linear(24, a)

    def forward(self, s):
        return torch.tanh(self.l2(F.relu(self.l1(s))))  # FAIL


class Critic(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.l1 = nn.Linear(s + a, 24)
        self.l2 = nn.Linear(24, 1)

    def forward(self, s, a):
        return self.l2(F.relu(self.l1(torch.cat([s, a], 1))))


class ReplayBuffer(object):
    def __init__(self, state_dim, action_dim, max_size=1000):
        self.ptr = self.size = 0
        self.max_size = max_size
        self.state = np.zeros((max_size, state_dim))
        self.action = np.zeros((max_size, action_dim))
        self.next_state = np.zeros((max_size, state_dim))
        self.reward = np.zeros((max_size, 1))

    def add(self, s, a, s2, r):
        i = self.ptr
        self.state[i], self.action[i], self.next_state[i], self.reward[i] = s, a, s2, r
        self.ptr = (i + 1) % self.max_size
        self.size = min(self.size + 1, self.max_size)

    def sample(self, batch_size):
        ind = np.random.randint(0, self.size, size=batch_size)
        return tuple(torch.FloatTensor(x[ind]).to(device) for x in (self.state, self.action, self.next_state, self.reward))


class DDPG:
    def __init__(self, state_dim, action_dim, discount=0.98, tau=0.01):
        self.actor = Actor(state_dim, action_dim).to(device)
        self.actor_target = Actor(state_dim, action_dim)  # CAUSE
        self.actor_target.load_state_dict(self.actor.state_dict())
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic = Critic(state_dim, action_dim).to(device)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.discount, self.tau = discount, tau

    def select_action(self, state):
        state = torch.FloatTensor(state.reshape(1, -1)).to(device)
        return self.actor(state).cpu().data.numpy().flatten()

    def train(self, buffer, batch_size=16):
        state, action, next_state, reward = buffer.sample(batch_size)
        with torch.no_grad():
            target_q = reward + self.discount * self.critic_target(next_state, self.actor_target(next_state))
        critic_loss = F.mse_loss(self.critic(state, action), target_q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        actor_loss = -self.critic(state, self.actor(state)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        for net, target in ((self.critic, self.critic_target), (self.actor, self.actor_target)):
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.copy_(self.tau * p.data + (1 - self.tau) * tp.data)
        return critic_loss.item()


if __name__ == "__main__":
    random.seed(0); np.random.seed(0); torch.manual_seed(0)
    agent, buf = DDPG(2, 1), ReplayBuffer(2, 1)
    s = np.zeros(2)
    for t in range(40):
        a = agent.select_action(s) + 0.1 * np.random.randn(1)
        s2 = np.array([s[0] + a[0], np.sin(t / 5)])
        buf.add(s, a, s2, -abs(s2[0] - s2[1]))
        s = s2
        if t >= 20 and t % 10 == 0:
            print(t, agent.train(buf))
