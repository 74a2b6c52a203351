import random
from collections import deque, namedtuple
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
N_QUANT = 5

class Corridor:
    def reset(self):
        self.x, self.t = 0, 0
        return np.array([0., 0.], dtype=np.float32)
    def step(self, a):
        self.x += 1 if a else -1
        self.t += 1
        done = abs(self.x) == 3 or self.t == 12
        return np.array([self.x / 3, self.t / 12], dtype=np.float32), float(self.x == 3), done

class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)
    def push(self, *args):
        self.memory.append(Transition(*args))
    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)
    def __len__(self):
        return len(self.memory)

class QRNet(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.n_act = n_act
        self.net = nn.Sequential(nn.Linear(n_obs, 32), nn.ReLU(), nn.Linear(32, n_act * N_QUANT))
    def forward(self, x):
        return self.net(x).view(-1, self.n_act, N_QUANT)

policy_net, target_net = QRNet(2, 2).to(device), QRNet(2, 2).to(device)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
memory = ReplayMemory(200)
tau = torch.arange(0.5, N_QUANT).div(N_QUANT).to(device)
steps_done = 0

def select_action(state):
    global steps_done
    eps = 0.05 + 0.85 * np.exp(-steps_done / 20)
    steps_done += 1
    if random.random() > eps:
        with torch.no_grad():
            return policy_net(state).mean(2).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], dtype=torch.long)  # CAUSE

def optimize_model(batch_size=8):
    if len(memory) < batch_size:
        return None
    batch = Transition(*zip(*memory.sample(batch_size)))
    non_final = torch.tensor([s is not None for s in batch.next_state], device=device, dtype=torch.bool)
    states, actions, rewards = torch.cat(batch.state), torch.cat(batch.action), torch.cat(batch.reward)  # FAIL
    q = policy_net(states).gather(1, actions.unsqueeze(-1).expand(-1, -1, N_QUANT)).squeeze(1)
    nxt = torch.zeros(batch_size, N_QUANT, device=device)
    finals = [s for s in batch.next_state if s is not None]
    if finals:
        with torch.no_grad():
            z = target_net(torch.cat(finals))
            best = z.mean(2).argmax(1)
            nxt[non_final] = z[torch.arange(len(z), device=device), best]
    target = rewards.unsqueeze(1) + 0.95 * nxt
    diff = target.unsqueeze(1) - q.unsqueeze(2)
    huber = torch.where(diff.abs() < 1, 0.5 * diff ** 2, diff.abs() - 0.5)
    loss = ((tau.view(1, -1, 1) - (diff.detach() < 0).float()).abs() * huber).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()

env = Corridor()
for episode in range(4):
    state = torch.tensor(env.reset(), device=device).unsqueeze(0)
    done = False
    while not done:
        action = select_action(state)
        obs, reward, done = env.step(action.item())
        reward = torch.tensor([reward], device=device)
        next_state = None if done else torch.tensor(obs, device=device).unsqueeze(0)
        memory.push(state, action, next_state, reward)
        state = next_state
        loss = optimize_model()
        sd, pd = target_net.state_dict(), policy_net.state_dict()
        for key in pd:
            sd[key] = pd[key] * 0.05 + sd[key] * 0.95
        target_net.load_state_dict(sd)
    print(episode, loss)
