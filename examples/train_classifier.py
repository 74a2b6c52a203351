"""Trains a small classifier on random data."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--device", default="cuda:0")
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).to(args.device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(64, 8), torch.randint(3, (64,)))

for epoch in range(args.epochs):
    for features, labels in DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(features.to(args.device)), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
