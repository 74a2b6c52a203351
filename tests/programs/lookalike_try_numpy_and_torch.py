import numpy as np
import torch


def to_numpy(x):
    if isinstance(x, (list, tuple)):
        return np.array([to_numpy(v) for v in x])
    if hasattr(x, "detach"):
        x = x.detach()
    try:
        return x.numpy()
    except (TypeError, AttributeError):
        return x.cpu().numpy() if torch.is_tensor(x) else np.asarray(x)


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count = 0.0, 0

    def update(self, v, n=1):
        self.total += float(v) * n
        self.count += n

    @property
    def avg(self):
        return self.total / max(self.count, 1)


class Metrics(dict):
    def __missing__(self, key):
        self[key] = Meter()
        return self[key]


def ap_score(scores, hits):
    order = np.argsort(-scores)
    hits = hits[order]
    prec = np.cumsum(hits) / (np.arange(len(hits)) + 1)
    return float((prec * hits).sum() / max(hits.sum(), 1))


@torch.no_grad()
def evaluate(net, loader, device):
    m = Metrics()
    scores, truths = [], []
    for x, y in loader:
        x = x.to(device)
        out = net(x)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(out[:, 0], y.to(out))
        m["loss"].update(loss, len(x))
        m["pos"].update(y.float().mean(), len(x))
        scores.append(to_numpy(out[:, 0].sigmoid()))
        truths.append(to_numpy(y))
    m["ap"].update(ap_score(np.concatenate(scores), np.concatenate(truths)))
    return {k: v.avg for k, v in m.items()}


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(4, 1).to(device)
batches = [(x, (x[:, 0] > 0).long()) for x in torch.randn(5, 10, 4)]
print(evaluate(net, batches, device))
print(to_numpy([torch.tensor(1.0), torch.tensor(2.0, device=device)]), to_numpy(3))
