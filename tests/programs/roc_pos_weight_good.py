import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Auroc:
    """Scores and labels are gathered on the host and sorted once at the end."""

    def __init__(self):
        self.reset()

    def reset(self):
        self._scores, self._labels = [], []

    def update(self, scores, labels):
        self._scores.append(scores.detach().to("cpu"))
        self._labels.append(labels)

    def compute(self):
        s, y = torch.cat(self._scores), torch.cat(self._labels)
        y = y[s.argsort()].double()
        ranks = torch.arange(1, len(y) + 1, dtype=torch.double)
        pos = y.sum()
        neg = len(y) - pos
        if pos == 0 or neg == 0:
            return float("nan")
        return ((ranks * y).sum() - pos * (pos + 1) / 2).item() / (pos * neg).item()


def evaluate(model, loader, dev):
    metric = Auroc()
    model.eval()
    with torch.inference_mode():
        for x, y in loader:
            metric.update(model(x.to(dev)).squeeze(1), y)
    return metric.compute()


def epoch(model, loader, opt, dev, pos_weight):
    model.train()
    crit = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    running = 0.0
    for x, y in loader:
        x, y = x.to(dev), y.to(dev)
        loss = crit(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(x)
    return running / len(loader.dataset)


def main():
    torch.manual_seed(1)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(120, 4)
    y = (x[:, 0] + 0.3 * torch.randn(120) > 0.8).float()
    train, test = random_split(TensorDataset(x, y), [90, 30])
    labels = torch.stack([t for _, t in train])
    ratio = (labels == 0).sum() / labels.sum()
    model = nn.Linear(4, 1).to(dev)
    opt = torch.optim.SGD(model.parameters(), 0.3)
    for e in range(3):
        mean = epoch(model, DataLoader(train, 30, shuffle=True), opt, dev, ratio.view(1).to(dev))
        print(e, round(mean, 3), round(evaluate(model, DataLoader(test, 10), dev), 3))


if __name__ == "__main__":
    main()
