import torch
from torch import nn
import torch.nn.functional as F


class FeatureBank:
    """The bank is on the host, chunks of it go to where the query is."""

    def __init__(self, dim, chunk=10):
        self.features = torch.empty(0, dim)
        self.labels = torch.empty(0, dtype=torch.long)
        self.chunk = chunk

    def add(self, z, y):
        self.features = torch.cat([self.features, F.normalize(z.detach(), dim=1).cpu()])
        self.labels = torch.cat([self.labels, y.cpu()])

    def knn(self, q, k=5, tau=0.1, classes=3):
        q = F.normalize(q, dim=1)
        sims, labels = [], []
        for f, y in zip(self.features.split(self.chunk), self.labels.split(self.chunk)):
            f, y = f.to(q.device), y.to(q.device)
            sims.append(q @ f.T)
            labels.append(y.expand(len(q), -1))
        sims, labels = torch.cat(sims, 1), torch.cat(labels, 1)
        w, idx = sims.topk(min(k, sims.size(1)), dim=1)
        votes = torch.zeros(len(q), classes, device=q.device)
        votes.scatter_add_(1, labels.gather(1, idx), (w / tau).exp())
        return votes.argmax(1)

    def outliers(self, n):
        center = self.features.mean(0, keepdim=True)
        d = (self.features - center).norm(dim=1)
        order = d.argsort(descending=True)[:n]
        return self.labels[order].tolist()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        z = self.enc(x)
        return z, self.fc(z)


def data(n, size=12):
    for _ in range(n):
        x = torch.randn(size, 6)
        yield x, x[:, :3].argmax(1)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
opt = torch.optim.Adam(net.parameters(), 1e-2)
bank = FeatureBank(8)
for x, y in data(4):
    z, logits = net(x.to(device))
    loss = F.cross_entropy(logits, y.to(device))
    opt.zero_grad()
    loss.backward()
    opt.step()
    bank.add(z, y)
net.eval()
with torch.no_grad():
    for x, y in data(1):
        pred = bank.knn(net.enc(x.to(device)))
        print((pred.cpu() == y).float().mean().item(), bank.outliers(3))
