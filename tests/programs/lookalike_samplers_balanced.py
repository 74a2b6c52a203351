"""Samplers and collate functions: weights and indices on the host, batches on the device."""
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler, Subset, WeightedRandomSampler, random_split

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Blobs(Dataset):
    def __init__(self, n=60):
        g = torch.Generator().manual_seed(0)
        self.y = (torch.rand(n, generator=g) < 0.2).long()
        self.x = torch.randn(n, 2, generator=g) + 2 * self.y[:, None]

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.y)


class Hard(Sampler):
    """Draws what the model got wrong more often; losses arrive from the device."""

    def __init__(self, n):
        self.loss = torch.ones(n)

    def update(self, index, loss):
        self.loss[index] = loss.detach().cpu()

    def __iter__(self):
        order = torch.multinomial(self.loss, len(self.loss), replacement=True)
        return iter(order.tolist())

    def __len__(self):
        return len(self.loss)


class Indexed(Dataset):
    def __init__(self, base):
        self.base = base

    def __getitem__(self, i):
        return (i, *self.base[i])

    def __len__(self):
        return len(self.base)


data = Blobs()
train, test = random_split(data, [45, 15], generator=torch.Generator().manual_seed(1))
labels = torch.stack([y for _, y in train])
weights = 1.0 / torch.bincount(labels, minlength=2).float()
balanced = DataLoader(train, batch_sampler=BatchSampler(WeightedRandomSampler(weights[labels], 20), 5, False))
model = torch.nn.Linear(2, 2).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.2)
lossf = torch.nn.CrossEntropyLoss(reduction="none")
hard = Hard(len(train))
for _ in range(2):
    for i, x, y in DataLoader(Indexed(train), batch_size=9, sampler=hard):
        loss = lossf(model(x.to(device)), y.to(device))
        hard.update(i, loss)
        opt.zero_grad()
        loss.mean().backward()
        opt.step()
for x, y in balanced:
    loss = lossf(model(x.to(device)), y.to(device)).mean()
few = Subset(data, torch.arange(10).tolist())
hits = sum((model(x.to(device)).argmax().cpu() == y) for x, y in few)
print(hard.loss.mean(), loss.item(), hits)
