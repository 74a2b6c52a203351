"""A background thread moves the batches; the consumer gets them from a queue."""
import queue
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BackgroundLoader:
    STOP = object()

    def __init__(self, loader, device, depth=2):
        self.loader, self.device, self.depth = loader, device, depth

    def _work(self, q):
        for batch in self.loader:
            q.put(tuple(t.to(self.device) for t in batch))
        q.put(self.STOP)

    def __iter__(self):
        q = queue.Queue(self.depth)
        worker = threading.Thread(target=self._work, args=(q,), daemon=True)
        worker.start()
        while (item := q.get()) is not self.STOP:
            yield item
        worker.join()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = TensorDataset(torch.randn(40, 5), torch.randint(0, 4, (40,)))
    loader = BackgroundLoader(DataLoader(data, batch_size=8), device)
    model = nn.Linear(5, 4).to(device)
    criterion = nn.CrossEntropyLoss()
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
    print(loss.item(), model.weight.grad.norm().item())


if __name__ == "__main__":
    main()
