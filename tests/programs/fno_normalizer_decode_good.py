"""Learns an integral operator; outputs are normalised, the metric is taken in the original units."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class UnitGaussianNormalizer(object):
    def __init__(self, x, eps=0.00001):
        super(UnitGaussianNormalizer, self).__init__()
        self.mean = torch.mean(x, 0)
        self.std = torch.std(x, 0)
        self.eps = eps

    def encode(self, x):
        return (x - self.mean) / (self.std + self.eps)

    def decode(self, x):
        return (x * (self.std + self.eps)) + self.mean

    def cuda(self):
        self.mean = self.mean.cuda()
        self.std = self.std.cuda()


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
s = 16
x_train = torch.randn(20, s)
y_train = torch.cumsum(x_train, 1) / s
x_normalizer = UnitGaussianNormalizer(x_train)
y_normalizer = UnitGaussianNormalizer(y_train)
x_train = x_normalizer.encode(x_train)
y_train = y_normalizer.encode(y_train)
if device.type == "cuda":
    y_normalizer.cuda()
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=5, shuffle=True)
model = nn.Sequential(nn.Linear(s, 32), nn.GELU(), nn.Linear(32, s)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
for ep in range(2):
    train_mse = 0.0
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        out = y_normalizer.decode(model(x))
        y = y_normalizer.decode(y)
        loss = F.mse_loss(out, y)
        loss.backward()
        optimizer.step()
        train_mse += loss.item()
    scheduler.step()
    print(ep, train_mse / len(train_loader))
