"""Right: statistics are gathered on the host on purpose, indices stay on the CPU where that is legal."""
import torch
import torch.nn as nn


class RunningNorm:
    def __init__(self, dim):
        self.mean = torch.zeros(dim)
        self.var = torch.ones(dim)
        self.count = 1e-4

    def update(self, x):
        x = x.detach().cpu()
        m, v, n = x.mean(0), x.var(0, unbiased=False), x.shape[0]
        delta = m - self.mean
        tot = self.count + n
        self.mean = self.mean + delta * n / tot
        self.var = (self.var * self.count + v * n + delta ** 2 * self.count * n / tot) / tot
        self.count = tot

    def __call__(self, x):
        return (x - self.mean.to(x.device)) / (self.var.to(x.device) + 1e-8).sqrt()


class TopK:
    def __init__(self, k):
        self.k = k
        self.scores = torch.empty(0)
        self.items = torch.empty(0, dtype=torch.long)

    def push(self, scores, items):
        self.scores = torch.cat([self.scores, scores.cpu()])
        self.items = torch.cat([self.items, items])
        best = self.scores.topk(min(self.k, len(self.scores))).indices
        self.scores, self.items = self.scores[best], self.items[best]


def hard_examples(model, data, labels, device, frac=0.5):
    losses = []
    for x, y in zip(data.split(8), labels.split(8)):
        with torch.no_grad():
            l = nn.functional.cross_entropy(model(x.to(device)), y.to(device), reduction="none")
        losses.append(l.cpu())
    losses = torch.cat(losses)
    order = losses.argsort(descending=True)[: int(frac * len(losses))]
    return data[order], labels[order], losses[order]


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data, labels = torch.randn(32, 4), torch.randint(0, 3, (32,))
    model = nn.Linear(4, 3).to(device)
    norm, top = RunningNorm(4), TopK(5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scale = torch.tensor(0.5)
    for epoch in range(2):
        order = torch.randperm(32)
        for idx in order.split(8):
            x = data[idx].to(device)
            norm.update(x)
            out = model(norm(x))
            mask = torch.zeros(len(idx), dtype=torch.bool)
            mask[:4] = True
            loss = nn.functional.cross_entropy(out[mask] * scale, labels[idx][mask].to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            conf = out.softmax(1).max(1).values
            top.push(conf, idx)
    hx, hy, hl = hard_examples(model, data, labels, device)
    rows = torch.arange(8)
    logits = model(hx[:8].to(device))
    picked = logits[rows, hy[:8]]
    print(picked.shape, top.items.shape, (hl >= 0).all().item())


main()
