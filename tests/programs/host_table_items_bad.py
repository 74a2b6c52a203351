import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class VocabCache:
    """Host table; ids come down, vectors go up."""

    def __init__(self, n, d):
        self.table = torch.randn(n, d)
        if torch.cuda.is_available():
            self.table = self.table.pin_memory()

    def __getitem__(self, ids):
        flat = ids.reshape(-1)
        rows = self.table.index_select(0, flat)  # FAIL
        return rows.to(ids.device, non_blocking=True).view(*ids.shape, -1)

    def update(self, ids, values):
        self.table[ids.cpu()] = values.cpu()


cache = VocabCache(20, 4)
ids = torch.randint(0, 20, (2, 3), device=device)
vec = cache[ids]
cache.update(ids, vec * 0.5)
w = torch.rand(4, device=device)
print((vec @ w).shape)
