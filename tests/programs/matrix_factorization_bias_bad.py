from types import SimpleNamespace

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MF(nn.Module):
    def __init__(self, n_users, n_items, k=8, mu=0.0):
        super().__init__()
        self.P = nn.Embedding(n_users, k)
        self.Q = nn.Embedding(n_items, k)
        self.bu = nn.Parameter(torch.zeros(n_users))
        self.bi = nn.Parameter(torch.zeros(n_items))
        self.mu = mu

    def forward(self, u, i):
        return (self.P(u) * self.Q(i)).sum(-1) + self.bu[u] + self.bi[i] + self.mu


df = SimpleNamespace(user=np.tile([0, 1, 2, 3], 6), item=np.tile([0, 1, 2], 8), rating=np.tile([1., 2., 3., 4., 5., 3.], 4))
users, items = torch.from_numpy(df.user), torch.from_numpy(df.item)
ratings = torch.from_numpy(df.rating).float()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = MF(4, 3, mu=ratings.mean()).to(device)
dl = DataLoader(TensorDataset(users, items, ratings), batch_size=8)
opt = torch.optim.SGD(model.parameters(), lr=.1)
for epoch in range(2):
    se = torch.zeros(3)  # CAUSE
    for u, i, r in dl:
        u, i, r = u.to(device), i.to(device), r.to(device)
        err = model(u, i) - r
        loss = err.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        se.scatter_add_(0, i, err.detach() ** 2)  # FAIL
    print(epoch, se.tolist())
