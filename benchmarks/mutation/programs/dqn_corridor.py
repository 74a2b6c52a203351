"""Deep Q-learning in a corridor of eight cells, with replay memory and a target network."""

import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn

Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class Corridor:
    def __init__(self, n=8):
        self.n = n

    def reset(self):
        self.at = self.n // 2
        return self._observe()

    def step(self, action):
        self.at = max(0, min(self.n - 1, self.at + (1 if action == 1 else -1)))
        done = self.at in (0, self.n - 1)
        return self._observe(), float(self.at == self.n - 1), done

    def _observe(self):
        state = np.zeros(self.n, dtype=np.float32)
        state[self.at] = 1.0
        return state


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 24)
        self.layer2 = nn.Linear(24, n_actions)

    def forward(self, x):
        return self.layer2(torch.relu(self.layer1(x)))


class Agent:
    def __init__(self, n_obs, n_actions, gamma=0.9):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.gamma = gamma
        self.n_actions = n_actions
        self.policy_net = DQN(n_obs, n_actions).to(self.device)
        self.target_net = DQN(n_obs, n_actions).to(self.device)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.memory = deque(maxlen=500)
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=5e-3)

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            s = torch.as_tensor(state, device=self.device).unsqueeze(0)
            return self.policy_net(s).argmax(1).item()

    def learn(self, batch_size=16):
        if len(self.memory) < batch_size:
            return None
        batch = Transition(*zip(*random.sample(list(self.memory), batch_size)))
        states = torch.from_numpy(np.stack(batch.state)).to(self.device)
        next_states = torch.from_numpy(np.stack(batch.next_state)).to(self.device)
        actions = torch.tensor(batch.action, device=self.device).unsqueeze(1)
        rewards = torch.tensor(batch.reward, device=self.device)
        alive = torch.tensor([not d for d in batch.done], device=self.device)

        q = self.policy_net(states).gather(1, actions).squeeze(1)
        target = torch.zeros(batch_size, device=self.device)
        with torch.no_grad():
            target[alive] = self.target_net(next_states[alive]).max(1).values
        loss = nn.functional.smooth_l1_loss(q, rewards + self.gamma * target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


random.seed(5)
torch.manual_seed(5)
env, agent = Corridor(), Agent(8, 2)
updates = 0
for episode in range(10):
    state = env.reset()
    for _t in range(12):
        action = agent.act(state, epsilon=0.5)
        next_state, reward, done = env.step(action)
        agent.memory.append(Transition(state, action, reward, next_state, done))
        state = next_state
        updates += agent.learn() is not None
        if done:
            break
    if episode % 5 == 4:
        agent.target_net.load_state_dict(agent.policy_net.state_dict())
print("updates:", updates > 10)
values = agent.policy_net(torch.eye(8).to(agent.device)).max(1).values.detach().cpu().numpy()
print(values.shape)
