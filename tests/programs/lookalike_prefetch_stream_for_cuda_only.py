import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader, WeightedRandomSampler


class Blobs(Dataset):
    def __init__(self, n, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.y = (torch.rand(n, generator=g) > 0.8).long()
        self.x = torch.randn(n, 10, generator=g) + self.y[:, None] * 1.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"x": self.x[i], "y": self.y[i], "id": i}


class Prefetcher:
    """One batch ahead on a side stream, where there is one."""

    def __init__(self, loader, device):
        self.loader = loader
        self.device = device
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.mean = torch.full((10,), 0.3, device=device)

    def __len__(self):
        return len(self.loader)

    def _move(self, batch):
        out = {}
        for k, v in batch.items():
            out[k] = v.to(self.device, non_blocking=True) if k != "id" else v
        out["x"] = out["x"] - self.mean
        return out

    def _next(self, it):
        batch = next(it, None)
        if batch is None:
            return None
        if self.stream is None:
            return self._move(batch)
        with torch.cuda.stream(self.stream):
            return self._move(batch)

    def __iter__(self):
        it = iter(self.loader)
        ahead = self._next(it)
        while ahead is not None:
            if self.stream is not None:
                torch.cuda.current_stream(self.device).wait_stream(self.stream)
            batch = ahead
            ahead = self._next(it)
            yield batch


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    ds = Blobs(200)
    freq = torch.bincount(ds.y, minlength=2).float()
    weights = (1 / freq)[ds.y]
    sampler = WeightedRandomSampler(weights.tolist(), num_samples=len(ds), replacement=True)
    loader = DataLoader(ds, batch_size=25, sampler=sampler, num_workers=0, drop_last=True)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    visits = torch.zeros(len(ds), dtype=torch.long)
    hardest = torch.zeros(len(ds))
    for epoch in range(2):
        for batch in Prefetcher(loader, device):
            losses = nn.functional.cross_entropy(model(batch["x"]), batch["y"], reduction="none")
            opt.zero_grad()
            losses.mean().backward()
            opt.step()
            ids = batch["id"]
            visits.index_add_(0, ids, torch.ones_like(ids))
            hardest[ids] = losses.detach().cpu()
    top = hardest.topk(5).indices
    print(visits.max().item(), top.tolist(), ds.y[top].tolist(), len(Prefetcher(loader, device)))


if __name__ == "__main__":
    main()
