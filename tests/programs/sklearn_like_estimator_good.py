"""A scikit-learn-like classifier around a torch network."""
import numpy as np
import torch
from torch import nn


class TorchClassifier:
    def __init__(self, hidden=16, lr=0.02, epochs=3, batch_size=16, device="auto", seed=0):
        self.hidden = hidden
        self.lr = lr
        self.epochs = epochs
        self.batch_size = batch_size
        self.device = device
        self.seed = seed

    def _resolve_device(self):
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return torch.device(self.device)

    def fit(self, X, y):
        torch.manual_seed(self.seed)
        self.device_ = self._resolve_device()
        self.classes_, encoded = np.unique(y, return_inverse=True)
        self.net_ = nn.Sequential(
            nn.Linear(X.shape[1], self.hidden), nn.ReLU(), nn.Linear(self.hidden, len(self.classes_))
        ).to(self.device_)
        Xt = torch.as_tensor(X, dtype=torch.float32, device=self.device_)
        yt = torch.as_tensor(encoded, device=self.device_)
        opt = torch.optim.Adam(self.net_.parameters(), lr=self.lr)
        for _ in range(self.epochs):
            for idx in torch.randperm(len(Xt)).split(self.batch_size):
                loss = nn.functional.cross_entropy(self.net_(Xt[idx]), yt[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
        self.loss_ = loss.item()
        return self

    def predict_proba(self, X):
        X = torch.as_tensor(X, dtype=torch.float32, device=self.device_)
        self.net_.eval()
        with torch.no_grad():
            logits = self.net_(X)
        return logits.softmax(dim=1).cpu().numpy()

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def score(self, X, y):
        return (self.predict(X) == y).mean()


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    clf = TorchClassifier().fit(X[:60], y[:60])
    print(f"loss {clf.loss_:.3f} accuracy {clf.score(X[60:], y[60:]):.3f}")
