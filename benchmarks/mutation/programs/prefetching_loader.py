"""A loader that copies the next batch on a side stream while the model works on the current one."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Prefetcher:
    """Wraps a loader; without CUDA it only moves."""

    def __init__(self, loader, device, mean, std):
        self.loader = loader
        self.device = device
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.mean = torch.tensor(mean, device=device).view(1, -1, 1, 1)
        self.std = torch.tensor(std).view(1, -1, 1, 1).to(device)

    def __len__(self):
        return len(self.loader)

    def _load(self, batch):
        image, target = batch
        image = image.to(self.device, non_blocking=True)
        target = target.to(self.device, non_blocking=True)
        return (image - self.mean) / self.std, target

    def __iter__(self):
        if self.stream is None:
            for batch in self.loader:
                yield self._load(batch)
            return
        ready = None
        for batch in self.loader:
            with torch.cuda.stream(self.stream):
                upcoming = self._load(batch)
            if ready is not None:
                yield ready
            torch.cuda.current_stream(self.device).wait_stream(self.stream)
            ready = upcoming
        yield ready


class Mixup:
    def __init__(self, alpha=0.4, classes=4):
        self.beta = torch.distributions.Beta(alpha, alpha)
        self.classes = classes

    def __call__(self, x, y):
        lam = self.beta.sample((x.size(0),)).to(x.device)
        perm = torch.randperm(x.size(0), device=x.device)
        y = F.one_hot(y, self.classes).float()
        mixed = lam.view(-1, 1, 1, 1) * x + (1 - lam.view(-1, 1, 1, 1)) * x[perm]
        return mixed, lam.unsqueeze(1) * y + (1 - lam.unsqueeze(1)) * y[perm]


def main():
    torch.manual_seed(6)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, labels = torch.rand(48, 3, 8, 8), torch.randint(0, 4, (48,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=16)
    batches = Prefetcher(loader, device, mean=[0.5, 0.5, 0.5], std=[0.25, 0.25, 0.25])
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    mixup = Mixup()
    seen = 0
    for _ in range(2):
        for image, target in batches:
            image, target = mixup(image, target)
            loss = F.cross_entropy(model(image), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += image.size(0)
    print("images seen", seen, "batches", len(batches))


if __name__ == "__main__":
    main()
