import random
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class PER:
    def __init__(self, capacity, alpha=0.6):
        self.capacity, self.alpha = capacity, alpha
        self.buffer, self.priorities = [], []

    def push(self, *transition):
        if len(self.buffer) >= self.capacity:
            self.buffer.pop(0)
            self.priorities.pop(0)
        self.buffer.append(transition)
        self.priorities.append(max(self.priorities, default=1.0))

    def sample(self, n, beta=0.4):
        p = np.array(self.priorities) ** self.alpha
        p /= p.sum()
        idx = np.random.choice(len(self.buffer), n, p=p)
        weights = (len(self.buffer) * p[idx]) ** (-beta)
        weights /= weights.max()
        s, a, r, s2, d = zip(*[self.buffer[i] for i in idx])
        return np.stack(s), a, r, np.stack(s2), d, idx, np.array(weights, dtype=np.float32)

    def update(self, idx, prios):
        for i, p in zip(idx, prios):
            self.priorities[i] = float(p) + 1e-5


USE_CUDA = torch.cuda.is_available()
Q = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
Q_target = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
Q_target.load_state_dict(Q.state_dict())
if USE_CUDA:
    Q, Q_target = Q.cuda(), Q_target.cuda()
optimizer = optim.Adam(Q.parameters())
memory = PER(100)
for _ in range(40):
    memory.push(np.random.randn(4).astype(np.float32), random.randrange(2), random.random(),
                np.random.randn(4).astype(np.float32), float(random.random() < 0.1))


def compute_td_loss(batch_size, beta):
    s, a, r, s2, d, idx, w = memory.sample(batch_size, beta)
    s, s2 = torch.from_numpy(s), torch.from_numpy(s2)
    a, r, d = torch.LongTensor(a), torch.FloatTensor(r), torch.FloatTensor(d)
    w = torch.from_numpy(w)  # CAUSE
    if USE_CUDA:
        s, s2, a, r, d = s.cuda(), s2.cuda(), a.cuda(), r.cuda(), d.cuda()
    q = Q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        target = r + 0.99 * Q_target(s2).max(1)[0] * (1 - d)
    td = q - target
    loss = (td.pow(2) * w).mean()  # FAIL
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    memory.update(idx, td.abs().detach().cpu().numpy())
    return loss.item()


for i in range(3):
    print(compute_td_loss(8, 0.4 + 0.1 * i))
