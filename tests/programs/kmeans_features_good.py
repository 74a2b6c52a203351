"""k-means on the features of a network."""
import torch
from torch import nn


class FeatureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 4))

    @torch.no_grad()
    def features(self, x):
        self.eval()
        return self.layers(x)


class KMeans:
    def __init__(self, k, iters=5, seed=0):
        self.k, self.iters = k, iters
        self.gen = torch.Generator().manual_seed(seed)

    def fit(self, x):
        start = torch.randperm(len(x), generator=self.gen)[: self.k]
        centers = x[start].clone()
        for _ in range(self.iters):
            assign = torch.cdist(x, centers).argmin(1)
            counts = torch.zeros(self.k, device=x.device)
            counts.index_add_(0, assign, torch.ones_like(assign, dtype=torch.float))
            sums = torch.zeros_like(centers).index_add_(0, assign, x)
            filled = counts > 0
            centers[filled] = sums[filled] / counts[filled].unsqueeze(1)
        self.centers = centers
        return self

    def predict(self, x):
        return torch.cdist(x, self.centers).argmin(1)

    def inertia(self, x):
        return torch.cdist(x, self.centers).min(1).values.square().sum().item()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = FeatureNet().to(device)
    data = torch.cat([torch.randn(30, 6) + m for m in (-3, 0, 3)])
    feats = net.features(data.to(device))
    for k in (2, 3, 4):
        km = KMeans(k).fit(feats)
        sizes = torch.bincount(km.predict(feats), minlength=k).tolist()
        print(k, sizes, round(km.inertia(feats), 3))


if __name__ == "__main__":
    main()
