import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class ES:
    """the search itself is on the host; members are rated on the device"""

    def __init__(self, model, sigma=0.1, lr=0.05, pop=6, device=None):
        self.model = model
        self.device = device or torch.device("cpu")
        self.theta = parameters_to_vector(model.parameters()).detach().clone()
        self.model.to(self.device)
        self.sigma, self.lr, self.pop = sigma, lr, pop
        self.g = torch.Generator().manual_seed(0)

    def load(self, vec):
        vector_to_parameters(vec.to(self.device), self.model.parameters())

    @staticmethod
    def ranks(scores):
        r = torch.empty(len(scores))
        r[scores.argsort()] = torch.linspace(-0.5, 0.5, len(scores))
        return r

    @torch.no_grad()
    def step(self, fitness):
        half = torch.randn(self.pop // 2, len(self.theta), generator=self.g)
        noise = torch.cat([half, -half])
        scores = torch.empty(self.pop)
        for i, n in enumerate(noise):
            self.load(self.theta + self.sigma * n)
            scores[i] = fitness(self.model)
        self.theta += self.lr / (self.pop * self.sigma) * (self.ranks(scores) @ noise)
        self.load(self.theta)
        return scores.max().item()


class CEM:
    def __init__(self, dim, n=16, elite=4):
        self.mean, self.std, self.n, self.elite = torch.zeros(dim), torch.ones(dim), n, elite

    def ask(self):
        return self.mean + self.std * torch.randn(self.n, len(self.mean))

    def tell(self, x, cost):
        best = x[cost.argsort()[: self.elite]]
        self.mean, self.std = best.mean(0), best.std(0) + 1e-3


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(32, 3, device=device)
    y = torch.tanh(x @ torch.tensor([1.0, -1.0, 0.5], device=device))

    def fitness(model):
        return -(model(x).squeeze(1) - y).pow(2).mean()

    es = ES(nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)), device=device)
    print([round(es.step(fitness), 3) for _ in range(4)])
    cem = CEM(3)
    for _ in range(3):
        cand = cem.ask()
        pred = torch.tanh(x @ cand.T.to(device))
        cost = (pred - y[:, None]).square().mean(0).cpu()
        cem.tell(cand, cost)
    print(cem.mean.numpy().round(2), cem.std.max().item())


main()
