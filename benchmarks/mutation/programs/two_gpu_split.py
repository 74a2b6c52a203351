"""Model parallelism: the first half of a network on one GPU, the second half on another, if there are two."""
import torch
import torch.nn as nn


def pick_devices():
    n = torch.cuda.device_count()
    if n >= 2:
        return torch.device("cuda", 0), torch.device("cuda", 1)
    only = torch.device("cuda" if n else "cpu")
    return only, only


class ResidualBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.linear(self.norm(x)))


class SplitNet(nn.Module):
    def __init__(self, dev0, dev1, width=24, blocks=2):
        super().__init__()
        self.dev0, self.dev1 = dev0, dev1
        self.lower = nn.Sequential(nn.Linear(8, width), *[ResidualBlock(width) for _ in range(blocks)]).to(dev0)
        self.upper = nn.Sequential(*[ResidualBlock(width) for _ in range(blocks)])
        self.upper.to(dev1)
        self.head = nn.Linear(2 * width, 3).to(dev1)

    def forward(self, x):
        low = self.lower(x.to(self.dev0))
        high = self.upper(low.to(self.dev1))
        both = torch.cat([low.to(high.device), high], dim=1)
        return self.head(both)


def train(model, data, labels, steps=6, micro=2):
    criterion = nn.CrossEntropyLoss(reduction="sum")
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        opt.zero_grad()
        total = torch.zeros(1, device=model.dev1)
        for xs, ys in zip(data.chunk(micro), labels.chunk(micro)):
            loss = criterion(model(xs), ys.to(model.dev1))
            (loss / len(data)).backward()
            total += loss.detach()
        opt.step()
    return total.item() / len(data)


def main():
    torch.manual_seed(12)
    first, second = pick_devices()
    model = SplitNet(first, second)
    x = torch.randn(40, 8)
    y = (x.sum(dim=1) > 0).long() + (x[:, 0] > 1).long()
    loss = train(model, x, y)
    print("loss below log 3 plus one:", loss < 2.1)
    with torch.no_grad():
        probabilities = model(x).softmax(dim=1)
        prior = torch.bincount(y, minlength=3).float().to(second) / len(y)
        drift = (probabilities.mean(0) - prior).abs().max()
    print("drift", 0 <= drift.item() <= 1)
    print(probabilities.cpu().numpy().shape)


if __name__ == "__main__":
    main()
