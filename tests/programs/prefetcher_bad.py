"""A prefetching loader that hands out batches already on the device."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Prefetcher:
    """Keeps one batch in flight."""

    def __init__(self, loader, device):
        self.loader = loader
        self.device = device

    def _load(self, it):
        try:
            x, y = next(it)
        except StopIteration:
            return None
        x = x.to(self.device, non_blocking=True)
        y.to(self.device, non_blocking=True)  # CAUSE
        return x, y

    def __iter__(self):
        it = iter(self.loader)
        ahead = self._load(it)
        while ahead is not None:
            now, ahead = ahead, self._load(it)
            yield now

    def __len__(self):
        return len(self.loader)


def epoch(net, batches, loss_fn, opt):
    seen, total = 0, 0.0
    for x, y in batches:
        loss = loss_fn(net(x), y)  # FAIL
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
        seen += len(x)
    return total / seen


def main():
    torch.manual_seed(4)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    X = torch.randn(70, 9)
    y = X @ torch.randn(9, 2)
    loader = DataLoader(TensorDataset(X, y), batch_size=14, shuffle=True)
    net = nn.Linear(9, 2).to(device)
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    for e in range(3):
        print(e, epoch(net, Prefetcher(loader, device), nn.MSELoss(), opt))


main()
