"""Imbalanced classification with weighted cross entropy."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SEED = 2021
BATCH_SIZE = 16
N_CLASSES = 4
DEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


class SensorDataset(Dataset):
    def __init__(self, n):
        rng = np.random.RandomState(SEED)
        self.labels = rng.choice(N_CLASSES, n, p=[.7, .2, .07, .03])
        self.signals = (rng.randn(n, 10) + self.labels[:, None]).astype('float32')

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return torch.tensor(self.signals[idx]), torch.tensor(self.labels[idx])


def balanced_weights(labels):
    counts = np.bincount(labels, minlength=N_CLASSES)
    w = len(labels) / (N_CLASSES * np.maximum(counts, 1))
    return torch.tensor(w, dtype=torch.float32)


def run_epoch(model, loader, criterion, optimizer=None):
    losses = []
    for signal, label in loader:
        signal, label = signal.to(DEVICE), label.to(DEVICE)
        logits = model(signal)
        loss = criterion(logits, label)  # FAIL
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    return np.mean(losses)


def main():
    torch.manual_seed(SEED)
    ds = SensorDataset(96)
    loader = DataLoader(ds, batch_size=BATCH_SIZE, shuffle=True)
    class_weights = balanced_weights(ds.labels)
    print('weights', class_weights.numpy().round(2))

    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Dropout(.1), nn.Linear(16, N_CLASSES))
    model.to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss(weight=class_weights)  # CAUSE
    for epoch in range(2):
        print(epoch, run_epoch(model, loader, criterion, optimizer))
    with torch.no_grad():
        print('final', run_epoch(model, loader, criterion))


main()
