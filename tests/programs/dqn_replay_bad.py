"""DQN on a toy corridor: walk right to the goal."""
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class Corridor:
    """Seven cells, start in the middle, reward at the right end."""

    def __init__(self, n=7):
        self.n = n

    def reset(self):
        self.pos, self.t = self.n // 2, 0
        return self._obs()

    def _obs(self):
        o = np.zeros(self.n, dtype=np.float32)
        o[self.pos] = 1
        return o

    def step(self, a):
        self.t += 1
        self.pos += 1 if a == 1 else -1
        done = self.pos in (0, self.n - 1) or self.t > 30
        return self._obs(), float(self.pos == self.n - 1), done


class ReplayBuffer:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, k):
        return random.sample(self.memory, k)

    def __len__(self):
        return len(self.memory)


class DQNAgent:
    def __init__(self, obs_size, n_actions):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.n_actions = n_actions
        self.policy_net = self._net(obs_size, n_actions).to(self.device)
        self.target_net = self._net(obs_size, n_actions).to(self.device)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optim = torch.optim.Adam(self.policy_net.parameters(), lr=1e-2)
        self.buffer = ReplayBuffer(500)
        self.eps, self.gamma = 1.0, 0.95

    @staticmethod
    def _net(i, o):
        return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))

    def act(self, obs):
        if random.random() < self.eps:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            q = self.policy_net(torch.as_tensor(obs, device=self.device).unsqueeze(0))
        return int(q.argmax(1))

    def learn(self, batch_size=16):
        if len(self.buffer) < batch_size:
            return None
        batch = Transition(*zip(*self.buffer.sample(batch_size)))
        states = torch.from_numpy(np.stack(batch.state)).to(self.device)
        next_states = torch.from_numpy(np.stack(batch.next_state)).to(self.device)
        actions = torch.tensor(batch.action, device=self.device).unsqueeze(1)
        rewards = torch.tensor(batch.reward)  # CAUSE
        dones = torch.tensor(batch.done, dtype=torch.float32, device=self.device)

        q = self.policy_net(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            best_next = self.target_net(next_states).max(1).values
            target = rewards + self.gamma * best_next * (1 - dones)  # FAIL
        loss = F.smooth_l1_loss(q, target)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return loss.item()


def main(episodes=6):
    random.seed(0)
    torch.manual_seed(0)
    env, agent = Corridor(), DQNAgent(7, 2)
    for ep in range(episodes):
        s, done, ret, loss = env.reset(), False, 0.0, None
        while not done:
            a = agent.act(s)
            s2, r, done = env.step(a)
            agent.buffer.push(s, a, r, s2, done)
            loss = agent.learn()
            s, ret = s2, ret + r
        agent.eps = max(0.05, agent.eps * 0.7)
        if ep % 2 == 0:
            agent.target_net.load_state_dict(agent.policy_net.state_dict())
        print(f"ep {ep}: return {ret} loss {loss}")


main()
