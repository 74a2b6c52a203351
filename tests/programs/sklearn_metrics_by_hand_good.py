"""Validation with metrics computed in numpy."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def f1_score(y_true, y_pred):
    tp = np.sum((y_true == 1) & (y_pred == 1))
    fp = np.sum((y_true == 0) & (y_pred == 1))
    fn = np.sum((y_true == 1) & (y_pred == 0))
    return 2 * tp / max(2 * tp + fp + fn, 1)


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bn = nn.BatchNorm1d(n)
        self.fc = nn.Linear(n, 1)

    def forward(self, x):
        return self.fc(self.bn(x)).squeeze(-1)


def validate(model, loader, device):
    model.eval()
    trues, preds = [], []
    with torch.no_grad():
        for x, y in loader:
            logits = model(x.to(device))
            probs = torch.sigmoid(logits)
            preds.append(probs.cpu().numpy())
            trues.append(y.numpy())
    preds = np.concatenate(preds)
    trues = np.concatenate(trues)
    return f1_score(trues, preds > 0.5), preds.mean()


def fit(model, train_loader, val_loader, device, epochs):
    bce = nn.BCEWithLogitsLoss()
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            x = x.to(device)
            y = y.to(device)
            loss = bce(model(x), y.float())
            opt.zero_grad()
            loss.backward()
            opt.step()
        f1, mean = validate(model, val_loader, device)
        print("epoch %d loss %.3f f1 %.3f mean prob %.3f" % (epoch, loss.item(), f1, mean))


if __name__ == "__main__":
    torch.manual_seed(5)
    X = torch.randn(80, 6)
    Y = (X[:, 0] > 0.3).long()
    tr = DataLoader(TensorDataset(X[:60], Y[:60]), batch_size=20, shuffle=True)
    va = DataLoader(TensorDataset(X[60:], Y[60:]), batch_size=20)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    fit(Net(6).to(dev), tr, va, dev, epochs=2)
