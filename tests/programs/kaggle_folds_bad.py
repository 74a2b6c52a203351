"""Cross-validated regression with early stopping, and the averaged test prediction."""
import os
import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class CFG:
    seed = 2022
    n_fold = 2
    epochs = 2
    bs = 16
    lr = 1e-2
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def seed_everything(seed=42):
    random.seed(seed)
    os.environ['PYTHONHASHSEED'] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)


class TrainDataset(Dataset):
    def __init__(self, X, y): self.X, self.y = X, y
    def __len__(self): return len(self.X)
    def __getitem__(self, i):
        return torch.tensor(self.X[i], dtype=torch.float), torch.tensor(self.y[i], dtype=torch.float)


class TestDataset(Dataset):
    def __init__(self, X): self.X = X
    def __len__(self): return len(self.X)
    def __getitem__(self, i): return torch.tensor(self.X[i], dtype=torch.float)


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.Sequential(nn.BatchNorm1d(n), nn.Linear(n, 32), nn.PReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x).view(-1)  # FAIL


def train_fn(model, loader, optimizer, criterion):
    model.train()
    total = 0
    for X, y in loader:
        X, y = X.to(CFG.device), y.to(CFG.device)
        loss = criterion(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item() / len(loader)
    return total


def valid_fn(model, loader):
    model.eval()
    preds = []
    for X, _ in loader:
        with torch.no_grad():
            preds.append(model(X.to(CFG.device)).cpu().numpy())
    return np.concatenate(preds)


def inference_fn(model, loader):
    model.eval()
    preds = []
    for X in loader:
        with torch.no_grad():
            y_preds = model(X)  # CAUSE
        preds.append(y_preds.cpu().numpy())
    return np.concatenate(preds)


def main():
    seed_everything(CFG.seed)
    train_x, test_x = np.random.randn(64, 5), np.random.randn(10, 5)
    train_y = train_x @ np.array([1, -2, 0, 0, .5])
    folds = np.arange(64) % CFG.n_fold
    oof, test_pred = np.zeros(64), np.zeros(10)
    for fold in range(CFG.n_fold):
        trn, val = np.where(folds != fold)[0], np.where(folds == fold)[0]
        trn_loader = DataLoader(TrainDataset(train_x[trn], train_y[trn]), batch_size=CFG.bs, shuffle=True)
        val_loader = DataLoader(TrainDataset(train_x[val], train_y[val]), batch_size=CFG.bs)
        model = Model(5)
        model.to(CFG.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=CFG.lr)
        for epoch in range(CFG.epochs):
            tr_loss = train_fn(model, trn_loader, optimizer, nn.MSELoss())
            oof[val] = valid_fn(model, val_loader)
            print(f'fold {fold} epoch {epoch} train {tr_loss:.3f} valid {np.mean((oof[val] - train_y[val]) ** 2):.3f}')
        test_pred += inference_fn(model, DataLoader(TestDataset(test_x), batch_size=CFG.bs)) / CFG.n_fold
    print(test_pred.round(2))


main()
