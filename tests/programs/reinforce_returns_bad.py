"""REINFORCE with a baseline on a two-armed bandit with a hint."""
import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(2, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = torch.relu(self.affine1(x))
        return torch.softmax(self.action_head(x), dim=-1), self.value_head(x)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Policy().to(device)
optimizer = optim.Adam(model.parameters(), lr=3e-2)
eps = 1e-8


def select_action(state):
    state = torch.tensor(state, dtype=torch.float32, device=device)
    probs, value = model(state)
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append((m.log_prob(action), value))
    return action.item()


def finish_episode(gamma=0.9):
    R = 0
    returns = []
    for r in model.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)  # CAUSE
    returns = (returns - returns.mean()) / (returns.std() + eps)

    log_probs = torch.stack([lp for lp, _ in model.saved_actions])
    values = torch.cat([v for _, v in model.saved_actions])
    advantage = returns - values.detach()  # FAIL
    policy_loss = -(log_probs * advantage).sum()
    value_loss = nn.functional.smooth_l1_loss(values, returns)

    optimizer.zero_grad()
    (policy_loss + value_loss).backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]


def main():
    random.seed(1)
    torch.manual_seed(1)
    for episode in range(5):
        ep_reward = 0
        for t in range(12):
            good = random.randint(0, 1)
            action = select_action([good, 1 - good])
            reward = 1.0 if action == good else -1.0
            model.rewards.append(reward)
            ep_reward += reward
        finish_episode()
        print("Episode {}\tReward: {:.1f}".format(episode, ep_reward))


if __name__ == "__main__":
    main()
