import copy
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


class Client:
    def __init__(self, cid, data, device):
        self.cid, self.data, self.device = cid, data, device
        self.net = nn.Linear(3, 1)

    def fit(self, weights, lr=0.1):
        self.net.load_state_dict(weights)
        self.net.to(self.device)
        opt = torch.optim.SGD(self.net.parameters(), lr)
        for x, y in self.data:
            loss = nn.functional.mse_loss(self.net(x.to(self.device)), y.to(self.device))
            opt.zero_grad()
            loss.backward()
            opt.step()
        out = OrderedDict((k, v.detach().cpu()) for k, v in self.net.state_dict().items())
        self.net.cpu()
        return out, sum(len(x) for x, _ in self.data)


class Server:
    def __init__(self, clients):
        self.net = nn.Linear(3, 1)
        self.clients = clients
        self.momentum = {k: torch.zeros_like(v) for k, v in self.net.state_dict().items()}

    def aggregate(self, results):
        total = sum(n for _, n in results)
        old = self.net.state_dict()
        new = OrderedDict()
        for k in old:
            avg = sum(w[k] * (n / total) for w, n in results)
            self.momentum[k] = 0.5 * self.momentum[k] + (avg - old[k])
            new[k] = old[k] + self.momentum[k]
        self.net.load_state_dict(new)

    def round(self):
        weights = copy.deepcopy(self.net.state_dict())
        with ThreadPoolExecutor(1) as pool:
            results = list(pool.map(lambda c: c.fit(weights), self.clients))
        self.aggregate(results)

    def evaluate(self, x, y):
        with torch.no_grad():
            return (self.net(x) - y).abs().mean().item()


def shard(n):
    xs = torch.randn(n, 8, 3)
    return [(x, x.sum(1, keepdim=True)) for x in xs]


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
srv = Server([Client(i, shard(i + 1), dev) for i in range(3)])
for r in range(3):
    srv.round()
x = torch.randn(10, 3)
print(srv.evaluate(x, x.sum(1, keepdim=True)))
