"""Metric learning: batch-hard triplets, a proxy memory and recall at one."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset


class BalancedSampler(Sampler):
    def __init__(self, labels, per_class, seed=0):
        self.labels, self.per_class = labels, per_class
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.labels) // (self.per_class * len(self.labels.unique()))

    def __iter__(self):
        for _ in range(len(self)):
            picks = []
            for c in self.labels.unique():
                members = (self.labels == c).nonzero().flatten()
                order = torch.randperm(len(members), generator=self.generator)
                picks += members[order[: self.per_class]].tolist()
            yield picks


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(16, 32), nn.PReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return nn.functional.normalize(self.fc(x), dim=-1)


class ProxyMemory:
    """Moving centroid of each class."""

    def __init__(self, classes, dim, momentum=0.8, device="cpu"):
        self.centroids = torch.zeros(classes, dim, device=device)
        self.counts = torch.zeros(classes, dtype=torch.long, device=device)
        self.momentum = momentum

    @torch.no_grad()
    def update(self, z, y):
        for c in y.unique():
            mean = z[y == c].mean(0)
            self.centroids[c] = self.momentum * self.centroids[c] + (1 - self.momentum) * mean
        self.counts += torch.bincount(y, minlength=len(self.counts))


def batch_hard(z, y, margin=0.3):
    dist = torch.cdist(z, z)
    same = y[:, None] == y[None, :]
    eye = torch.eye(len(y), dtype=torch.bool).to(y.device)
    hardest_positive = dist.masked_fill(~same | eye, 0).max(1).values
    hardest_negative = dist.masked_fill(same, float("inf")).min(1).values
    return nn.functional.relu(hardest_positive - hardest_negative + margin).mean()


def main():
    gpu = torch.cuda.is_available()
    torch.manual_seed(2)
    labels = torch.arange(80) % 4
    points = torch.randn(4, 16)[labels] + 0.5 * torch.randn(80, 16)
    model = Embedder()
    if gpu:
        model.cuda()
    memory = ProxyMemory(4, 8, device="cuda" if gpu else "cpu")
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    dataset = TensorDataset(points, labels)
    for _epoch in range(3):
        for x, y in DataLoader(dataset, batch_sampler=BalancedSampler(labels, 5)):
            if gpu:
                x, y = x.cuda(), y.cuda()
            z = model(x)
            loss = batch_hard(z, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            memory.update(z.detach(), y)

    with torch.no_grad():
        z = model(points.cuda() if gpu else points)
        nearest = (z @ memory.centroids.T).argmax(1).cpu()
    print("recall in range:", 0 <= (nearest == labels).float().mean().item() <= 1)
    print("counts", memory.counts.cpu().numpy().tolist())


if __name__ == "__main__":
    main()
