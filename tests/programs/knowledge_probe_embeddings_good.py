import torch
from torch import nn
from torch.utils.data import DataLoader


class BagEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(40, 6, mode="mean")

    def encode(self, ids):
        with torch.no_grad():
            return nn.functional.normalize(self.bag(ids), dim=-1)


class Probe(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.l = nn.Linear(d, n)

    def forward(self, h):
        return self.l(h)


def extract(encoder, loader, device):
    feats, ys = [], []
    for ids, y in loader:
        feats.append(encoder.encode(ids.to(device)).cpu())
        ys.append(y)
    return torch.cat(feats), torch.cat(ys)


def train_probe(feats, ys, device, epochs=1):
    probe = Probe(feats.size(1), 3).to(device)
    opt = torch.optim.SGD(probe.parameters(), lr=0.1)
    for _ in range(epochs):
        for i in range(0, len(feats), 5):
            f = feats[i : i + 5].to(device)
            y = ys[i : i + 5].to(device)
            loss = nn.functional.cross_entropy(probe(f), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return probe


def run():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    enc = BagEncoder().to(device).eval()
    data = [(torch.randint(0, 40, (5,)), i % 3) for i in range(10)]
    feats, ys = extract(enc, DataLoader(data, batch_size=5), device)
    train_probe(feats, ys, device)


run()
