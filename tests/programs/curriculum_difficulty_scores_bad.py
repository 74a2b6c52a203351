import heapq

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler


class Indexed(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return i, self.x[i], self.y[i]


class CurriculumSampler(Sampler):
    """Easy samples first: draws among the share of samples with the lowest running loss."""

    def __init__(self, n, share=0.4, momentum=0.7):
        self.n, self.share, self.momentum = n, share, momentum
        self.difficulty = torch.zeros(n)
        self.visits = torch.zeros(n, dtype=torch.long)

    def __len__(self):
        return int(self.n * self.share)

    def __iter__(self):
        k = len(self)
        never = (self.visits == 0).nonzero().flatten().tolist()
        if len(never) >= k:
            order = never[:k]
        else:
            order = heapq.nsmallest(k, range(self.n), key=self.difficulty.tolist().__getitem__)
        perm = torch.randperm(k).tolist()
        return iter([order[j] for j in perm])

    def report(self, idx, losses):
        losses = losses.detach()  # CAUSE
        old = self.difficulty[idx]
        seen = self.visits[idx] > 0
        self.difficulty[idx] = torch.where(seen, self.momentum * old + (1 - self.momentum) * losses, losses)  # FAIL
        self.visits[idx] += 1

    def harder(self):
        self.share = min(1.0, self.share + 0.2)


class Net(nn.Module):
    def __init__(self, d, c):
        super().__init__()
        self.fc1 = nn.Linear(d, 24)
        self.bn = nn.BatchNorm1d(24)
        self.fc2 = nn.Linear(24, c)

    def forward(self, x):
        return self.fc2(F.relu(self.bn(self.fc1(x))))


class Runner:
    def __init__(self, model, device, lr=1e-2):
        self.device = device
        self.model = model.to(device)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)

    def epoch(self, loader, sampler):
        self.model.train()
        total = 0.0
        for idx, x, y in loader:
            x, y = x.to(self.device), y.to(self.device)
            loss = F.cross_entropy(self.model(x), y, reduction="none")
            sampler.report(idx, loss)
            self.opt.zero_grad()
            loss.mean().backward()
            self.opt.step()
            total += loss.sum().item()
        return total / len(sampler)

    @torch.no_grad()
    def accuracy(self, x, y):
        self.model.eval()
        return (self.model(x.to(self.device)).argmax(1).cpu() == y).float().mean().item()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(60, 6)
    y = (x[:, 0] + 0.5 * torch.randn(60) > 0).long()
    sampler = CurriculumSampler(len(x))
    loader = DataLoader(Indexed(x, y), batch_size=8, sampler=sampler)
    runner = Runner(Net(6, 2), device)
    for epoch in range(3):
        loss = runner.epoch(loader, sampler)
        sampler.harder()
        print(epoch, round(loss, 4), runner.accuracy(x, y), sampler.visits.sum().item())


if __name__ == "__main__":
    main()
