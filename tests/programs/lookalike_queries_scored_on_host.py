import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset, TensorDataset


class Strategy:
    def __init__(self, X, Y, labeled, net_fn, device):
        self.X, self.Y = X, Y
        self.labeled = labeled
        self.net_fn, self.device = net_fn, device

    def query(self, n):
        raise NotImplementedError

    def train(self, epochs=3):
        self.clf = self.net_fn().to(self.device)
        opt = torch.optim.Adam(self.clf.parameters(), 1e-2)
        ds = Subset(TensorDataset(self.X, self.Y), np.where(self.labeled)[0])
        for _ in range(epochs):
            for x, y in DataLoader(ds, batch_size=16, shuffle=True):
                x, y = x.to(self.device), y.to(self.device)
                opt.zero_grad()
                loss = F.cross_entropy(self.clf(x), y)
                loss.backward()
                opt.step()

    def _batches(self, X):
        for s in range(0, len(X), 32):
            yield slice(s, min(s + 32, len(X))), X[s:s + 32].to(self.device)

    @torch.no_grad()
    def predict_prob_dropout(self, X, n_drop):
        self.clf.train()
        probs = torch.zeros([n_drop, len(X), 3])
        for i in range(n_drop):
            for sl, x in self._batches(X):
                probs[i][sl] += F.softmax(self.clf(x), dim=1).cpu()
        return probs

    @torch.no_grad()
    def embedding(self, X):
        self.clf.eval()
        out = torch.zeros(len(X), 16)
        for sl, x in self._batches(X):
            out[sl] = self.clf[:2](x).cpu()
        return out


class BALD(Strategy):
    def query(self, n):
        idx = np.where(~self.labeled)[0]
        probs = self.predict_prob_dropout(self.X[idx], 5)
        pb = probs.mean(0)
        e1 = (-pb * torch.log(pb + 1e-9)).sum(1)
        e2 = (-probs * torch.log(probs + 1e-9)).sum(2).mean(0)
        return idx[(e2 - e1).sort()[1][:n].numpy()]


class KCenter(Strategy):
    def query(self, n):
        emb = self.embedding(self.X).to(self.device)
        have = torch.as_tensor(self.labeled, device=self.device)
        d = torch.cdist(emb, emb[have]).min(1).values
        picked = []
        for _ in range(n):
            i = d.argmax()
            picked.append(i.item())
            d = torch.minimum(d, (emb - emb[i]).norm(dim=1))
        return np.array(picked)


class Margin(Strategy):
    def query(self, n):
        idx = np.where(~self.labeled)[0]
        top = self.predict_prob_dropout(self.X[idx], 1)[0].topk(2, dim=1).values
        return idx[np.argsort((top[:, 0] - top[:, 1]).numpy())[:n]]


def net_fn():
    return nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for cls in (BALD, KCenter, Margin):
        np.random.seed(0)
        torch.manual_seed(0)
        X = torch.randn(150, 5)
        Y = (X[:, 0] > 0).long() + (X[:, 1] > 0.5).long()
        labeled = np.zeros(150, dtype=bool)
        labeled[np.random.permutation(150)[:10]] = True
        s = cls(X, Y, labeled, net_fn, device)
        for rd in range(2):
            s.train()
            q = s.query(8)
            s.labeled[q] = True
        acc = (s.predict_prob_dropout(X, 3).mean(0).argmax(1) == Y).float().mean().item()
        print(cls.__name__, s.labeled.sum(), round(acc, 3))
