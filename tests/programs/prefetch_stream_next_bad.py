import torch
from torch import nn


class DataPrefetcher:
    def __init__(self, loader, device):
        self.loader = iter(loader)
        self.device = device
        self.preload()

    def preload(self):
        try:
            self.next_input, self.next_target = next(self.loader)
        except StopIteration:
            self.next_input = None
            self.next_target = None
            return
        self.next_input = self.next_input.to(self.device, non_blocking=True)
        self.next_target = self.next_target.long()

    def next(self):
        input, target = self.next_input, self.next_target
        self.preload()
        return input, target


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = [(torch.randn(4, 3), torch.randint(0, 2, (4,))) for _ in range(3)]  # CAUSE
net = nn.Linear(3, 2).to(device)
fetcher = DataPrefetcher(loader, device)
x, y = fetcher.next()
while x is not None:
    loss = nn.functional.cross_entropy(net(x), y)  # FAIL
    loss.backward()
    x, y = fetcher.next()
print("prefetched")
